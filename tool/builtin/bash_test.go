package builtin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// bench is one call of a tool with all that stands around it.
type bench struct {
	c        *interrupt.Coordinator
	book     tooltest.Book
	recorder tooltest.Recorder
	jobs     tooltest.Jobs
	live     tooltest.Live
	blobs    tooltest.Blobs
}

func newBench() *bench { return &bench{c: interrupt.New(interrupt.Options{})} }

func (b *bench) do(t *testing.T, tl tool.Tool, dir, args string) tool.Ended {
	t.Helper()
	e, left := (&tool.Run{Tool: tl, Call: &tool.Call{ID: "c_1", Name: tl.Spec().Name, Args: json.RawMessage(args), Dir: dir, Turn: 1, Step: 1},
		Signal: b.c.Signal(), Book: &b.book, Blobs: &b.blobs, Recorder: &b.recorder, Jobs: &b.jobs, Live: &b.live}).Do(t.Context())
	if left != nil {
		t.Error("the call was quarantined")
		<-left
	}
	return e
}

func (b *bench) trip(t *testing.T) {
	t.Helper()
	if _, err := b.c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}); err != nil {
		t.Error(err)
	}
}

func bashOf(t *testing.T, o builtin.Options) tool.Tool {
	t.Helper()
	for _, tl := range builtin.Tools(o) {
		if tl.Spec().Name == "bash" {
			return tl
		}
	}
	t.Fatal("there is no bash")
	return nil
}

func command(s string) string {
	b, _ := json.Marshal(map[string]string{"command": s})
	return string(b)
}

func code(n int) *int { return &n }

// kinds lists what a recorder got.
func kinds(r *tooltest.Recorder) (out []string) {
	for _, p := range r.Payloads() {
		s := string(p.Type())
		if e, ok := p.(event.ProcessEnded); ok {
			s += " " + e.How
		}
		out = append(out, s)
	}
	return out
}

// proves PRC-07, TOL-21: what a command is given.
func TestACommandGetsNoInputNoPagerNoSecretsAndIsNeverRendered(t *testing.T) {
	h := &fakeHost{begin: func(tr *fakeTree) { tr.end(proc.Exit{Code: code(0)}, true) }}
	b := newBench()
	cmd := `echo "$(id)"; '` + "\n"
	b.do(t, bashOf(t, builtin.Options{Host: h, Shell: "/bin/sh", Env: []string{"PATH=/bin", "OPENAI_API_KEY=s", "MY_SECRET=s", "HOME=/h"}}), "/w", command(cmd))
	s := h.specs[0]
	if !slices.Equal(s.Argv, []string{"/bin/sh", "-c", cmd}) || s.Stdin != nil || s.Dir != "/w" || s.Owner != "call" || s.ID != "c_1" {
		t.Errorf("%+v", s)
	}
	if s.Timeout != 120*time.Second || s.Ladder.Grace != 2*time.Second {
		t.Errorf("timeout %v, ladder %+v", s.Timeout, s.Ladder)
	}
	if !slices.Contains(s.Env, "PATH=/bin") || !slices.Contains(s.Env, "PAGER=cat") || strings.Contains(strings.Join(s.Env, " "), "=s") {
		t.Errorf("environment %v", s.Env)
	}
}

