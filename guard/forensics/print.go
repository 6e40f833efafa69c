package forensics

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/guard"
)

// Print writes the report for people. name is what the input is called.
func (r *Report) Print(to io.Writer, name string) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s: %s, %s, %s\n", oneLine(name), r.Kind, count(r.Lines, "line"), count(r.Bytes, "byte"))
	if r.Artifact != nil {
		r.printArtifact(w)
	} else {
		fmt.Fprintf(w, "%s of a model, %s\n", count(int64(r.Messages), "answer"), count(int64(r.Found), "abort"))
	}
	for i := range r.Aborts {
		fmt.Fprintln(w)
		r.printAbort(w, &r.Aborts[i])
	}
	if n := r.Found - len(r.Aborts); n > 0 {
		fmt.Fprintf(w, "\n%d more aborts are counted only\n", n)
	}
	r.printRest(w)
	return w.Flush()
}

func (r *Report) printRest(w *bufio.Writer) {
	if len(r.Loops)+len(r.Largest)+len(r.Notes) > 0 {
		fmt.Fprintln(w)
	}
	for _, l := range r.Loops {
		fmt.Fprintf(w, "line %d: calls go round: %s, %d", l.Line, l.Kind, l.Count)
		if l.Period > 0 {
			fmt.Fprintf(w, " of period %d", l.Period)
		}
		fmt.Fprintf(w, ": %s\n", oneLine(l.Sample))
	}
	for _, l := range r.Largest {
		fmt.Fprintf(w, "longest argument that came through whole, %s: %d code points\n", model(l.Provider, l.Model), l.Argument)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", oneLine(n))
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(w, "note: %d more lines could not be read\n", r.LeftOut)
	}
}

func (r *Report) printArtifact(w *bufio.Writer) {
	a := r.Artifact
	fmt.Fprintf(w, "  length       %d code points, %d UTF-16 units, %d bytes; a stall needs %d code points in one argument\n", a.Runes, a.UTF16, r.Bytes, r.Limits.Argument)
	r.printChannel(w, &a.Channel)
}

func (r *Report) printAbort(w *bufio.Writer, a *Abort) {
	fmt.Fprintf(w, "abort %d  line %d", a.N, a.Line)
	if a.Time != nil {
		fmt.Fprintf(w, "  %s", a.Time.Format(time.RFC3339))
	}
	fmt.Fprintf(w, "  %s  %s\n", model(a.Provider, a.Model), oneLine(a.How))
	r.printCut(w, a)
	by := r.by(a)
	fmt.Fprintf(w, "  silence      %s\n", a.silence())
	switch {
	case a.Timer == nil:
	case a.Timer.Fired:
		fmt.Fprintf(w, "  timer        %s, an idle limit (%s), cut it: the stream was already dead\n", seconds(a.Timer.LimitMS), a.Timer.Whose)
	default:
		fmt.Fprintf(w, "  timer        within 1 %% of %s, an idle limit (%s): the stream was already dead, or a person pressed at that moment\n", seconds(a.Timer.LimitMS), a.Timer.Whose)
	}
	fmt.Fprintf(w, "  stall guard  %s: argument %d of %d, silence %s of %s%s\n", a.Stall, a.Cut.Argument, by.Argument, a.silent(), seconds(by.Silence), a.unsure())
	if f := a.Facts; f != nil {
		since := "none before"
		if f.Since >= 0 {
			since = fmt.Sprintf("%s since the last, %s to cool down", seconds(f.Since), seconds(by.Cooldown))
		}
		fmt.Fprintf(w, "  wake         %s: %d of %d in a row, %s\n", a.Wake, f.InRow, by.InRow, since)
	}
	for i := range a.Channels {
		r.printChannel(w, &a.Channels[i])
	}
	l := r.Limits
	fmt.Fprintf(w, "  call guard   same %d of %d, cycle %d of %d, failing %d of %d, burst %d of %d\n",
		a.Calls.Same, l.Same, a.Calls.Cycle, l.Cycle, a.Calls.Failing, l.Failing, a.Calls.Burst, l.Burst)
	fmt.Fprintf(w, "  usage        %s\n", a.Usage)
	for _, v := range a.Recorded {
		fmt.Fprintf(w, "  at the time  %s: %s", v.Guard, v.Verdict)
		if v.Decision != "" {
			fmt.Fprintf(w, ", %s", v.Decision)
		}
		fmt.Fprintln(w)
	}
	if a.SameAt != nil {
		fmt.Fprintf(w, "  same place   as abort %d: stream %d and %d, argument %d and %d of the same content: a deterministic stall, the same request stops there again\n",
			a.SameAs, a.SameAt.Stream, a.Cut.Stream, a.SameAt.Argument, a.Cut.Argument)
	}
}

