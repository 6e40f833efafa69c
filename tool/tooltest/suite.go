package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

const (
	usualBound = 30 * time.Second // none of the tools needs it: a machine may be busy
	forceBound = 30 * time.Second
)

// Driver is a tool as the suite needs it.
type Driver struct {
	// New makes the tool and a workspace for it, fresh for every test.
	New func(t *testing.T) (tl tool.Tool, dir string)
	// Args are arguments with which the tool ends by itself, soon, and with
	// success. It is given the workspace and a number, so that calls beside
	// each other can differ.
	Args func(dir string, n int) string
	// Long, which may be nil, are arguments with which the tool runs until it
	// is tripped. A NON_INTERRUPTIBLE tool has none.
	Long func(dir string) string
	// Underway, when set, is what live output contains once Long runs;
	// otherwise the trip comes at once after the start.
	Underway string
	// Bound is how long the tool may take from the trip to its end; 0 means 30 s.
	Bound time.Duration
	// Check, which may be nil, looks at what Args with number 0 left behind.
	Check func(t *testing.T, dir string, e tool.Ended)
}

// Run holds a tool to its contract and to what it declares.
func Run(t *testing.T, d Driver) {
	if d.Bound == 0 {
		d.Bound = usualBound
	}
	t.Run("it describes itself, the same each time", d.describes)
	t.Run("it ends by itself and says so", d.ends)
	t.Run("arguments of any shape are answered, not a panic", d.garbage)
	t.Run("a trip never cuts what declares that it can't be cut", d.uncut)
	t.Run("it stops within its bound when it is tripped", d.stops)
	t.Run("it stops at once when it is tripped before it begins", d.stopsAtOnce)
	t.Run("through a closed fence it changes nothing", d.fenced)
	t.Run("it runs beside itself if it declares that", d.concurrent)
}

// flight runs one call and gives what came of it.
type flight struct {
	Book     Book
	Recorder Recorder
	Jobs     Jobs
	Live     Live
	Blobs    Blobs
	Fence    func() error
	C        *interrupt.Coordinator
}

func (f *flight) run(t *testing.T, tl tool.Tool, dir, args, id string, bound time.Duration) (tool.Ended, <-chan struct{}) {
	t.Helper()
	r := &tool.Run{Tool: tl, Call: &tool.Call{ID: event.CallID(id), Name: tl.Spec().Name, Args: json.RawMessage(args),
		Session: "s_test", Turn: 1, Step: 1, Dir: dir}, Signal: f.C.Signal(), Book: &f.Book, Bound: bound,
		Blobs: &f.Blobs, Fence: f.Fence, Recorder: &f.Recorder, Jobs: &f.Jobs, Live: &f.Live}
	if interrupt.BehaviourOf(tl).HasRegistrar() {
		reg, err := f.C.Registrar()
		if err != nil {
			t.Fatal(err)
		}
		r.Registrar = reg
	}
	r.Tripped = func() bool { return false } // the suite trips when it wants to
	e, left := r.Do(t.Context())
	if survivors := f.Jobs.StopAll(); len(survivors) > 0 {
		t.Errorf("jobs outlived their end: %v", survivors)
	}
	return e, left
}

func newFlight() *flight { return &flight{C: interrupt.New(interrupt.Options{})} }

func (f *flight) trip(t *testing.T) {
	t.Helper()
	if _, err := f.C.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}); err != nil {
		t.Error(err)
	}
}

func (d Driver) describes(t *testing.T) {
	tl, _ := d.New(t)
	if _, err := tool.NewSet(tl); err != nil {
		t.Fatal(err)
	}
	a, b := tl.Spec(), tl.Spec()
	if a.Name != b.Name || a.Description != b.Description || !reflect.DeepEqual(a.Schema, b.Schema) || a.Effect != b.Effect || a.Concurrent != b.Concurrent {
		t.Errorf("two looks at the spec differ: %+v and %+v", a, b)
	}
	if a.Description == "" {
		t.Error("a model can't choose a tool without a description")
	}
	if first := interrupt.BehaviourOf(tl); interrupt.BehaviourOf(tl) != first {
		t.Error("the behaviour changes")
	}
}

func (d Driver) ends(t *testing.T) {
	tl, dir := d.New(t)
	f := newFlight()
	e, left := f.run(t, tl, dir, d.Args(dir, 0), "c_0", d.Bound)
	if e.Outcome != event.CallFinished || !e.Result.Success || left != nil {
		t.Fatalf("outcome %s, success %v: %s%s", e.Outcome, e.Result.Success, e.Err, e.Result.Content.Text())
	}
	if !utf8.ValidString(e.Result.Content.Text()) {
		t.Error("the text is not UTF-8")
	}
	if d.Check != nil {
		d.Check(t, dir, e)
	}
}

func (d Driver) garbage(t *testing.T) {
	tl, dir := d.New(t)
	for _, args := range []string{``, `null`, `[]`, `5`, `"x"`, `{`, `{}`, `{"path":5,"command":{},"content":null,"old":[],"new":1}`,
		`{"path":"","command":"","content":"","old":"","new":""}`, `{"path":"\u0000","command":"\u0000"}`} {
		call := &tool.Call{ID: "c_g", Name: tl.Spec().Name, Args: json.RawMessage(args), Dir: dir}
		res, err := tl.Execute(t.Context(), call)
		if tool.IsFatal(err) {
			t.Errorf("arguments %s end the turn: %v", args, err)
		}
		if err == nil && !res.Success {
			t.Errorf("arguments %s: no success and no sentence about it", args)
		}
		spec := tl.Spec()
		_, _ = spec.Asking(call) // must not panic either
	}
}

