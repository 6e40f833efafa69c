package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

func call(args string) *tool.Call {
	return &tool.Call{ID: "c_1", Name: "func", Args: json.RawMessage(args), Session: "s_1", Turn: 1, Step: 1}
}

func trip(t *testing.T, c *interrupt.Coordinator) {
	t.Helper()
	if _, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}); err != nil {
		t.Error(err)
	}
}

// does makes a run of a tool made of do.
func does(c *interrupt.Coordinator, book *tooltest.Book, b interrupt.Behaviour, do func(context.Context, *tool.Call) (tool.Result, error)) *tool.Run {
	r := &tool.Run{Tool: tooltest.Func{Declared: b, Do: do}, Call: call(`{}`), Book: book}
	if c != nil {
		r.Signal = c.Signal()
	}
	return r
}

// proves TOL-01, TOL-08, INT-01
func TestAToolThatKnowsNothingOfInterruptionRunsToItsEndAndIsRecorded(t *testing.T) {
	book := &tooltest.Book{}
	r := &tool.Run{Tool: plain{}, Call: call(`{}`), Book: book}
	e, left := r.Do(t.Context())
	if left != nil || e.Outcome != event.CallFinished || e.Result.Content.Text() != "plain" || !e.Result.Success {
		t.Fatalf("%+v", e)
	}
	if got := book.Facts(); !slices.Equal(got, []string{"started", "finished"}) {
		t.Errorf("recorded %v", got)
	}
	if interrupt.BehaviourOf(plain{}) != interrupt.NonInterruptible {
		t.Error("a tool that declares nothing is interruptible")
	}
}

type plain struct{}

func (plain) Spec() tool.Spec { return tool.Spec{Name: "plain", Description: "d"} }
func (plain) Execute(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Text("plain"), nil
}

// proves TOL-08: the tool's first effect comes after the acknowledged start,
// the end is recorded before Do returns.
func TestNothingRunsBeforeItsStartIsAcknowledged(t *testing.T) {
	for _, c := range []struct {
		start error
		want  event.CallOutcome
	}{
		{tool.ErrSkipped, event.CallSkipped},
		{fmt.Errorf("turn 3: %w", tool.ErrSkipped), event.CallSkipped},
		{errors.New("disk is full"), event.CallFatal},
	} {
		ran := false
		book := &tooltest.Book{OnStart: func(context.Context) error {
			if ran {
				t.Error("the tool ran before its start was recorded")
			}
			return c.start
		}}
		e, _ := does(nil, book, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
			ran = true
			return tool.Text("x"), nil
		}).Do(t.Context())
		if ran || e.Outcome != c.want {
			t.Errorf("start refused with %v: ran %v, outcome %s", c.start, ran, e.Outcome)
		}
		if got := book.Facts(); !slices.Equal(got, []string{string(c.want)}) {
			t.Errorf("recorded %v", got)
		}
		if c.want == event.CallFatal && !strings.HasPrefix(e.Err, "Fatal error: ") {
			t.Errorf("error %q", e.Err)
		}
	}
}

// proves INT-28, INT-29, TOL-09: one gate in Do serves sequential, parallel and
// eager dispatch, and decides on the goroutine that took the slot.
func TestTheGateSkipsWhatHasNotStartedInEveryDispatchShape(t *testing.T) {
	shapes := map[string]func(runs []func()){
		"sequential": func(runs []func()) {
			for _, run := range runs {
				run()
			}
		},
		"parallel": func(runs []func()) {
			var wg sync.WaitGroup
			slot := make(chan struct{}, 1) // the cap is not where the decision is made
			for _, run := range runs {
				slot <- struct{}{}
				wg.Go(func() { defer func() { <-slot }(); run() })
			}
			wg.Wait()
		},
		"eager": func(runs []func()) {
			var wg sync.WaitGroup
			for _, run := range runs { // each starts as its arguments are complete
				done := make(chan struct{})
				wg.Go(func() { defer close(done); run() })
				<-done
			}
			wg.Wait()
		},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			c := interrupt.New(interrupt.Options{})
			ends := make([]tool.Ended, 3)
			var runs []func()
			for i := range 3 {
				runs = append(runs, func() {
					r := does(c, &tooltest.Book{}, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
						trip(t, c) // the first call trips while it is inside
						return tool.Text("real"), nil
					})
					r.Tripped = func() bool { return interrupt.Tripped(c, t.Context()) }
					ends[i], _ = r.Do(t.Context())
				})
			}
			shape(runs)
			if ends[0].Outcome != event.CallFinished || ends[0].Result.Content.Text() != "real" {
				t.Errorf("a started call lost its result: %+v", ends[0])
			}
			for _, e := range ends[1:] {
				if e.Outcome != event.CallSkipped || e.Ran != 0 {
					t.Errorf("a call that had not started: %+v", e)
				}
			}
		})
	}
}