// proves TOL-02: exit code, signal and time-out are results with success true.
func TestACommandThatFailedIsAResultThatSaysHow(t *testing.T) {
	for _, c := range []struct {
		exit proc.Exit
		out  proc.Output
		want []string
	}{
		{proc.Exit{Code: code(3), Ran: 1200 * time.Millisecond}, proc.Output{Text: "oops\n", Bytes: 5}, []string{"exit code 3\n", "wall time 1.2 s", "output:\noops\n"}},
		{proc.Exit{Code: code(0)}, proc.Output{}, []string{"exit code 0", "no output"}},
		{proc.Exit{Signal: "SEGV"}, proc.Output{}, []string{"ended by signal SEGV"}},
		{proc.Exit{Signal: "KILL", TimedOut: true}, proc.Output{Text: "tick"}, []string{"timed out after 120 s and was ended", "tick"}},
		{proc.Exit{Lost: "its guardian died"}, proc.Output{}, []string{"how it ended is not known: its guardian died"}},
		{proc.Exit{Code: code(0)}, proc.Output{Text: "\uFFFD\uFFFD", Binary: true, Bytes: 77}, []string{"the output is binary, 77 bytes"}},
		{proc.Exit{Code: code(0)}, proc.Output{Text: "a…b", Bytes: 3 << 30, Dropped: 1 << 30, Truncated: true}, []string{"output 3221225472 bytes, of which 1073741824 were not kept"}},
		{proc.Exit{Code: code(0)}, proc.Output{Text: strings.Repeat("line\n", 20_000), Bytes: 4_688_895, Truncated: true}, []string{"output 4688895 bytes\n", fmt.Sprintf(" of %d in all", 4_688_895), "[… 4656"}},
	} {
		b := newBench()
		h := &fakeHost{begin: func(tr *fakeTree) { tr.out = c.out; tr.end(c.exit, true) }}
		e := b.do(t, bashOf(t, builtin.Options{Host: h}), t.TempDir(), command("x"))
		if e.Outcome != event.CallFinished || !e.Result.Success || e.Err != "" {
			t.Errorf("%+v: %s %q", c.exit, e.Outcome, e.Err)
		}
		text := e.Result.Content.Text()
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%+v: %q lacks %q", c.exit, text, w)
			}
		}
		r := e.Result
		if (r.ExitCode == nil) != (c.exit.Code == nil) || r.Signal != c.exit.Signal || r.TimedOut == nil || *r.TimedOut != c.exit.TimedOut ||
			r.Output.Bytes != c.out.Bytes || r.Output.Dropped != c.out.Dropped || r.Output.Binary != c.out.Binary {
			t.Errorf("%+v: facts %+v %+v", c.exit, r, r.Output)
		}
		if got := kinds(&b.recorder); len(got) != 2 || got[0] != string(event.ProcessStarted{}.Type()) {
			t.Errorf("recorded %v", got)
		}
	}
}

// proves TOL-03: a process that did not start, and what is no command.
func TestACommandThatCannotBeMadeIsAReply(t *testing.T) {
	h := &fakeHost{err: errors.New("no such folder")}
	bash := bashOf(t, builtin.Options{Host: h})
	for args, want := range map[string]string{
		command("x"):                            "did not start, nothing was run: no such folder",
		command(" \n"):                          "the command is empty",
		command("a\x00b"):                       "NUL byte",
		`{"command":"x","timeout_seconds":601}`: "from 0.1 to 600",
		`{"command":"x","timeout_seconds":-1}`:  "from 0.1 to 600",
		`{"command":["x"]}`:                     "must be string",
	} {
		b := newBench()
		if e := b.do(t, bash, t.TempDir(), args); e.Result.Success || !strings.Contains(e.Err, want) || len(b.recorder.Payloads()) != 0 {
			t.Errorf("%s: %s %q", args, e.Outcome, e.Err)
		}
	}
}

// proves TOL-03, REC-04, TOL-07: whose start cannot be told is never said not to
// have run.
func TestACommandThatMayHaveRunIsNotSaidNotToHave(t *testing.T) {
	h := &fakeHost{err: fmt.Errorf("start c1: %w", proc.ErrUncertain)}
	b := newBench()
	e := b.do(t, bashOf(t, builtin.Options{Host: h}), t.TempDir(), command("x"))
	if e.Result.Success || strings.Contains(e.Err, "nothing was run") || !strings.Contains(e.Err, "not known") || !strings.Contains(e.Err, "Do not retry blindly") {
		t.Errorf("%s %q", e.Outcome, e.Err)
	}
}