func (d Driver) uncut(t *testing.T) {
	tl, dir := d.New(t)
	if interrupt.BehaviourOf(tl) != interrupt.NonInterruptible {
		t.Skip("it declares that it can be stopped")
	}
	f := newFlight()
	f.Book.OnStart = func(context.Context) error { f.trip(t); return nil }
	e, left := f.run(t, tl, dir, d.Args(dir, 0), "c_0", d.Bound)
	if e.Outcome != event.CallFinished || !e.Result.Success || left != nil {
		t.Fatalf("outcome %s, success %v: %s", e.Outcome, e.Result.Success, e.Err)
	}
	if d.Check != nil {
		d.Check(t, dir, e)
	}
}

func (d Driver) stops(t *testing.T) {
	if d.Long == nil {
		t.Skip("it has no long call")
	}
	tl, dir := d.New(t)
	f := newFlight()
	tripped := make(chan time.Time, 1)
	f.Book.OnStart = func(ctx context.Context) error {
		if d.Underway == "" {
			tripped <- time.Now()
			f.trip(t)
		}
		return nil
	}
	var wg sync.WaitGroup
	if d.Underway != "" {
		wg.Go(func() {
			if err := f.Live.Await(t.Context(), d.Underway); err != nil {
				t.Error(err)
			}
			tripped <- time.Now()
			f.trip(t)
		})
	}
	e, left := f.run(t, tl, dir, d.Long(dir), "c_long", 2*d.Bound)
	wg.Wait()
	if took := time.Since(<-tripped); took > d.Bound {
		t.Errorf("it took %v from the trip, its bound is %v", took, d.Bound)
	}
	if e.Outcome != event.CallStopped || left != nil {
		t.Fatalf("outcome %s: %s", e.Outcome, e.Err)
	}
	if len(e.Result.Survivors) > 0 {
		t.Errorf("pids %v outlived the stop", e.Result.Survivors)
	}
}

func (d Driver) stopsAtOnce(t *testing.T) {
	if d.Long == nil {
		t.Skip("it has no long call")
	}
	tl, dir := d.New(t)
	f := newFlight()
	f.trip(t)
	start := time.Now()
	e, left := f.run(t, tl, dir, d.Long(dir), "c_long", 2*d.Bound)
	if took := time.Since(start); took > d.Bound || left != nil || e.Outcome != event.CallStopped {
		t.Errorf("outcome %s after %v (%s)", e.Outcome, took, e.Err)
	}
}

// fenced gives a call whose turn is closed; what is below the workspace must
// stay what it was.
func (d Driver) fenced(t *testing.T) {
	tl, dir := d.New(t)
	if tl.Spec().Effect == tool.Pure {
		t.Skip("it changes nothing anyway")
	}
	before := snapshot(t, dir)
	f := newFlight()
	f.Fence = func() error { return tool.ErrOver }
	e, _ := f.run(t, tl, dir, d.Args(dir, 0), "c_0", d.Bound)
	if e.Result.Success || e.Outcome == event.CallStopped {
		t.Errorf("outcome %s, success %v", e.Outcome, e.Result.Success)
	}
	if after := snapshot(t, dir); after != before {
		t.Errorf("the workspace was\n%s\nand is\n%s", before, after)
	}
}

// snapshot names every file below dir with its content.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, e.Type())
		if e.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%q\n", content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (d Driver) concurrent(t *testing.T) {
	tl, dir := d.New(t)
	if !tool.Parallel(tl) {
		t.Skip("it does not run beside others")
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			f := newFlight()
			if e, _ := f.run(t, tl, dir, d.Args(dir, n), "c_"+string(rune('0'+n)), d.Bound); e.Outcome != event.CallFinished || !e.Result.Success {
				t.Errorf("call %d: %s %s", n, e.Outcome, e.Err)
			}
		})
	}
	wg.Wait()
}

// Forwards holds a decorator to passing on what the tool inside declares:
// every behaviour, the spec and the approval question (INT-01).
func Forwards(t *testing.T, decorate func(tool.Tool) tool.Tool) {
	t.Helper()
	for _, b := range []interrupt.Behaviour{interrupt.NonInterruptible, interrupt.Cooperative,
		interrupt.ContextInterruptible, interrupt.ExternallyTerminated} {
		inner := Func{Declared: b, Is: tool.Spec{Name: "inner", Effect: tool.Pure, Concurrent: true,
			AsksCall: func(*tool.Call) (string, bool) { return "may it?", true }},
			Do: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ok"), nil }}
		outer := decorate(inner)
		if got := interrupt.BehaviourOf(outer); got != b {
			t.Errorf("a tool that declares %v is decorated into one that declares %v", b, got)
		}
		spec := outer.Spec()
		if prompt, ask := spec.Asking(&tool.Call{}); !ask || prompt != "may it?" || spec.Effect != tool.Pure || !spec.Concurrent {
			t.Error("the spec of the tool inside is lost")
		}
		if tool.Parallel(outer) != tool.Parallel(inner) {
			t.Error("the decorated tool is dispatched otherwise than the one inside")
		}
	}
}