// proves INT-36: the gate is asked once.
func TestTheGateIsAskedOnce(t *testing.T) {
	asked := 0
	r := does(nil, &tooltest.Book{}, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text("x"), nil
	})
	r.Tripped = func() bool { asked++; return asked > 1 } // flips between looks
	if e, _ := r.Do(t.Context()); e.Outcome != event.CallFinished || asked != 1 {
		t.Errorf("asked %d times, outcome %s", asked, e.Outcome)
	}
	asked = 0
	r.Tripped = func() bool { asked++; return asked == 1 } // and back
	if e, _ := r.Do(t.Context()); e.Outcome != event.CallSkipped || asked != 1 {
		t.Errorf("asked %d times, outcome %s", asked, e.Outcome)
	}
}

// proves INT-02, INT-05, TRN-03: only a tool that said so has its context cut.
func TestOnlyAContextInterruptibleToolHasItsContextCut(t *testing.T) {
	for _, b := range []interrupt.Behaviour{interrupt.NonInterruptible, interrupt.Cooperative,
		interrupt.ContextInterruptible, interrupt.ExternallyTerminated} {
		t.Run(b.String(), func(t *testing.T) {
			c := interrupt.New(interrupt.Options{})
			caller, gone := context.WithCancel(t.Context())
			defer gone()
			var cut, tripped, registrar bool
			var cause error
			r := does(c, &tooltest.Book{}, b, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
				trip(t, c)
				cut, cause = ctx.Err() != nil, context.Cause(ctx)
				gone()
				if b != interrupt.ContextInterruptible && ctx.Err() != nil {
					t.Error("the caller's end reached the tool")
				}
				tripped = tool.SignalOf(call).Cancelled()
				_, registrar = tool.RegistrarOf(call)
				return tool.Text("done"), nil
			})
			reg, err := c.Registrar()
			if err != nil {
				t.Fatal(err)
			}
			r.Registrar = reg
			e, _ := r.Do(caller)
			if want := b == interrupt.ContextInterruptible; cut != want || want != errors.Is(cause, interrupt.ErrInterrupted) {
				t.Errorf("cut %v, cause %v", cut, cause)
			}
			if !tripped || registrar != b.HasRegistrar() {
				t.Errorf("signal tripped %v, registrar %v", tripped, registrar)
			}
			if e.Outcome != event.CallFinished {
				t.Errorf("a result that was reached became %s", e.Outcome)
			}
		})
	}
}

// proves INT-02: a file written through a context-aware writer is complete.
func TestAContextAwareWriterFinishesItsFileThroughATrip(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	path := filepath.Join(t.TempDir(), "f")
	e, _ := does(c, &tooltest.Book{}, interrupt.NonInterruptible, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		f, err := os.Create(path)
		if err != nil {
			return tool.Result{}, err
		}
		defer f.Close()
		for i := range 100 {
			if i == 3 {
				trip(t, c)
			}
			if err := ctx.Err(); err != nil {
				return tool.Result{}, err
			}
			if _, err := f.WriteString("line\n"); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Text("written"), f.Close()
	}).Do(t.Context())
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 500 || e.Outcome != event.CallFinished {
		t.Errorf("%d bytes, outcome %s, %v %s", len(b), e.Outcome, err, e.Err)
	}
}