// proves INT-07, TOL-07, B015: a trip ends the tree by the ladder; the result
// is "stopped" with the output so far.
func TestATripStopsTheTreeAndKeepsTheOutputSoFar(t *testing.T) {
	for name, dies := range map[string]bool{"it dies": true, "it outlives the ladder": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			var tree *fakeTree
			h := &fakeHost{begin: func(tr *fakeTree) {
				tree, tr.dies, tr.pids, tr.out = tr, dies, []int{7, 8}, proc.Output{Text: "part\n", Bytes: 5}
			}}
			b.recorder.OnRecord = func(event.Payload) { b.trip(t) }
			e := b.do(t, bashOf(t, builtin.Options{Host: h}), t.TempDir(), command("sleep 100"))
			if e.Outcome != event.CallStopped || e.Result.Content.Text() != "part\n" || e.Result.Output.Bytes != 5 {
				t.Errorf("%s %+v", e.Outcome, e.Result)
			}
			if l := tree.ladders(); len(l) != 1 || l[0].Grace != 2*time.Second {
				t.Errorf("ladders %v", l)
			}
			last := kinds(&b.recorder)[1]
			if dies && (len(e.Result.Survivors) > 0 || !strings.HasSuffix(last, "stopped")) || !dies && (!slices.Equal(e.Result.Survivors, []int{7, 8}) || last != string(event.ProcessSurvived{}.Type())) {
				t.Errorf("survivors %v, recorded %s", e.Result.Survivors, last)
			}
		})
	}
}

// proves PRC-03: the second request takes the grace away.
func TestAForcedTripStopsWithoutGrace(t *testing.T) {
	b := newBench()
	killed := make(chan struct{})
	h := &fakeHost{begin: func(tr *fakeTree) {
		tr.pids = []int{7}
		tr.onStop = func(l interrupt.Ladder) {
			if l.Grace > 0 {
				b.c.Force()
				select { // the first stop waits out its grace
				case <-killed:
				case <-time.After(l.Grace):
				}
				return
			}
			close(killed)
		}
	}}
	b.recorder.OnRecord = func(event.Payload) { b.trip(t) }
	e := b.do(t, bashOf(t, builtin.Options{Host: h}), t.TempDir(), command("x"))
	select {
	case <-killed:
	default:
		t.Errorf("nothing was killed: %s", e.Outcome)
	}
}

// proves TOL-07, decision 6: a command that had ended keeps its end though the
// trip is there as well.
func TestACommandThatHadEndedIsFinishedWhateverComes(t *testing.T) {
	for range 200 {
		b := newBench()
		h := &fakeHost{begin: func(tr *fakeTree) {
			tr.end(proc.Exit{Code: code(0)}, true)
			b.trip(t)
		}}
		if e := b.do(t, bashOf(t, builtin.Options{Host: h}), t.TempDir(), command("x")); e.Outcome != event.CallFinished || *e.Result.ExitCode != 0 {
			t.Fatalf("%s %s", e.Outcome, e.Err)
		}
	}
}

// A command that had ended before the stop, or the limit's own watch, asked it
// to is not said to have been stopped, neither to the model nor in the record.
//
// proves TOL-07
func TestACommandThatHadEndedBeforeItWasAskedIsNotStopped(t *testing.T) {
	for name, trips := range map[string]bool{"a trip": true, "the limit's own watch": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				h := &fakeHost{begin: func(tr *fakeTree) {
					tr.pids = []int{7}
					tr.onStop = func(interrupt.Ladder) { tr.end(proc.Exit{Code: code(0), Own: true}, true) }
				}}
				if trips {
					b.recorder.OnRecord = func(event.Payload) { b.trip(t) }
				}
				e := b.do(t, bashOf(t, builtin.Options{Host: h}), "/", command("x"))
				if e.Outcome != event.CallFinished || e.Result.Stopped || *e.Result.TimedOut || *e.Result.ExitCode != 0 || !strings.HasPrefix(e.Result.Content.Text(), "exit code 0\n") {
					t.Errorf("%s %+v", e.Outcome, e.Result)
				}
				if got := kinds(&b.recorder); !strings.HasSuffix(got[len(got)-1], " exited") {
					t.Errorf("recorded %v", got)
				}
			})
		})
	}
}

