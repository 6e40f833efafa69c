package forensics

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/guard"
)

// Options are the numbers that a replay measures against; the zero value has
// the guards' defaults.
type Options struct {
	Stall guard.StallLimits
	Calls guard.CallLimits
	Loop  guard.LoopLimits
	// Off says that the stall guard is switched off by configuration.
	Off bool
	// Idle are idle limits of this set-up, beside the well-known ones.
	Idle []time.Duration
	// Kind, if set, is what the input is taken for.
	Kind Kind
}

// Replay reads r to its end and runs the guards over it. What cannot be read is
// a note of the report; the error is only that of r itself, and the report then
// holds what was read before it. It reads a file of any size in bounded memory.
func Replay(r io.Reader, o Options) (Report, error) {
	src := newSource(r)
	head, err := src.head()
	p := newReplay(src, o)
	if err == nil {
		var why string
		if p.report.Kind = o.Kind; o.Kind == "" {
			p.report.Kind, why = detect(head)
		}
		if why != "" {
			p.report.Notes = append(p.report.Notes, why)
		}
		if p.report.Kind == Text {
			err = p.artifact()
		} else {
			err = p.lines()
		}
	}
	p.report.Lines, p.report.Bytes = src.line, src.bytes
	if err != nil {
		return p.report, fmt.Errorf("after %d bytes the input cannot be read: %w", src.bytes, err)
	}
	return p.report, nil
}

// replay is one run.
type replay struct {
	src     *source
	o       Options
	report  Report
	largest map[[2]string]int
}

func newReplay(src *source, o Options) *replay {
	s, c := o.Stall.Filled(), o.Calls.Filled()
	return &replay{src: src, o: o, largest: map[[2]string]int{}, report: Report{
		Aborts: []Abort{}, Loops: []LoopOfCalls{}, Largest: []Largest{}, Notes: []string{}, cuts: map[int]script{},
		Limits: LimitsInForce{
			Argument: s.Argument, SilenceMS: s.Silence.Milliseconds(), InRow: s.InRow, CoolMS: s.Cooldown.Milliseconds(),
			Probe: guard.ProbeFires, Same: c.Same, Cycle: c.Cycle, Failing: c.Failing, Burst: c.Burst,
		},
	}}
}

// reader takes a transcript's lines in order.
type reader interface {
	take(line []byte) error // an error says why the line is left out
	end()
}

func (p *replay) lines() error {
	var to reader
	switch p.report.Kind {
	case Ripcord:
		to = newOurs(p)
	case Codex:
		to = &codex{thread: newThread(p)}
	case Pi:
		to = &pi{thread: newThread(p)}
	case Claude:
		to = &claude{main: newThread(p), side: newThread(p)}
	case Text:
	}
	if to == nil {
		return fmt.Errorf("%q is no kind of transcript", p.report.Kind)
	}
	for {
		line, long, bare, err := p.src.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if p.src.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		switch blank := len(bytes.TrimSpace(line)) == 0; {
		case long:
			p.note("line %d: longer than %d MiB; skipped", p.src.line, MaxLine>>20)
		case blank:
		default:
			if err := to.take(line); err != nil {
				p.note("line %d: %s; left out", p.src.line, unreadable(line, bare, err))
			}
		}
	}
	to.end()
	for k, n := range p.largest {
		p.report.Largest = append(p.report.Largest, Largest{k[0], k[1], n})
	}
	slices.SortFunc(p.report.Largest, func(a, b Largest) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return nil
}

// unreadable says what is wrong with a line.
func unreadable(line []byte, bare bool, err error) string {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case bytes.IndexByte(line, 0) >= 0:
		return fmt.Sprintf("%d NUL bytes, as a crash leaves them", bytes.Count(line, []byte{0}))
	case errors.As(err, &typ) && typ.Field != "":
		return fmt.Sprintf("its %s is of another type (%s) than such a record has", typ.Field, typ.Value)
	case errors.As(err, &typ):
		return fmt.Sprintf("it is of another type (%s) than a record", typ.Value)
	case errors.As(err, &syntax) && bare:
		return "cut in the middle: the file ends within it"
	case errors.As(err, &syntax):
		return "no JSON from byte " + fmt.Sprint(syntax.Offset) + " on"
	}
	return oneLine(err.Error())
}

func (p *replay) note(format string, args ...any) {
	if len(p.report.Notes) == maxNotes {
		p.report.LeftOut++
		return
	}
	p.report.Notes = append(p.report.Notes, fmt.Sprintf(format, args...))
}

// came remembers an argument that came through whole.
func (p *replay) came(provider, model string, runes int) {
	k := [2]string{provider, model}
	if _, known := p.largest[k]; runes > p.largest[k] && (known || len(p.largest) < maxModels) {
		p.largest[k] = runes
	}
}

func (p *replay) looped(l guard.CallLoop) {
	if l.Kind != "" && len(p.report.Loops) < maxLoops {
		p.report.Loops = append(p.report.Loops, LoopOfCalls{p.src.line, l})
	}
}

// oneLine keeps foreign words from being more than words.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 200 {
		return string(r[:199]) + "…"
	}
	return s
}