// proves TOL-07: finished, finished late and stopped are told apart by what the
// tool says and by the age of the trip.
func TestTheEndAfterATripIsWhatTheToolSaysItIs(t *testing.T) {
	stop := func(call *tool.Call) (tool.Result, error) {
		return tool.Result{Content: event.TextOf("part"), Stopped: true}, nil
	}
	for _, c := range []struct {
		name string
		b    interrupt.Behaviour
		wait time.Duration
		ret  func(*tool.Call) (tool.Result, error)
		want event.CallOutcome
		err  string
	}{
		{"ends within the grace", interrupt.NonInterruptible, time.Second, nil, event.CallFinished, ""},
		{"ends after it", interrupt.NonInterruptible, 3 * time.Second, nil, event.CallFinishedLate, ""},
		{"says that it was stopped", interrupt.Cooperative, 0, stop, event.CallStopped, ""},
		{"returns the checkpoint's error", interrupt.Cooperative, 0, func(call *tool.Call) (tool.Result, error) {
			return tool.Result{Content: event.TextOf("part")}, fmt.Errorf("walk: %w", tool.SignalOf(call).Checkpoint())
		}, event.CallStopped, ""},
		{"returns the cut context's error", interrupt.ContextInterruptible, 0, func(*tool.Call) (tool.Result, error) {
			return tool.Result{}, fmt.Errorf("read: %w", context.Canceled)
		}, event.CallStopped, "read: context canceled"},
		{"returns such an error though nothing was cut", interrupt.NonInterruptible, 0, func(*tool.Call) (tool.Result, error) {
			return tool.Result{}, fmt.Errorf("read: %w", context.Canceled)
		}, event.CallFinished, "read: context canceled"},
		{"fails by itself", interrupt.ContextInterruptible, 0, func(*tool.Call) (tool.Result, error) {
			return tool.Result{}, errors.New("no such file")
		}, event.CallFinished, "no such file"},
		{"breaks the engine", interrupt.ContextInterruptible, 0, func(*tool.Call) (tool.Result, error) {
			return tool.Result{}, tool.Fatalf("worker lost")
		}, event.CallFatal, "Fatal error: worker lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				co := interrupt.New(interrupt.Options{})
				e, _ := does(co, &tooltest.Book{}, c.b, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
					trip(t, co)
					time.Sleep(c.wait)
					if c.ret == nil {
						return tool.Text("real"), nil
					}
					return c.ret(call)
				}).Do(t.Context())
				if e.Outcome != c.want || e.Err != c.err {
					t.Errorf("%s %q", e.Outcome, e.Err)
				}
				if e.Ran != c.wait {
					t.Errorf("ran %v", e.Ran)
				}
			})
		})
	}
}

// proves TRN-19: without a trip the same words are the tool's own error.
func TestAnInterruptedErrorWithoutATripIsAnOrdinaryReply(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	e, _ := does(c, &tooltest.Book{}, interrupt.ContextInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Stopped: true}, interrupt.ErrInterrupted
	}).Do(t.Context())
	if e.Outcome != event.CallFinished || e.Err == "" || e.Result.Success || e.Result.Stopped {
		t.Errorf("%+v", e)
	}
}

