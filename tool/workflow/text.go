package workflow

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

func isGarbled(err error) bool { return errors.Is(err, errFrame) }

// result makes the facts and the words of the end.
func (r *run) result() (tool.Result, error) {
	exit, _ := r.tree.Exit()
	out := r.tree.Output(int(r.o.Output))
	printed, crash := split(out.Text, exit)
	timedOut := r.cause == overdue && !r.ownEnd()
	res := tool.Result{Success: true, ExitCode: exit.Code, Signal: exit.Signal, TimedOut: &timedOut, Survivors: r.survivors,
		Output: &event.Output{Bytes: out.Bytes, Truncated: out.Truncated, Dropped: out.Dropped}}
	if out.Truncated {
		res.Lacks = max(0, out.Bytes-int64(len(out.Text)))
	}
	if r.cause == fatal {
		res.Content = event.TextOf(r.list() + "\n" + printed)
		return res, tool.FatalError(r.why)
	}
	if r.cause == tripped && !r.ownEnd() {
		res.Stopped, res.ExitCode = true, nil // a code would be the engine's, not the script's
		res.Content = event.TextOf(r.list() + "\n" + printed)
		return res, nil
	}
	if r.end != nil && r.end.How == howSyntax {
		return tool.Result{}, tool.Replyf("nothing was run: %s; correct the script and send the call again", r.end.Error)
	}
	head := fmt.Sprintf("%s\nwall time %.1f s; %s\n", r.ending(exit, crash), time.Since(r.began).Seconds(), r.list())
	if len(r.survivors) > 0 {
		head += fmt.Sprintf("could not be ended: pids %s\n", strings.Trim(fmt.Sprint(r.survivors), "[]"))
	}
	switch {
	case out.Dropped > 0:
		head += fmt.Sprintf("it printed %d bytes, of which %d were not kept\n", out.Bytes, out.Dropped)
	case out.Truncated:
		head += fmt.Sprintf("it printed %d bytes\n", out.Bytes)
	}
	res.Content = event.TextOf(head + printed)
	return res, nil
}

// ownEnd reports whether the script reached an end of its own: what it came to
// is then the result, whatever was asked of it meanwhile.
func (r *run) ownEnd() bool { return r.end != nil && r.end.How != howInterrupted }

// ending is one sentence about how the script ended.
func (r *run) ending(exit proc.Exit, crash string) string {
	if r.ownEnd() {
		switch r.end.How {
		case howReturned:
			return "the script ran to its end"
		case howThrew:
			return "the script ended with an exception"
		case howStuck:
			return "the script was ended: it awaits a promise that nothing will settle"
		case howDeep:
			return fmt.Sprintf("the script was ended: its calls within calls went deeper than %d", mostDepth)
		case howMemory:
			return r.overMemory()
		case howSyntax, howInterrupted:
		}
	}
	switch {
	case r.cause == overdue && !r.ready:
		return fmt.Sprintf("the script never began: its engine did not start within %g s", startBound.Seconds())
	case r.cause == overdue:
		return fmt.Sprintf("the script was ended: it used up its %g s of own time", r.limit.Seconds())
	case r.cause == garbled || r.cause == detached:
		return "the script was ended: its engine said what makes no sense"
	case strings.Contains(crash, "memory") || strings.Contains(crash, "cannot allocate") || strings.Contains(crash, "address space"):
		return r.overMemory()
	case strings.Contains(crash, "stack"):
		return "the script was ended: it went deeper than the engine's stack"
	case crash != "":
		return "the script's engine broke down: " + crash
	case exit.Signal != "":
		return "the script's engine was ended by signal " + exit.Signal
	case exit.Lost != "":
		return "how the script's engine ended is not known: " + exit.Lost
	case exit.Code != nil:
		return fmt.Sprintf("the script's engine ended with exit code %d before the script did", *exit.Code)
	}
	return "how the script ended is not known"
}

func (r *run) overMemory() string {
	return fmt.Sprintf("the script was ended: it used more than its %d MiB of memory", r.o.Memory>>20)
}

// crashCode is the exit code of a Go program that the Go runtime gave up.
const crashCode = 2

// split takes the words of an engine's own crash off what the script printed.
func split(text string, exit proc.Exit) (printed, crash string) {
	if exit.Code == nil || *exit.Code != crashCode {
		return text, ""
	}
	words := regexp.MustCompile(`(?m)^(?:runtime: .*\n)*(?:fatal error|panic): (.*)$`)
	all := words.FindAllStringSubmatchIndex(text, -1)
	if all == nil {
		return text, "it left no word"
	}
	last := all[len(all)-1]
	return text[:last[0]], text[last[2]:last[3]]
}
