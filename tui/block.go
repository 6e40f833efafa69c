package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// block is something printed for good.
type block struct {
	kind  blockKind
	text  string   // spoken, markdown: as it came
	lines []string // styled: made of cleaned parts
	turn  int
}

type blockKind int

const (
	styled blockKind = iota
	spoken           // a person's text
	markdown
	lastBlock // none: what follows is the end
)

func (b block) empty() bool { return b.text == "" && len(b.lines) == 0 }

func lines(l ...string) block { return block{lines: l} }

func sgr(on, s, off string) string { return "\x1b[" + on + "m" + s + "\x1b[" + off + "m" }
func quiet(s string) string        { return sgr("2", s, "22") }
func bold(s string) string         { return sgr("1", s, "22") }
func red(s string) string          { return sgr("31", s, "39") }
func green(s string) string        { return sgr("32", s, "39") }
func yellow(s string) string       { return sgr("33", s, "39") }

func indent(l []string) []string {
	for i := range l {
		l[i] = "  " + l[i]
	}
	return l
}

// quietLines returns the last n lines of text, and how many stand before them.
func quietLines(text string, n int) []string {
	all := lastLines(text, 1<<30)
	var out []string
	if over := len(all) - n; over > 0 {
		out = append(out, quiet("… "+itoa(over)+" lines before"))
		all = all[over:]
	}
	for _, l := range all {
		out = append(out, quiet(l))
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }

// seconds writes a duration as people read it.
func seconds(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// counted writes n of a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

// Bounds on what is printed of one call.
const (
	outputLines = 6
	diffLines   = 40
)

// callBlock is what is printed when a call has its result.
func callBlock(k call) block {
	switch k.how() {
	case event.CallSkipped, event.CallQuarantined:
		return block{} // the card tells
	case event.CallFinished, event.CallFinishedLate, event.CallStopped, event.CallWasDenied,
		event.CallInvalid, event.CallUnknown, event.CallFatal:
	}
	head := bold(k.name) + " " + k.args
	out := []string{mark(k) + " " + head + quiet(" · "+verdict(k))}
	if text := clean(k.ended.Content.Text()); text != "" {
		out = append(out, indent(quietLines(text, outputLines))...)
	}
	return lines(append(out, diff(k.ended.Diff)...)...)
}

func mark(k call) string {
	switch k.how() {
	case event.CallFinished, event.CallFinishedLate:
		if k.ended != nil && (k.ended.ExitCode != nil && *k.ended.ExitCode != 0 || k.ended.Error) {
			return yellow("●")
		}
		return green("●")
	case event.CallStopped, event.CallQuarantined, event.CallUnknown:
		return yellow("■")
	case event.CallSkipped:
		return quiet("○")
	case event.CallWasDenied, event.CallInvalid, event.CallFatal:
		return red("●")
	}
	return "●"
}

// verdict says in a few words how a call ended and how far it got.
func verdict(k call) string {
	var w []string
	switch k.how() {
	case event.CallFinished:
		w = append(w, "finished")
	case event.CallFinishedLate:
		w = append(w, "finished while it was being stopped; the result is kept")
	case event.CallStopped:
		w = append(w, "stopped")
	case event.CallSkipped:
		return "never ran (skipped)"
	case event.CallWasDenied:
		w = append(w, "refused; it did not run")
	case event.CallInvalid:
		w = append(w, "not run: the arguments do not fit")
	case event.CallUnknown:
		w = append(w, "outcome unknown: check before it is run again")
	case event.CallQuarantined:
		w = append(w, "did not stop and is still unwinding; it can no longer touch the conversation")
	case event.CallFatal:
		w = append(w, "the tool itself failed")
	case "":
		w = append(w, "no result")
	default:
		w = append(w, string(k.how()))
	}
	if e := k.ended; e != nil {
		switch {
		case e.TimedOut != nil && *e.TimedOut:
			w = append(w, "timed out")
		case e.Signal != "":
			w = append(w, "signal "+oneLine(e.Signal))
		case e.ExitCode != nil && k.how() != event.CallStopped:
			w = append(w, "exit "+itoa(*e.ExitCode))
		}
		if len(e.Survivors) > 0 {
			w = append(w, fmt.Sprintf("processes %v outlived it", e.Survivors))
		}
	}
	if d := k.ran(); d > 0 {
		w = append(w, seconds(d))
	}
	return strings.Join(w, " · ")
}

// kept says how much output of a stopped call is there.
func kept(k call) string {
	if k.ended == nil {
		return ""
	}
	if o := k.ended.Output; o != nil && o.Bytes > 0 {
		return " · " + counted(int(o.Bytes), "byte") + " of output kept"
	}
	if n := len(lastLines(k.ended.Content.Text(), 1<<30)); n > 0 {
		return " · " + counted(n, "line") + " kept"
	}
	return ""
}

func diff(d string) []string {
	if d == "" {
		return nil
	}
	all := lastLines(clean(d), 1<<30)
	var out []string
	for i, l := range all {
		if i == diffLines {
			out = append(out, quiet("… "+itoa(len(all)-i)+" more lines of the diff"))
			break
		}
		switch {
		case strings.HasPrefix(l, "+"):
			l = green(l)
		case strings.HasPrefix(l, "-"):
			l = red(l)
		}
		out = append(out, l)
	}
	return indent(out)
}