// proves PRC-05: what a command left running becomes a job and is not
// waited for; where nobody can own it, it is ended.
func TestLeftoversBecomeJobsOrEnd(t *testing.T) {
	for name, adopt := range map[string]error{"owned": nil, "nobody can": tool.ErrNoJobs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				b.jobs.Err = adopt
				var tree *fakeTree
				h := &fakeHost{begin: func(tr *fakeTree) { tree = tr; tr.pids = []int{42}; tr.end(proc.Exit{Code: code(0)}, false) }}
				start := time.Now()
				e := b.do(t, bashOf(t, builtin.Options{Host: h}), "/", command("server &"))
				if took := time.Since(start); took != 100*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				text := e.Result.Content.Text()
				if e.Outcome != event.CallFinished || *e.Result.ExitCode != 0 {
					t.Errorf("%s %s", e.Outcome, text)
				}
				if adopt != nil {
					if len(tree.ladders()) != 1 || !strings.Contains(text, "pids 42 running, which were ended") {
						t.Errorf("stopped %v: %s", tree.ladders(), text)
					}
					return
				}
				jobs := b.jobs.All()
				if len(jobs) != 1 || len(tree.ladders()) != 0 || !strings.Contains(text, "left running: job j_1, pids 42") {
					t.Fatalf("jobs %v, stopped %v: %s", jobs, tree.ladders(), text)
				}
				if c, s := jobs[0].Process.Exit(); c != nil || s != "" {
					t.Error("the job's exit code is invented: it is its command's")
				}
				if got := kinds(&b.recorder); len(got) != 1 {
					t.Errorf("the end of the job's process is recorded by the call: %v", got)
				}
				if left := jobs[0].Process.Stop(interrupt.Ladder{}); left != nil {
					t.Error(left)
				}
			})
		})
	}
}

// proves PRC-06: whoever else holds the pipe delays nothing.
func TestAHeldPipeDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		h := &fakeHost{begin: func(tr *fakeTree) { tr.out.Text = "done"; tr.end(proc.Exit{Code: code(0)}, false) }} // never gone, nobody alive
		start := time.Now()
		e := b.do(t, bashOf(t, builtin.Options{Host: h}), "/", command("x"))
		if took := time.Since(start); took > 100*time.Millisecond+2*time.Second || !strings.HasSuffix(e.Result.Content.Text(), "output:\ndone") {
			t.Errorf("after %v: %q", took, e.Result.Content.Text())
		}
	})
}

// A tree of which nobody is seen is not taken for gone before it says so: its
// last words are waited for, and who was overlooked is owned.
//
// proves PRC-05, PRC-06
func TestATreeOfWhichNobodyIsSeenIsNotTakenForGone(t *testing.T) {
	for name, seen := range map[string]bool{"the last words are on their way": false, "one was overlooked": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				h := &fakeHost{begin: func(tr *fakeTree) {
					tr.end(proc.Exit{Code: code(0)}, false)
					time.AfterFunc(300*time.Millisecond, func() {
						tr.mu.Lock()
						tr.out.Text, tr.pids = "last", map[bool][]int{true: {42}}[seen]
						tr.mu.Unlock()
						if !seen {
							tr.end(proc.Exit{}, true)
						}
					})
				}}
				e := b.do(t, bashOf(t, builtin.Options{Host: h}), "/", command("x"))
				text := e.Result.Content.Text()
				if !strings.HasSuffix(text, "output:\nlast") || strings.Contains(text, "left running: job j_1, pids 42") != seen || (len(b.jobs.All()) == 1) != seen {
					t.Errorf("%q, jobs %v", text, b.jobs.All())
				}
			})
		})
	}
}

