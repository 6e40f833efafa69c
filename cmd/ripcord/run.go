package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
)

// turnFlags are what run and continue have in common.
type turnFlags struct {
	output    string
	timeout   time.Duration
	yes       bool
	dropQueue bool
	drain     bool
	plan      bool
}

func (t *turnFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.output, "output", "text", "what stdout carries: text, json or stream-json")
	f.DurationVar(&t.timeout, "timeout", 0, "interrupt the turn after this long (exit 124)")
	f.BoolVar(&t.yes, "yes", false, "run every tool call without asking (dangerous)")
	f.BoolVar(&t.dropQueue, "drop-queue", false, "an interrupt also drops waiting input instead of holding it")
	f.BoolVar(&t.plan, "plan", false, "plan mode: look and plan, change nothing; it holds until a plan is approved")
	f.BoolVar(&t.drain, "drain", false, "go on with waiting input, turn after turn, while turns complete")
}

// job is one turn to be run.
type job struct {
	turnFlags
	format format
	open   api.OpenRequest
	find   string                                    // a session as a person names it; empty: open says which
	prompt func(ctx context.Context) (string, error) // nil: none is read
	begin  func(ctx context.Context, svc api.Service, s api.SessionState, text string) (api.Submitted, error)
}

func runCmd(a *app) *cobra.Command {
	var t turnFlags
	var latest bool
	var session string
	cmd := &cobra.Command{
		Use:   "run [PROMPT] [-]",
		Short: "Run one turn and exit",
		Long: `Run one turn and exit. Stdout carries the answer and nothing else, all else
goes to stderr. With - the prompt, or the rest of it, is read from stdin;
without any argument it is read from stdin if that is no terminal.

Calls that need approval are denied unless --yes is given: the turn is then
blocked and the exit code is 5. An interrupted run still prints its result.`,
		Example: `  ripcord run "explain main.go"
  git diff | ripcord run "review this:" -
  ripcord run --continue "and now the tests" --output json
  ripcord run "fix the build" --yes --timeout 10m`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			j := job{turnFlags: t, find: session, open: api.OpenRequest{Latest: latest}, begin: t.submit}
			if latest && session != "" {
				return usagef("give one of them", "--continue and --session both name a session")
			}
			if session == "" && cmd.Flags().Changed("session") { // it would be a new one
				return usagef("leave --session out for a new one; `ripcord sessions list` shows what there is", "--session names no session")
			}
			var err error
			if j.prompt, err = a.promptOf(args); err != nil {
				return err
			}
			return a.turn(cmd.Context(), j)
		},
	}
	t.register(cmd)
	cmd.Flags().BoolVar(&latest, "continue", false, "in the newest session of this workspace")
	cmd.Flags().StringVar(&session, "session", "", "in this session")
	a.modelFlags(cmd)
	return cmd
}

func continueCmd(a *app) *cobra.Command {
	var t turnFlags
	cmd := &cobra.Command{
		Use:   "continue ID",
		Short: "Go on in a session without new input",
		Long: `Go on in a session without new input: what finished stays as it was, what is
unknown is told to the model as unknown, and nothing is run again by us.`,
		Example: `  ripcord continue s_01
  ripcord continue s_01 --output stream-json --timeout 5m`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.turn(cmd.Context(), job{turnFlags: t, find: args[0],
				begin: func(ctx context.Context, svc api.Service, s api.SessionState, _ string) (api.Submitted, error) {
					return svc.Continue(ctx, s.ID)
				}})
		},
	}
	t.register(cmd)
	a.modelFlags(cmd)
	return cmd
}

// submit hands a prompt over.
func (t *turnFlags) submit(ctx context.Context, svc api.Service, s api.SessionState, text string) (api.Submitted, error) {
	return svc.Submit(ctx, api.SubmitRequest{Session: s.ID, Input: event.UserInput{Content: event.TextOf(text)}, By: "run", Options: planOptions(t.plan)})
}

// promptOf says where the prompt comes from; it reads nothing yet.
func (a *app) promptOf(args []string) (func(context.Context) (string, error), error) {
	stdin := false
	text := ""
	switch {
	case len(args) == 0 && !isTerminal(a.stdin):
		stdin = true
	case len(args) == 0:
		return nil, usagef("write `ripcord run \"…\"` or pipe the prompt in", "there is no prompt")
	case len(args) == 1 && args[0] == "-":
		stdin = true
	case len(args) == 2 && args[1] == "-":
		stdin, text = true, args[0]
	case len(args) == 2:
		return nil, usagef("put the prompt in quotes", "there is more than one prompt")
	default:
		text = args[0]
	}
	return func(ctx context.Context) (string, error) {
		if stdin {
			in, err := readStdin(ctx, a.stdin)
			if err != nil {
				return "", err
			}
			text = strings.TrimSpace(text + "\n\n" + in)
		}
		if strings.TrimSpace(text) == "" {
			return "", usagef("write `ripcord run \"…\"` or pipe the prompt in", "the prompt is empty")
		}
		return text, nil
	}, nil
}

