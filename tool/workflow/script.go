package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/ripcord-go/ripcord/tool"
)

// A script is wrapped so that it may await and return at its top level.
const (
	scriptName = "script.js"
	before     = "(async function () {\n" // one line: positions are one line off
	after      = "\n})()"
)

// mostPending is how many steps a script may wait for at a time.
const mostPending = 256

// mostFrames is how many places of a stack are kept for a step.
const mostFrames = 10

// mostMessage bounds what is said of an exception, in bytes.
const mostMessage = 8 << 10

// prelude is what is easier said in the script's own language. It is given the
// originals before a script can replace them.
const prelude = `(function (global, all, from) {
	global.parallel = function parallel(list) {
		return all(from(list, function (x) { return typeof x === "function" ? x() : x }))
	}
	global.console = { log: global.log, info: global.log, warn: global.log, error: global.log }
})(globalThis, Promise.all.bind(Promise), Array.from)`

// script is one run. All but take and interrupt belongs to the goroutine that
// runs it.
type script struct {
	vm    *goja.Runtime
	out   *port
	first frame

	results chan frame // of steps; has room for all that may be waited for
	woken   chan func()
	stop    chan struct{} // closed by interrupt

	stringify, parse goja.Callable
	errorOf          goja.Value // the constructor
	lines            int        // of the script
	asked            int
	pending          map[int]waiter
	sleeping         int
	unheard          map[*goja.Promise]bool // rejected, and nobody listens
}

// waiter is what a step's promise is settled with.
type waiter struct {
	resolve, reject func(any) error
	name            string
	throws          bool
	at              string // the places that led to the call, as frames of a stack
}

func newScript(out *port, first frame) *script {
	return &script{vm: goja.New(), out: out, first: first, results: make(chan frame, mostPending), woken: make(chan func()),
		stop: make(chan struct{}), pending: map[int]waiter{}, unheard: map[*goja.Promise]bool{},
		lines: 1 + strings.Count(first.Script, "\n")}
}

// take gets a frame of the runtime; it is called by one goroutine.
func (s *script) take(f frame) {
	switch f.Kind {
	case kindResult:
		select {
		case s.results <- f:
		case <-s.stop:
		}
	case kindStop:
		s.interrupt()
	case kindRun, kindReady, kindCall, kindEnd:
	}
}

// interrupt ends the script at its next instruction. It may be called again,
// by the goroutine that reads.
func (s *script) interrupt() {
	select {
	case <-s.stop:
	default:
		close(s.stop)
		s.vm.Interrupt(howInterrupted)
	}
}

// run runs the script to its end, says it, and returns the exit code.
func (s *script) run() int {
	if err := s.setUp(); err != nil {
		return s.failed(err)
	}
	program, err := goja.Compile(scriptName, before+s.first.Script+after, false)
	if err != nil {
		s.out.end(howSyntax, "", s.syntax(err))
		return exitFailed
	}
	v, err := s.vm.RunProgram(program)
	if err != nil {
		return s.failed(err)
	}
	main, ok := v.Export().(*goja.Promise)
	if !ok {
		s.out.end(howSyntax, "", "SyntaxError: the script closes a bracket that it did not open")
		return exitFailed
	}
	if err := s.turn(main); err != nil {
		return s.failed(err)
	}
	return s.finish(main)
}

// turn hands results and timers to the script until it has ended and no step
// of it runs.
func (s *script) turn(main *goja.Promise) error {
	for {
		open := main.State() == goja.PromiseStatePending
		if len(s.pending) == 0 && (!open || s.sleeping == 0) {
			if open {
				return errStuck
			}
			return nil
		}
		var err error
		select {
		case <-s.stop:
			return errStopped
		case f := <-s.results:
			err = s.settle(f)
		case wake := <-s.woken:
			s.sleeping--
			err = s.guard(wake)
		}
		if err != nil {
			return err
		}
	}
}

var (
	errStuck   = errors.New("the script waits for something that never comes")
	errStopped = errors.New("the script was interrupted")
)

// guard runs f, which goes into the script, and returns what no script can
// catch.
func (s *script) guard(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = p
		default:
			err = fmt.Errorf("%v", p)
		}
	}()
	f()
	return nil
}

// settle ends the wait for a step.
func (s *script) settle(f frame) error {
	w, ok := s.pending[f.ID]
	if !ok {
		return nil
	}
	delete(s.pending, f.ID)
	if f.Result == nil {
		return w.reject(s.errorAt(w, f.Error))
	}
	raw, err := json.Marshal(f.Result)
	if err != nil {
		return w.reject(s.newError(err.Error()))
	}
	v, err := s.parse(goja.Undefined(), s.vm.ToValue(string(raw)))
	if err != nil {
		return err
	}
	if w.throws && !f.Result.Success {
		e := s.errorAt(w, fmt.Sprintf("%s did not succeed (%s): %s", w.name, f.Result.Outcome, f.Result.Text))
		if err := e.Set("result", v); err != nil {
			return err
		}
		return w.reject(e)
	}
	return w.resolve(v)
}