// proves TOL-03, TOL-04, TOL-05
func TestAnErrorIsAReplyUnlessItIsFatal(t *testing.T) {
	broken := errors.New("pipe broke")
	for _, c := range []struct {
		name string
		do   func() (tool.Result, error)
		want event.CallOutcome
		err  string
	}{
		{"plain error", func() (tool.Result, error) { return tool.Text("x"), broken }, event.CallFinished, "pipe broke"},
		{"reply", func() (tool.Result, error) {
			return tool.Result{}, tool.Replyf("no match; read the file: %w", broken)
		}, event.CallFinished, "no match; read the file: pipe broke"},
		{"fatal", func() (tool.Result, error) { return tool.Result{}, tool.FatalError(broken) }, event.CallFatal, "Fatal error: pipe broke"},
		{"wrapped fatal", func() (tool.Result, error) { return tool.Result{}, fmt.Errorf("drain: %w", tool.FatalError(broken)) }, event.CallFatal, "drain: Fatal error: pipe broke"},
		{"panic", func() (tool.Result, error) { panic("index out of range") }, event.CallFatal, "Fatal error: tool func panicked: index out of range"},
		{"goroutine ended", func() (tool.Result, error) { runtime.Goexit(); return tool.Result{}, nil }, event.CallFatal, "Fatal error: tool func ended its goroutine instead of returning"},
	} {
		t.Run(c.name, func(t *testing.T) {
			book := &tooltest.Book{}
			e, left := does(nil, book, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return c.do() }).Do(t.Context())
			if e.Outcome != c.want || e.Result.Success || left != nil || !strings.HasSuffix(e.Err, c.err) {
				t.Errorf("%s, success %v, %q", e.Outcome, e.Result.Success, e.Err)
			}
			if got := book.Facts(); !slices.Equal(got, []string{"started", string(c.want)}) {
				t.Errorf("recorded %v: every call has its answer", got)
			}
			if (e.Stack != "") != (c.name == "panic") {
				t.Errorf("stack %q", e.Stack)
			}
		})
	}
	if !errors.Is(tool.FatalError(broken), broken) || tool.FatalError(nil) != nil {
		t.Error("what is below is lost")
	}
}

// proves TOL-05: a panic of a late or declaring tool stays with its call too.
func TestAPanicOutsideExecuteIsFatalForItsCallOnly(t *testing.T) {
	book := &tooltest.Book{}
	e, _ := (&tool.Run{Tool: badSpec{}, Call: call(`{}`), Book: book}).Do(t.Context())
	if e.Outcome != event.CallFatal || !slices.Equal(book.Facts(), []string{"fatal"}) {
		t.Errorf("%+v %v", e, book.Facts())
	}
}

type badSpec struct{ plain }

func (badSpec) Spec() tool.Spec { panic("no spec") }

// proves TOL-03, B062: what can't be made is answered with a sentence and
// never starts.
func TestACallThatCannotBeMadeIsAnsweredAndNeverStarts(t *testing.T) {
	for _, c := range []struct {
		name string
		mod  func(*tool.Run)
		want string
	}{
		{"unknown tool", func(r *tool.Run) { r.Tool = nil; r.Names = []string{"read", "bash"} }, `there is no tool "func"; the tools are read, bash`},
		{"typed nil tool", func(r *tool.Run) { r.Tool = (*plain)(nil) }, `there is no tool "func"; use one of those`},
		{"cut arguments", func(r *tool.Run) { r.BadArgs = `{"path":"a","text":"line1\nli` }, "not one complete JSON object"},
		{"cut arguments given as such", func(r *tool.Run) { r.Call.Args = json.RawMessage(`{"path":"a`) }, "not valid JSON"},
		{"not an object", func(r *tool.Run) { r.Call.Args = json.RawMessage(`[1]`) }, "are array"},
		{"trailing words", func(r *tool.Run) { r.Call.Args = json.RawMessage(`{} {}`) }, "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			book := &tooltest.Book{}
			r := does(nil, book, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
				t.Error("it ran")
				return tool.Result{}, nil
			})
			c.mod(r)
			e, _ := r.Do(t.Context())
			if e.Outcome != event.CallInvalid || !strings.Contains(e.Err, c.want) || !slices.Equal(book.Facts(), []string{"invalid"}) {
				t.Errorf("%s %q, recorded %v", e.Outcome, e.Err, book.Facts())
			}
		})
	}
}

// proves TRN-03: what closes the books is reached by no interrupt.
func TestTheEndIsRecordedOnAContextThatNothingCuts(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	ctx, gone := context.WithCancel(t.Context())
	book := &tooltest.Book{OnEnd: func(ctx context.Context, _ tool.Ended) error { return ctx.Err() }}
	e, _ := does(c, book, interrupt.Cooperative, func(_ context.Context, call *tool.Call) (tool.Result, error) {
		trip(t, c)
		gone()
		return tool.Result{Content: event.TextOf("part")}, tool.SignalOf(call).Checkpoint()
	}).Do(ctx)
	if e.Unrecorded != nil || e.Outcome != event.CallStopped || len(book.Ends()) != 1 {
		t.Errorf("%+v", e)
	}
	book = &tooltest.Book{OnEnd: func(context.Context, tool.Ended) error { return errors.New("disk is full") }}
	e, _ = does(nil, book, interrupt.Cooperative, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("x"), nil }).Do(t.Context())
	if e.Unrecorded == nil || e.Outcome != event.CallFinished {
		t.Errorf("an end that was not recorded is not said to be: %+v", e)
	}
}