// by are the thresholds that a was judged by.
func (r *Report) by(a *Abort) guard.Thresholds {
	if a.Limits != nil {
		return *a.Limits
	}
	l := r.Limits
	return guard.Thresholds{Argument: l.Argument, Silence: l.SilenceMS, InRow: l.InRow, Cooldown: l.CoolMS}
}

func (r *Report) printCut(w *bufio.Writer, a *Abort) {
	switch {
	case !a.Cut.Aborted:
		fmt.Fprintf(w, "  cut          no stream: the answer had come to its end, its calls were stopped\n")
	case !a.Kept:
		fmt.Fprintf(w, "  cut          unknown: what was streaming is not in the file\n")
	case a.Cut.Calls == 0:
		fmt.Fprintf(w, "  cut          in text: %d code points (%d %s)\n", a.Cut.Stream, a.Stream, a.Unit)
	default:
		fmt.Fprintf(w, "  cut          in %s: argument %d code points (%d %s), stream %d (%d %s)\n",
			oneLine(a.Cut.Tool), a.Cut.Argument, a.Argument, a.Unit, a.Cut.Stream, a.Stream, a.Unit)
	}
}

func (r *Report) printChannel(w *bufio.Writer, c *Channel) {
	loop := "innocent: nothing repeats itself"
	if c.Repeat != nil {
		loop = fmt.Sprintf("repetition: period %d, %d times, found at byte %d: %s", c.Repeat.Period, c.Repeat.Count, c.Repeat.At, oneLine(c.Repeat.Sample))
	}
	fmt.Fprintf(w, "  loop guard   %s: %s in %d code points\n", c.Name, loop, c.Runes)
	probe := "innocent"
	switch {
	case c.Probe.Fires:
		probe = "fires"
	case !c.Probe.Counts:
		probe = "innocent: it holds no character that counts"
	}
	fmt.Fprintf(w, "  probe        %s: probe repeated %d of %d, %s\n", c.Name, c.Probe.Score, c.Probe.Of, probe)
}

func (a *Abort) silence() string {
	switch {
	case a.Silence == nil:
		return "unknown: the file has no times for it"
	case a.Silence.Exact:
		return fmt.Sprintf("%s since %s", seconds(a.Silence.MS), a.Silence.Since)
	case a.Silence.About:
		return fmt.Sprintf("about %s since %s", seconds(a.Silence.MS), a.Silence.Since)
	}
	return fmt.Sprintf("at most %s, since %s", seconds(a.Silence.MS), a.Silence.Since)
}

func (a *Abort) silent() string {
	switch {
	case a.Silence == nil:
		return "unknown"
	case a.Silence.Exact:
		return seconds(a.Silence.MS)
	case a.Silence.About:
		return "about " + seconds(a.Silence.MS)
	}
	return "at most " + seconds(a.Silence.MS)
}

func (a *Abort) unsure() string {
	switch {
	case a.Sure:
		return ""
	case a.Silence == nil:
		return "; if the silence was that long, which is not known"
	}
	if a.Silence.About {
		return "; by the records' times, no guard's measure is in the file"
	}
	return "; if nothing came in all that time"
}

// String is the usage in one sentence.
func (u Usage) String() string {
	switch {
	case u.Known == "whole":
		return fmt.Sprintf("%s in, %s out, the provider's last word", tokens(u.Input), tokens(u.Output))
	case u.Known == "at least":
		return fmt.Sprintf("at least %s out: recorded before the cut", tokens(u.Output))
	case u.Output != nil:
		return fmt.Sprintf("unknown: %d output tokens are recorded, as for every message that was cut; what flowed was not counted", *u.Output)
	}
	return "unknown: none is recorded"
}

func tokens(n *int64) string {
	if n == nil {
		return "an unknown number"
	}
	return count(*n, "token")
}

func model(provider, name string) string {
	s := strings.Trim(oneLine(provider)+"/"+oneLine(name), "/")
	if s == "" {
		return "a model that is not named"
	}
	return s
}

func seconds(ms int64) string { return fmt.Sprintf("%d.%d s", ms/1000, ms%1000/100) }

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