// newError is an error as the script's own code would make it.
func (s *script) newError(message string) *goja.Object {
	e, err := s.vm.New(s.errorOf, s.vm.ToValue(message))
	s.must(err)
	return e
}

// errorAt is an error that comes from where the step was asked for.
func (s *script) errorAt(w waiter, message string) *goja.Object {
	e := s.newError(message)
	s.must(e.Set("stack", "Error: "+message+w.at))
	return e
}

// setUp gives the script what it has.
func (s *script) setUp() error {
	s.vm.SetMaxCallStackSize(mostDepth)
	s.vm.SetPromiseRejectionTracker(func(p *goja.Promise, op goja.PromiseRejectionOperation) {
		switch op {
		case goja.PromiseRejectionReject:
			s.unheard[p] = true
		case goja.PromiseRejectionHandle:
			delete(s.unheard, p)
		}
	})
	s.errorOf = s.vm.Get("Error")
	of := s.vm.Get("JSON").ToObject(s.vm)
	s.stringify, _ = goja.AssertFunction(of.Get("stringify"))
	s.parse, _ = goja.AssertFunction(of.Get("parse"))
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{"tool": s.tool, "log": s.log, "sleep": s.sleep} {
		if err := s.vm.Set(name, f); err != nil {
			return err
		}
	}
	args := goja.Undefined()
	if len(s.first.Args) > 0 {
		v, err := s.parse(goja.Undefined(), s.vm.ToValue(string(s.first.Args)))
		if err != nil {
			return err
		}
		args = v
	}
	if err := s.vm.Set("args", args); err != nil {
		return err
	}
	_, err := s.vm.RunScript("prelude", prelude)
	return err
}

// tool asks for a step: tool(name, args, {throws: true}).
func (s *script) tool(c goja.FunctionCall) goja.Value {
	p, resolve, reject := s.vm.NewPromise()
	refuse := func(why string) goja.Value {
		s.must(reject(s.newError(why)))
		return s.vm.ToValue(p)
	}
	if !goja.IsString(c.Argument(0)) {
		return refuse("tool() wants the name of a tool, then an object of arguments")
	}
	args := json.RawMessage("{}")
	if v := c.Argument(1); !goja.IsUndefined(v) && !goja.IsNull(v) {
		text, err := s.stringify(goja.Undefined(), v)
		if err != nil {
			s.must(err)
		}
		if args = json.RawMessage(text.String()); len(args) == 0 || args[0] != '{' {
			return refuse("tool() wants the arguments as an object")
		}
	}
	if len(args) > mostFrame/4 {
		return refuse(fmt.Sprintf("the arguments of a step are %d bytes long, at most %d are sent", len(args), mostFrame/4))
	}
	if len(s.pending) >= mostPending {
		return refuse(fmt.Sprintf("%d steps are being waited for; await some before you ask for more", mostPending))
	}
	s.asked++
	w := waiter{resolve: resolve, reject: reject, name: c.Argument(0).String(), at: s.frames()}
	if o := c.Argument(2); !goja.IsUndefined(o) && !goja.IsNull(o) {
		v := o.ToObject(s.vm).Get("throws")
		w.throws = v != nil && v.ToBoolean()
	}
	s.pending[s.asked] = w
	if err := s.out.send(frame{Kind: kindCall, ID: s.asked, Name: c.Argument(0).String(), Args: args}); err != nil {
		delete(s.pending, s.asked)
		return refuse(err.Error())
	}
	return s.vm.ToValue(p)
}

// frames are the places that led here, as an error's stack shows them.
func (s *script) frames() string {
	var b bytes.Buffer
	for _, f := range s.vm.CaptureCallStack(mostFrames, nil) {
		b.WriteString("\n\tat ")
		f.Write(&b)
	}
	return b.String()
}

// must throws what a callable returned as an error: an exception stays one,
// what no script can catch goes on.
func (s *script) must(err error) {
	var e *goja.Exception
	switch {
	case err == nil:
	case errors.As(err, &e):
		panic(e.Value())
	default:
		panic(err)
	}
}

func (s *script) log(c goja.FunctionCall) goja.Value {
	words := make([]string, len(c.Arguments))
	for i, v := range c.Arguments {
		words[i] = s.text(v)
	}
	fmt.Fprintln(os.Stderr, strings.Join(words, " "))
	return goja.Undefined()
}

// text is v for people: a string as it is, else JSON, else whatever it says it
// is.
func (s *script) text(v goja.Value) string {
	if goja.IsString(v) {
		return v.String()
	}
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		return v.String()
	}
	out, err := s.stringify(goja.Undefined(), v)
	var e *goja.Exception
	switch {
	case errors.As(err, &e) || err == nil && goja.IsUndefined(out):
		return v.String()
	case err != nil:
		panic(err)
	}
	return out.String()
}