// What a command left running and could not be ended is not said to have been.
//
// proves PRC-05
func TestLeftoversThatOutliveTheirEndAreNotSaidToHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.jobs.Err = tool.ErrNoJobs
		h := &fakeHost{begin: func(tr *fakeTree) { tr.pids, tr.dies = []int{42, 43}, false; tr.end(proc.Exit{Code: code(0)}, false) }}
		text := b.do(t, bashOf(t, builtin.Options{Host: h}), "/", command("server &")).Result.Content.Text()
		if strings.Contains(text, "which were ended") || !strings.Contains(text, "it left pids 42 43 running, of which not all could be ended") {
			t.Error(text)
		}
	})
}

// proves TOL-21: the limit is held even where the guardian does not hold it.
func TestTheTimeLimitHoldsWithoutTheGuardian(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		h := &fakeHost{begin: func(tr *fakeTree) { tr.pids = []int{7} }}
		start := time.Now()
		e := b.do(t, bashOf(t, builtin.Options{Host: h}), "/", `{"command":"x","timeout_seconds":10}`)
		if took := time.Since(start); took != 13*time.Second || e.Outcome != event.CallFinished || !*e.Result.TimedOut || !e.Result.Success {
			t.Errorf("%s after %v: %+v", e.Outcome, took, e.Result)
		}
	})
}

// proves TOL-04, PRC-01: a process that the journal does not know of must not run.
func TestACommandWhoseStartIsNotRecordedIsEnded(t *testing.T) {
	b := newBench()
	b.recorder.Err = errors.New("disk is full")
	var tree *fakeTree
	h := &fakeHost{begin: func(tr *fakeTree) { tree = tr; tr.pids = []int{7} }}
	e := b.do(t, bashOf(t, builtin.Options{Host: h}), t.TempDir(), command("x"))
	if e.Outcome != event.CallFatal || !strings.HasPrefix(e.Err, "Fatal error: ") || len(tree.ladders()) != 1 || tree.ladders()[0].Grace != 0 {
		t.Errorf("%s %q, stopped %v", e.Outcome, e.Err, tree.ladders())
	}
}

// proves TOL-21, PRC-06: output reaches the surfaces as it comes, in whole characters.
func TestOutputIsLive(t *testing.T) {
	b := newBench()
	h := &fakeHost{begin: func(tr *fakeTree) {
		var wg sync.WaitGroup
		wg.Go(func() {
			for _, part := range []string{"hel", "lo \xe2", "\x82", "\xac\xff!"} {
				_, _ = tr.spec.Live.Write([]byte(part))
			}
		})
		wg.Wait()
		tr.end(proc.Exit{Code: code(0)}, true)
	}}
	b.do(t, bashOf(t, builtin.Options{Host: h}), t.TempDir(), command("x"))
	if b.live.Text() != "hello €\uFFFD!" {
		t.Errorf("%q", b.live.Text())
	}
}

// proves HOK-04: the question shows the whole command on one line, with nothing
// in it that a terminal acts on.
func TestTheQuestionShowsTheCommandAsItIs(t *testing.T) {
	spec := bashOf(t, builtin.Options{Host: &fakeHost{}}).Spec()
	prompt, ask := spec.Asking(&tool.Call{Args: json.RawMessage(command("ls\nrm -rf x\x1b[2K\u202e\u200b é"))})
	if !ask || prompt != `run ls\nrm -rf x\x1b[2K\u202e\u200b é` {
		t.Errorf("%v %q", ask, prompt)
	}
	if prompt, _ = spec.Asking(&tool.Call{Args: json.RawMessage(command(strings.Repeat("é", 2000)))}); !strings.HasSuffix(prompt, " … (2000 bytes more)") {
		t.Errorf("%q", prompt[len(prompt)-40:])
	}
	if _, ask = spec.Asking(&tool.Call{Args: json.RawMessage(`{"command":1}`)}); !ask {
		t.Error("what can't be read does not ask")
	}
}
