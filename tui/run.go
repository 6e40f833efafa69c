package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Closing bounds Run's way out: interrupting, releasing, leaving behind what
// does not answer.
const Closing = 4500 * time.Millisecond

// flushTime is the part of it that a face, and then what is left of Run's
// goroutines, may take; the service has the rest.
const flushTime = 500 * time.Millisecond

// Options are what a chat needs. Service, Session, In and Out must be set.
type Options struct {
	Service     api.Service
	Session     event.SessionID  // opened by the caller
	State       api.SessionState // as Open returned it
	In, Out     *os.File
	NoColor     bool
	OnInterrupt OnInterrupt      // what becomes of texts that wait when the person stops a turn; empty: Restore
	Plain       bool             // lines, no cursor movement; also taken where In or Out is no terminal
	Notice      string           // which model answers and why; printed once
	Signals     <-chan os.Signal // SIGINT, SIGTERM, SIGHUP as they come; nil: none
	Environ     []string         // nil: the process's own
	Now         func() time.Time // nil: time.Now
}

// Exit is how the chat was left: Code 0 by its own commands, 130 by Ctrl+C
// twice, 143 and 129 by SIGTERM and SIGHUP, 129 also when the terminal was
// lost, 1 on an error. Result is the last turn's, nil if there was none.
type Exit struct {
	Code   int
	Result *api.Result
}

// Run shows the session until the person leaves, a signal says so, the
// terminal is lost or ctx ends. On every way out the terminal is as it was
// before, a running turn was interrupted and the session released, all within
// [Closing]; if ctx has ended the release is the caller's. The error is that
// of ctx, or says what broke; a person's leaving is none.
func Run(ctx context.Context, o Options) (Exit, error) {
	if o.Service == nil || o.Session == "" || o.In == nil || o.Out == nil {
		return Exit{Code: 2}, errors.New("chat not started: Service, Session, In and Out must be given")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	plain := o.Plain || !term.IsTerminal(o.In.Fd()) || !term.IsTerminal(o.Out.Fd()) || environ(o.Environ, "TERM") == "dumb"
	if environ(o.Environ, "NO_COLOR") != "" {
		o.NoColor = true
	}
	runCtx, cancel := context.WithCancel(ctx)
	r := &runner{o: o, ctx: runCtx, cancel: cancel, failed: make(chan failure, 1), says: newQueue[func()](), result: o.State.Last}
	r.start(func() {
		for calls := r.says.take(runCtx); calls != nil; calls = r.says.take(runCtx) {
			for _, call := range calls {
				call()
			}
		}
	})
	var out outcome
	if plain {
		out = r.runLines()
	} else {
		out = r.runScreen()
	}
	r.close(out)
	cancel()
	r.settle()
	r.tell("session " + string(o.Session) + " · go on with: ripcord resume " + string(o.Session))
	return Exit{out.code, r.lastResult()}, out.err
}

func environ(env []string, key string) string {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v
		}
	}
	return ""
}

// outcome is why a face stopped.
type outcome struct {
	code   int
	reason string // of the interrupt
	force  bool
	mute   bool // nothing can be written where the face was
	err    error
}

// failure is a panic of one of our goroutines, or the loss of the terminal.
type failure struct {
	panic any
	stack []byte
	lost  error
}

// runner performs what the state asks for. Its goroutines are counted in wg.
type runner struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan failure   // the first one counts
	post   func(input)    // to the face, in order, never blocking
	says   *queue[func()] // what a person sends: one after the other, as typed

	farewell func(line string) // writes below the face that ended; nil: nowhere

	mu     sync.Mutex
	result *api.Result
}

// fail reports the first panic or loss; the face then stops.
func (r *runner) fail(f failure) {
	select {
	case r.failed <- f:
	default:
	}
}

// guard is deferred in every goroutine that runs our code.
func (r *runner) guard() {
	if p := recover(); p != nil {
		r.fail(failure{panic: p, stack: debug.Stack()})
	}
}

// start runs f in a goroutine that Run waits for.
func (r *runner) start(f func()) {
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		defer r.guard()
		f()
	}()
}

func (r *runner) lastResult() *api.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result
}