// sleep is a promise that is kept after some milliseconds.
func (s *script) sleep(c goja.FunctionCall) goja.Value {
	p, resolve, _ := s.vm.NewPromise()
	s.sleeping++
	ms := min(max(c.Argument(0).ToInteger(), 0), int64(24*time.Hour/time.Millisecond))
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
		select {
		case s.woken <- func() { s.must(resolve(goja.Undefined())) }:
		case <-s.stop:
		}
	})
	return s.vm.ToValue(p)
}

// finish prints what the script came to.
func (s *script) finish(main *goja.Promise) int {
	h, text := howReturned, ""
	err := s.guard(func() {
		if main.State() == goja.PromiseStateRejected {
			h, text = howThrew, "exception: "+s.exception(main.Result())
			return
		}
		text = s.returned(main.Result())
		if len(s.unheard) > 0 && !s.unheard[main] {
			for p := range s.unheard {
				text = "a promise was rejected and nothing awaited it: " + s.exception(p.Result()) + "\n" + text
				break
			}
		}
	})
	if err != nil {
		return s.failed(err)
	}
	s.out.end(h, text, "")
	if h != howReturned {
		return exitFailed
	}
	return exitReturned
}

func (s *script) returned(v goja.Value) string {
	switch {
	case goja.IsUndefined(v):
		return "it returned nothing"
	case goja.IsString(v):
		text, _ := tool.Bounded(v.String(), s.first.Limits.Value)
		return "it returned:\n" + text
	}
	out, err := s.stringify(goja.Undefined(), v)
	if err != nil {
		var e *goja.Exception
		if !errors.As(err, &e) {
			panic(err)
		}
		return "what it returned cannot be written as JSON: " + s.exception(e.Value())
	}
	text, _ := tool.Bounded(out.String(), s.first.Limits.Value)
	return "it returned:\n" + text
}

// exception is a thrown value with its stack, in the script's own terms.
func (s *script) exception(v goja.Value) string {
	text := ""
	if o, ok := v.(*goja.Object); ok {
		if stack := o.Get("stack"); stack != nil && goja.IsString(stack) {
			text = stack.String()
		}
	}
	if text == "" {
		text = s.text(v)
	}
	return s.own(text)
}

// failed says what ended the script from outside of it.
func (s *script) failed(err error) int {
	var e *goja.Exception
	var deep *goja.StackOverflowError
	var stopped *goja.InterruptedError
	switch {
	case errors.Is(err, errStopped), errors.As(err, &stopped):
		s.out.end(howInterrupted, "", "")
	case errors.Is(err, errStuck):
		s.out.end(howStuck, "", "")
	case errors.As(err, &deep):
		s.out.end(howDeep, "", "")
	case errors.As(err, &e):
		s.out.end(howThrew, "exception: "+s.own(e.String()), "")
	default:
		s.out.end(howThrew, "exception: "+s.own(err.Error()), "")
	}
	return exitFailed
}

// own puts positions into the script's own lines, and leaves out frames that
// are none of its.
func (s *script) own(text string) string {
	place := placed()
	var b strings.Builder
	for line := range strings.Lines(text) {
		m := place.FindStringSubmatch(line)
		frame := strings.HasPrefix(line, "\tat ")
		if frame && (m == nil || s.outside(m[1])) {
			continue
		}
		b.WriteString(place.ReplaceAllStringFunc(line, func(at string) string {
			m := place.FindStringSubmatch(at)
			return s.where(m[1], m[2])
		}))
	}
	out, _ := tool.Bounded(strings.TrimRight(b.String(), "\n"), mostMessage)
	return out
}

// placed matches a position as the engine writes it.
func placed() *regexp.Regexp {
	return regexp.MustCompile(scriptName + `:? ?(?:Line )?(\d+):(\d+)(?:\(\d+\))?`)
}

// outside reports whether a line, counted with what the script is wrapped in,
// is part of that.
func (s *script) outside(line string) bool {
	n, _ := strconv.Atoi(line) // it matched \d+
	return n-1 < 1 || n-1 > s.lines
}

func (s *script) where(line, column string) string {
	n, _ := strconv.Atoi(line)
	return fmt.Sprintf("line %d, column %s", min(max(n-1, 1), s.lines), column)
}

// syntax says what is no script about it, and where.
func (s *script) syntax(err error) string {
	text := err.Error()
	if m := placed().FindStringSubmatch(text); m != nil {
		text = strings.Join(strings.Fields(strings.Replace(text, m[0], "", 1)), " ") + " (" + s.where(m[1], m[2]) + ")"
	}
	out, _ := tool.Bounded(text, mostMessage)
	return out
}
