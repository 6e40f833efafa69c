package forensics

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// script is what reproduces one cut.
type script struct {
	text, tool, args string
	left             int // code points that are left out of the middle
}

const (
	scriptBytes  = 256 << 10 // of content in all, small enough to send to a vendor
	scriptPiece  = 800       // code points a fragment
	scriptMargin = 8 << 10   // code points that are kept of both ends of what is too long
)

// ErrNoCut is returned where nothing is known that a script could reproduce.
var ErrNoCut = errors.New("nothing was cut in this file that it also holds, so that there is nothing to reproduce")

// keep remembers what of an abort its script needs.
func (p *replay) keep(a *Abort, s stop) {
	c := script{text: s.thought + s.text}
	for _, call := range s.calls {
		if call.tool == a.Cut.Tool {
			if n, _ := call.longest(); n == a.Cut.Argument {
				c.tool, c.args = word(call.tool), call.stream()
			}
		}
	}
	if c.args != "" {
		c.text = "" // what stood before it changes nothing of the cut
	}
	p.hold(a.N, c)
}

func (p *replay) keepArtifact(content string) {
	if content == "" {
		return
	}
	p.hold(1, script{tool: "write", args: `{"content":` + openString(content)})
	if p.src.bytes > int64(len(content)) {
		p.note("a script holds only the first %d bytes of it", len(content))
	}
}

// openString is content as a JSON string without its closing quote.
func openString(content string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range content { // what is no UTF-8 becomes U+FFFD
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hold keeps a script as long as all together stay small.
func (p *replay) hold(n int, c script) {
	held := 0
	for _, k := range p.report.cuts {
		held += len(k.text) + len(k.args)
	}
	c.text, c.left = shorten(c.text, 0)
	c.args, c.left = shorten(c.args, c.left)
	if held+len(c.text)+len(c.args) <= scriptBytes*2 {
		p.report.cuts[n] = c
	}
}

// shorten blots out the middle of what is too long. Escapes and quotes stay, so
// that the cut is where it was in the stream and in the string.
func shorten(s string, left int) (string, int) {
	if len(s) <= scriptBytes {
		return s, left
	}
	r := []rune(s)
	escape := 0 // code points of the escape that r[i] is in
	for i, c := range r {
		switch {
		case escape > 0:
			if escape--; escape == 0 && c == 'u' {
				escape = 4
			}
		case c == '\\':
			escape = 1
		case c != '"' && i >= scriptMargin && i < len(r)-scriptMargin:
			r[i] = 'x'
			left++
		}
	}
	return string(r), left
}

// Script writes a script for the scripted model that cuts its answers where
// this file's were cut: each stands still there, the connection open, for the
// client's own timer to end. It returns [ErrNoCut] where there is nothing to
// reproduce.
func (r *Report) Script(to io.Writer) error {
	if len(r.cuts) == 0 {
		return ErrNoCut
	}
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "# Reproduces what was cut in %s. Serve it with: ripcord model serve FILE\n", r.Kind)
	fmt.Fprintf(w, "# Each answer stops where the stream did and holds the connection open.\n")
	left := 0
	if r.Kind == Text {
		writeCut(w, "the artifact", r.cuts[1])
	}
	for _, a := range r.Aborts {
		c, ok := r.cuts[a.N]
		if !ok {
			left++
			continue
		}
		writeCut(w, fmt.Sprintf("abort %d, line %d, %s: %d code points of the stream, %d of its longest argument",
			a.N, a.Line, model(a.Provider, a.Model), a.Cut.Stream, a.Cut.Argument), c)
	}
	if left > 0 || r.Found > len(r.Aborts) {
		fmt.Fprintf(w, "# %d aborts are not here: nothing of their stream was kept, or there are too many.\n", left+r.Found-len(r.Aborts))
	}
	fmt.Fprintf(w, "default\n  text \"The script holds no more cuts.\"\n  finish stop\n")
	return w.Flush()
}

func writeCut(w *bufio.Writer, what string, c script) {
	fmt.Fprintf(w, "# %s\n", oneLine(what))
	if c.left > 0 {
		fmt.Fprintf(w, "# %d code points in the middle are replaced by as many x\n", c.left)
	}
	fmt.Fprintf(w, "answer\n")
	if c.tool == "" {
		pieces(w, "text", c.text)
	} else {
		fmt.Fprintf(w, "  call %s c_1\n", c.tool)
		pieces(w, "args", c.args)
	}
	fmt.Fprintf(w, "  hang\n")
}

// pieces writes s as steps. "${" begins a placeholder of the format and is
// divided between two.
func pieces(w *bufio.Writer, step, s string) {
	for s != "" {
		end, n := 0, 0
		for end < len(s) && n < scriptPiece {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
			n++
			if s[end-1] == '$' && end < len(s) && s[end] == '{' {
				break
			}
		}
		fmt.Fprintf(w, "  %s %s\n", step, strconv.Quote(s[:end]))
		s = s[end:]
	}
}

// word is a tool's name that fits where a script takes a name.
func word(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "tool"
	}
	return name[:min(len(name), 64)]
}