// optionsOf says a change of mode with an input (TOL-27).
func optionsOf(mode string) (o event.SubmitOptions) {
	if mode != "" {
		word, _ := json.Marshal(mode) // a string
		o.Attributes = map[string]json.RawMessage{"mode": word}
	}
	return o
}

// submit sends a message. Pictures whose bytes were let go are read again; one
// that is gone keeps the message from being sent as if it were there.
func (r *runner) submit(e submit) submitted {
	m := e.m
	m.pics = slices.Clone(m.pics)
	for i, p := range m.pics {
		whole, err := p.whole(r.ctx)
		if err != nil {
			return submitted{no: e.no, err: err, gone: p.chip()}
		}
		m.pics[i] = whole
	}
	got, err := r.o.Service.Submit(r.ctx, api.SubmitRequest{
		Session: r.o.Session, Input: event.UserInput{Content: m.content()},
		Priority: e.priority, Replaces: m.ids, By: who, Options: optionsOf(m.mode),
	})
	return submitted{no: e.no, got: got, err: err}
}

// begin starts a turn that is not made of the line.
func (r *runner) begin(how starting) (api.Submitted, error) {
	svc, id := r.o.Service, r.o.Session
	switch how {
	case onHeld:
		return svc.RunHeld(r.ctx, id)
	case again:
		return svc.Retry(r.ctx, api.RetryRequest{Session: id, By: who})
	case summary:
		return svc.Compact(r.ctx, id)
	case onNothing:
	}
	return svc.Continue(r.ctx, id)
}

// perform does one effect that both faces share; it does not block. It reports
// whether it knew the effect.
func (r *runner) perform(e effect) bool {
	svc, id, ctx := r.o.Service, r.o.Session, r.ctx
	switch e := e.(type) {
	case submit:
		r.says.put(func() { r.post(r.submit(e)) })
	case goOn:
		r.says.put(func() {
			got, err := r.begin(e.how)
			r.post(submitted{no: e.no, got: got, err: err})
		})
	case takeBack:
		r.says.put(func() {
			r.post(tookBack{e.w, svc.RemoveInput(ctx, api.RemoveRequest{Session: id, ID: e.w.id, By: who})})
		})
	case clearInbox:
		r.says.put(func() {
			_, err := svc.ClearInbox(ctx, api.ClearRequest{Session: id, By: who})
			r.post(cleared{err})
		})
	case rewind:
		r.says.put(func() {
			got, err := svc.Rewind(ctx, e.req)
			r.post(rewound{got, err})
		})
	case look:
		r.start(func() {
			waiting, err := svc.Inbox(ctx, id)
			r.post(looked{e.end, e.restore, waiting, err})
		})
	case fork:
		r.start(func() {
			forkedTo, err := svc.Fork(ctx, api.ForkRequest{Session: id, Turn: e.turn})
			r.post(forked{forkedTo, err})
		})
	case attach:
		r.start(func() {
			pic, err := readPicture(ctx, pathOf(e.name, r.o.State.Cwd, environ(r.o.Environ, "HOME")))
			r.post(attached{pic, err})
		})
	case halt:
		r.start(func() {
			got, err := svc.Interrupt(ctx, e.req)
			r.post(stopped{e.req.Input, got, err})
		})
	case decide:
		r.start(func() { r.post(decided{e.req, svc.Decide(ctx, e.req)}) })
	case askJobs:
		r.start(func() {
			jobs, err := svc.Jobs(ctx, id)
			r.post(listed{jobs, err})
		})
	case killJob:
		r.start(func() { r.post(killed{e.id, svc.KillJob(ctx, id, e.id)}) })
	case after:
		r.start(func() {
			t := time.NewTimer(e.wait)
			defer t.Stop()
			select {
			case <-t.C:
				r.post(e.up)
			case <-ctx.Done():
			}
		})
	default:
		return false
	}
	return true
}

// batch is how many frames are handed to the face at once, at most.
const batch = 256