// proves INT-17: the registrar is the call's and is closed when the call ends.
func TestTheRegistrarIsClosedWhenTheCallReturns(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	reg, err := c.Registrar()
	if err != nil {
		t.Fatal(err)
	}
	var kept interrupt.Registrar
	stopped := make(chan struct{})
	r := does(c, &tooltest.Book{}, interrupt.ExternallyTerminated, func(_ context.Context, call *tool.Call) (tool.Result, error) {
		kept, _ = tool.RegistrarOf(call)
		if _, err := kept.Register(func() { close(stopped) }); err != nil {
			return tool.Result{}, err
		}
		go trip(t, c)
		<-stopped
		return tool.Result{Stopped: true}, nil
	})
	r.Registrar = reg
	if e, _ := r.Do(t.Context()); e.Outcome != event.CallStopped {
		t.Errorf("%+v", e)
	}
	if _, err := kept.Register(func() { t.Error("a terminator of an ended call ran") }); !errors.Is(err, interrupt.ErrClosed) {
		t.Errorf("registering after the call: %v", err)
	}
	if _, ok := kept.(interface{ Registrar() }); ok || reflect.TypeOf(kept).NumMethod() != 3 {
		t.Error("the registrar leads elsewhere")
	}
}

// proves INT-40, TOL-09: per-call contexts are children of the turn, never of
// each other; a failing sibling trips nothing.
func TestAFailingSiblingCutsNobody(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	failed := make(chan struct{})
	var wg sync.WaitGroup
	var other tool.Ended
	wg.Go(func() {
		other, _ = does(c, &tooltest.Book{}, interrupt.ContextInterruptible, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			<-failed
			return tool.Text("ok"), ctx.Err()
		}).Do(t.Context())
	})
	_, _ = does(c, &tooltest.Book{}, interrupt.ContextInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("failed")
	}).Do(t.Context())
	close(failed)
	wg.Wait()
	if other.Outcome != event.CallFinished || other.Err != "" || c.Signal().Cancelled() {
		t.Errorf("%+v, tripped %v", other, c.Signal().Cancelled())
	}
}

// proves B014, INT-31, TOL-07: three calls, three answers, each of its own kind.
func TestEveryCallOfARoundGetsItsOwnAnswer(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	slots := make(chan struct{}, 1)
	slots <- struct{}{} // the first call ended already; the second holds the slot
	var ends [3]tool.Ended
	ends[0], _ = does(c, &tooltest.Book{}, interrupt.Cooperative, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("real"), nil }).Do(t.Context())
	running := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { <-slots }()
		ends[1], _ = does(c, &tooltest.Book{}, interrupt.Cooperative, func(_ context.Context, call *tool.Call) (tool.Result, error) {
			close(running)
			<-tool.SignalOf(call).Done()
			return tool.Result{Content: event.TextOf("part"), Stopped: true}, nil
		}).Do(t.Context())
	})
	wg.Go(func() {
		slots <- struct{}{}
		ends[2], _ = does(c, &tooltest.Book{}, interrupt.Cooperative, func(context.Context, *tool.Call) (tool.Result, error) {
			t.Error("call 3 ran")
			return tool.Result{}, nil
		}).Do(t.Context())
	})
	<-running
	trip(t, c)
	wg.Wait()
	want := [3]event.CallOutcome{event.CallFinished, event.CallStopped, event.CallSkipped}
	for i, e := range ends {
		if e.Outcome != want[i] {
			t.Errorf("call %d: %s, want %s", i+1, e.Outcome, want[i])
		}
	}
	if ends[0].Result.Content.Text() != "real" || ends[1].Result.Content.Text() != "part" {
		t.Errorf("texts %q, %q", ends[0].Result.Content.Text(), ends[1].Result.Content.Text())
	}
}
