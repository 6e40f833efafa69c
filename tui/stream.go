package tui

import "strings"

// A stream is the text of one step's answer as it arrives: what is finished of
// it is printed for good, the rest is the live tail.
//
// Live frames and journal chunks carry the same bytes; the address of a piece
// is (step, block, offset), so that whichever comes first is taken and the
// other adds nothing.
type stream struct {
	step    int
	block   int    // the last text block seen
	start   int    // where that block begins in said
	said    string // all text blocks of the step, joined
	printed int    // bytes of said that were printed
	chunks  int    // bytes of the block that came as journal chunks
	think   string // reasoning, for the live part
	began   bool   // anything at all came
}

// longestThought bounds the reasoning that is kept for display, in bytes.
const longestThought = 4096

// at makes step the current one; another step's text starts afresh.
func (s *stream) at(step int) {
	if step != s.step {
		*s = stream{step: step}
	}
}

// text takes a piece of block at byte offset off of that block.
func (s *stream) text(block, off int, piece string) {
	if piece == "" || block < s.block {
		return
	}
	if block > s.block {
		s.block, s.start, s.chunks = block, len(s.said), 0
	}
	have := len(s.said) - s.start
	if off > have {
		return // a gap: the journal's chunk or the whole message will fill it
	}
	if skip := have - off; skip < len(piece) {
		s.said += piece[skip:]
	}
	s.began = true
}

// chunk takes a piece that the journal holds: chunks of a block have no gaps.
func (s *stream) chunk(block int, piece string) {
	if block > s.block {
		s.chunks = 0
	}
	off := s.chunks
	s.text(block, off, piece)
	if block == s.block {
		s.chunks = off + len(piece)
	}
}

func (s *stream) reason(piece string) {
	s.began = true
	s.think += piece
	if over := len(s.think) - longestThought; over > 0 {
		s.think = strings.ToValidUTF8(s.think[over:], "")
	}
}

// ready returns the text that can be printed for good: whole Markdown blocks.
func (s *stream) ready() string {
	n := settled(s.said[s.printed:])
	out := s.said[s.printed : s.printed+n]
	s.printed += n
	return out
}

// rest returns what was not printed of the whole text, which may be nil when
// none came. fresh says that it does not go on from what was printed.
func (s *stream) rest(whole string) (out string, fresh bool) {
	if whole == "" {
		whole = s.said
	}
	done := s.said[:s.printed]
	s.said, s.printed = whole, len(whole)
	if strings.HasPrefix(whole, done) {
		return whole[len(done):], false
	}
	return whole, true
}

// tail is what still moves.
func (s *stream) tail() string { return s.said[s.printed:] }

// settled returns how many bytes of md, from its start, are whole Markdown
// blocks that later text cannot change: up to the last blank line that stands
// outside a code fence and is followed by a line that begins something new.
func settled(md string) int {
	n, pos, fence, list := 0, 0, "", false
	blank, first := false, true
	for pos < len(md) {
		end := strings.IndexByte(md[pos:], '\n')
		if end < 0 {
			// An unfinished line: its first character tells whether it goes on.
			if blank && fence == "" && begins(md[pos:], list) {
				return pos
			}
			return n
		}
		line := md[pos : pos+end]
		trim := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trim, fence) && strings.Trim(trim, fence[:1]) == "" {
				fence = ""
			}
		case trim == "":
			blank = !first
		default:
			if blank && begins(line, list) {
				n, list = pos, false
			}
			if mark := fenceMark(trim); mark != "" {
				fence = mark
			}
			list = list || item(trim)
			blank, first = false, false
		}
		pos += end + 1
	}
	return n
}

func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

// begins reports whether a line after a blank one starts a new block.
func begins(line string, inList bool) bool {
	if line == "" || line[0] == ' ' || line[0] == '\t' {
		return false
	}
	return !inList || !item(line) && !strings.ContainsAny(line[:1], "0123456789-*+")
}

// item reports whether the line is a list's.
func item(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	switch {
	case rest == "":
		return false
	case len(rest) < len(line):
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return len(line) > 1 && strings.ContainsAny(line[:1], "-*+") && line[1] == ' '
}