// follow hands the session's frames to the face until ctx ends. A stream that
// breaks is followed again from where it broke, with a growing wait.
func (r *runner) follow() {
	frames := make(chan api.Frame, batch)
	r.start(func() {
		for {
			select {
			case f := <-frames:
				r.post(framed{gather(f, frames)})
			case <-r.ctx.Done():
				return
			}
		}
	})
	r.start(func() {
		var next event.Seq
		for wait := 200 * time.Millisecond; r.ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
			from := next
			err := r.followOnce(&next, frames)
			if r.ctx.Err() != nil {
				return
			}
			if err == nil {
				err = errors.New("it ended")
			}
			if next > from {
				wait = 200 * time.Millisecond
			}
			r.post(lostStream{err})
			select {
			case <-time.After(wait):
			case <-r.ctx.Done():
				return
			}
		}
	})
}

func gather(first api.Frame, more <-chan api.Frame) []api.Frame {
	out := []api.Frame{first}
	for len(out) < batch {
		select {
		case f := <-more:
			out = append(out, f)
		default:
			return out
		}
	}
	return out
}

func (r *runner) followOnce(next *event.Seq, frames chan<- api.Frame) error {
	for f, err := range r.o.Service.Follow(r.ctx, r.o.Session, *next, true) {
		if err != nil {
			return err
		}
		switch {
		case f.Live != nil:
			if f.Live.Result != nil {
				r.mu.Lock()
				r.result = f.Live.Result
				r.mu.Unlock()
			}
		case f.Record == nil:
			rec, err := event.Parse(f.Line)
			if err != nil {
				return fmt.Errorf("a record could not be read: %w", err)
			}
			f.Record = &rec
			fallthrough
		default:
			*next = f.Record.Seq + 1
		}
		select {
		case frames <- f:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
	return nil
}

// stops says why the face must stop: a failure, a signal, or ctx's end. A
// SIGINT is none: it goes through the chat's own rule.
func (r *runner) stops(f failure, sig os.Signal) outcome {
	switch {
	case f.panic != nil:
		return outcome{code: 1, reason: "SYSTEM_SHUTDOWN", err: crash(f)}
	case f.lost != nil:
		return outcome{code: 129, reason: "SYSTEM_SHUTDOWN", mute: true}
	case sig == syscall.SIGHUP:
		return outcome{code: 129, reason: "SYSTEM_SHUTDOWN", mute: true}
	case sig != nil:
		return outcome{code: 143, reason: "SYSTEM_SHUTDOWN"}
	}
	return outcome{code: 1, err: r.ctx.Err()}
}

func crash(f failure) error {
	return fmt.Errorf("the chat broke (%v); the session is whole: open it again with `ripcord resume`\n%s", f.panic, clean(string(f.stack)))
}

// left is the outcome of a person's leaving.
func left(code int) outcome {
	return outcome{code: code, reason: "USER_SIGINT", force: code != 0}
}

// close interrupts what runs and releases the session, within [Closing]. A
// release that takes long is helped by force.
func (r *runner) close(out outcome) {
	if r.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, Closing-2*flushTime)
	defer cancel()
	done := make(chan struct{})
	r.start(func() {
		defer close(done)
		req := api.InterruptRequest{Session: r.o.Session, Reason: out.reason, Who: who, Force: out.force, KeepInbox: true}
		if _, err := r.o.Service.Interrupt(ctx, req); err == nil || ctx.Err() == nil {
			_ = r.o.Service.Release(ctx, r.o.Session) // the caller's own release tells
		}
	})
	push := time.NewTimer(Closing / 2)
	defer push.Stop()
	word := time.NewTimer(300 * time.Millisecond)
	defer word.Stop()
	sigs := r.o.Signals
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case _, ok := <-sigs:
			if !ok {
				sigs = nil
				continue
			}
		case <-word.C:
			r.tell("interrupting what runs; Ctrl+C kills it now")
			continue
		case <-push.C:
		}
		r.start(func() {
			req := api.InterruptRequest{Session: r.o.Session, Reason: out.reason, Who: who, Force: true, KeepInbox: true}
			_, _ = r.o.Service.Interrupt(ctx, req)
		})
	}
}

// tell writes a line where the face was, if anything is there to read it.
func (r *runner) tell(line string) {
	if r.farewell != nil {
		r.farewell(line)
	}
}

// settle waits for Run's goroutines, but not for a service that ignores its
// context.
func (r *runner) settle() {
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(flushTime):
	}
}