const maxPrompt = 8 << 20 // bytes

// readStdin reads all of stdin, bounded, unless ctx ends first.
func readStdin(ctx context.Context, in io.Reader) (string, error) {
	type read struct {
		b   []byte
		err error
	}
	got := make(chan read, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
		got <- read{b, err}
	}()
	select {
	case <-ctx.Done():
		return "", errStopped
	case r := <-got:
		if r.err != nil {
			return "", usagef("pipe the prompt in or write it as an argument", "stdin cannot be read: %v", r.err)
		}
		if len(r.b) > maxPrompt {
			return "", usagef("put it in a file and name that", "the prompt on stdin is over 8 MiB")
		}
		return strings.ToValidUTF8(string(r.b), "\uFFFD"), nil
	}
}

// turn runs j and reports on it in the one way there is.
func (a *app) turn(ctx context.Context, j job) error {
	f, err := parseFormat(j.output)
	if err != nil {
		return err
	}
	j.format = f
	if j.timeout < 0 {
		return usagef("give a time such as 90s", "--timeout %s is no time", j.timeout)
	}
	o := a.attempt(ctx, j)
	if o.err != nil && o.stop == noCause && refusalCode(explain(o.err).Code) == exitUsage {
		return o.err
	}
	r := resultOf(o)
	a.report(j.format, r)
	return exitError(r.ExitCode)
}

// report writes the result: the last thing on stdout, bounded.
func (a *app) report(f format, r api.Result) {
	switch f {
	case formatJSON, formatStream:
		a.out.last(line(r), lastWrite)
	case formatText:
		if r.Text != "" {
			a.out.last(a.words(r.Text), lastWrite)
		}
		a.lastNote(facts(r) + "\n")
	}
}

// reportPassed writes what came of a turn that another follows: the result
// object is the last one's.
func (a *app) reportPassed(f format, r api.Result) {
	r = resultOf(outcome{result: &r})
	switch f {
	case formatJSON:
	case formatStream:
		r.Kind = "turn" // there is one object of the type result
		a.out.write(line(passedLine{Live: "state", State: "ended", Turn: *r.Turn, Result: r}))
	case formatText:
		if r.Text != "" {
			a.out.write(a.words(r.Text))
		}
		a.note(facts(r) + "\n")
	}
}

// passedLine is a live frame (IFC-03) with the result of a turn that is not the
// last.
type passedLine struct {
	Live   string     `json:"live"`
	State  string     `json:"state"`
	Turn   int        `json:"turn"`
	Result api.Result `json:"result"`
}

// words is a model's text as stdout takes it.
func (a *app) words(text string) []byte {
	return []byte(strings.TrimSuffix(a.forOut(text), "\n") + "\n")
}

// forOut is others' text as stdout takes it: it drives no terminal.
func (a *app) forOut(text string) string {
	if f, isFile := a.out.w.(*os.File); isFile && isTerminal(f) {
		return harmless(text)
	}
	return text
}

// attempt does everything between the command line and the result. Whatever
// stops it, its outcome says so.
func (a *app) attempt(ctx context.Context, j job) outcome {
	before, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the attempt: cancel is deferred above
		select {
		case <-a.stops.first:
			cancel()
		case <-before.Done():
		}
	}()
	refuse := func(err error) outcome { return outcome{session: j.open.ID, err: err, stop: a.stops.cause()} }
	if j.find != "" {
		id, err := a.goOn(before, j.find)
		if err != nil {
			return refuse(err)
		}
		j.open.ID = id
	}
	cwd, err := a.workspace()
	if err != nil {
		return refuse(err)
	}
	set, err := a.settings(cwd, false)
	if err != nil {
		return refuse(err)
	}
	if j.timeout == 0 {
		j.timeout = set.Timeout
	}
	defer a.stops.limit(j.timeout)()
	text := ""
	if j.prompt != nil {
		if text, err = j.prompt(before); err != nil {
			return refuse(err)
		}
	}
	e, err := a.wire(before, a, need{model: true, yes: j.yes})
	if err != nil {
		return refuse(err)
	}
	if e.model != "" {
		a.say("model %s", e.model)
	}
	if j.yes {
		a.say(allNow)
	}
	j.open.Cwd = cwd
	o := a.drive(ctx, e, j, text)
	if o.session == "" { // it was named, though it could not be opened
		o.session = j.open.ID
	}
	if !o.leftOpen {
		a.closeBooks(e)
	}
	return o
}

// drive runs the turn itself and what is shown of it: for stream-json all, else
// what a person is to be warned of.
func (a *app) drive(ctx context.Context, e *engine, j job, text string) outcome {
	shows := make(chan *follower, 1)
	d := &driver{
		svc: e.svc, stops: a.stops, bounds: usualBounds().with(e.ending), keepInbox: !j.dropQueue, drain: j.drain,
		open: func(ctx context.Context) (api.SessionState, error) { return e.svc.Open(ctx, j.open) },
		begin: func(ctx context.Context, s api.SessionState) (api.Submitted, error) {
			return j.begin(ctx, e.svc, s, text)
		},
		passed: func(r api.Result) { a.reportPassed(j.format, r) },
		opened: func(s api.SessionState) {
			a.sayRecovered(s.Recovered)
			from, show := s.Seq+1, a.warner(e.wakes)
			if j.format == formatStream {
				show = a.streamed
				if j.open.ID == "" && !j.open.Latest {
					from = 0
				}
			}
			shows <- followTo(ctx, e.svc, show, s.ID, from)
		},
	}
	o := d.run(ctx)
	turn := 0
	if o.result != nil && o.result.Turn != nil {
		turn = *o.result.Turn
	}
	select {
	case shown := <-shows:
		bounded, cancel := context.WithTimeout(ctx, lastWrite)
		defer cancel()
		shown.finish(bounded, turn)
	default: // nothing is shown
	}
	if r := o.result; r != nil && r.Error == nil && r.Reason != nil && *r.Reason == nobodyThere {
		r.Error = unasked(ctx, e.svc, o.session, turn)
	}
	return o
}

// nobodyThere is why a turn is blocked whose call needs approval that nobody can
// give.
const nobodyThere = "policy:headless"

// unasked says what such a turn wanted to do, as far as its journal says it in
// time, and what to do about it.
func unasked(ctx context.Context, svc api.Service, id event.SessionID, turn int) *api.ErrorInfo {
	ctx, cancel := context.WithTimeout(ctx, lastWrite)
	defer cancel()
	what := "one of its calls"
	calls := map[event.CallID]event.CallRequested{}
	for f, err := range svc.Records(ctx, id, 0) {
		if err != nil {
			break
		}
		if f.Record.Turn != turn {
			continue
		}
		switch b, _ := f.Record.Body(); b := b.(type) {
		case event.CallRequested:
			calls[f.Record.Call] = b
		case event.CallDenied:
			if c, known := calls[f.Record.Call]; known && b.By == nobodyThere {
				what = c.Name + " " + clip(string(c.Args), 100)
			}
		default: // not about what was asked
		}
	}
	return &api.ErrorInfo{Code: string(event.FailBlocked), Message: what + " needs approval and nobody is there to give it, so it did not run",
		Hint: "give --yes, or an allowing rule in the settings: `ripcord config show --origin`"}
}

// sayRecovered tells what opening had to mend.
func (a *app) sayRecovered(r *api.Recovery) {
	if r == nil {
		return
	}
	if r.Torn > 0 {
		a.say("%d bytes behind the last whole record were no records; they were set aside in %s", r.Torn, r.File)
	}
	if r.Turn > 0 {
		a.say("turn %d was cut off by a crash and is now closed; nothing of it was run again", r.Turn)
	}
}

// closeBooks ends the runtime: jobs that are not kept, books, locks. A second
// signal does not wait for it.
func (a *app) closeBooks(e *engine) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second+e.closing)
	defer cancel()
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-a.stops.hurry:
			cancel()
		case <-stop:
		}
	}()
	err := e.close(ctx)
	close(stop)
	<-watched
	if err != nil && !errors.Is(err, context.Canceled) {
		a.lastNote(sentence("closing: %v", err))
	}
}

// isTerminal reports whether f is one.
func isTerminal(f *os.File) bool { return term.IsTerminal(f.Fd()) }

// planOptions asks for plan mode from this input on.
func planOptions(plan bool) (o event.SubmitOptions) {
	if plan {
		o.Attributes = map[string]json.RawMessage{gate.ModeAttribute: json.RawMessage(`"` + gate.ModePlan + `"`)}
	}
	return o
}
