package ripcord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Version is the product's version.
const Version = "0.1.0"

// Config is what a runtime is made of. Store must be set; every other field's
// zero value means something.
type Config struct {
	Store  journal.Store // required
	Model  model.Model   // nil: sessions can be read, turns are refused
	Tools  []tool.Tool
	Gate   gate.Gate // nil: [gate.Rules], which asks a person
	Host   proc.Host // nil: processes that a crash left behind are not looked for
	System string    // system text
	Params event.ModelParams
	// Hooks run at the points of a session's life; nil: none.
	Hooks gate.Hooks
	// Alone says that nobody is there who could answer a question.
	Alone bool
	// OneTurn says that what waits when a turn ends is held, in sessions that
	// are no sub-agent's, but for what the turn made way for: a turn is wanted,
	// not what other people have queued behind it.
	OneTurn bool
	// Processes lists what this runtime runs for all its sessions, such as
	// servers of tools, with its owner in Command; nil: nothing. They are shown
	// among the jobs of each root session that is live.
	Processes func() []api.JobInfo
	// Keepers hear of each session's life.
	Keepers []Keeper
	Logger  *slog.Logger // nil: discarded
	Limits  Limits
	// Guards judge whether a turn gets anywhere. The zero value has all of them
	// at work with their defaults.
	Guards turn.Guards
}

// Limits bound turns and waits. Zero fields get the defaults.
type Limits struct {
	MaxSteps  int           // of a turn; 0 means 200
	MaxCalls  int           // of a turn; 0 means no bound
	MaxTokens int64         // of a turn, input and output together; 0 means no bound
	MaxWall   time.Duration // of a turn; 0 means no bound
	MaxCost   float64       // of a turn, US dollars; 0 means no bound
	Session   guard.Budget  // of all turns of a session together; zero fields are no bound
	Price     turn.Price    // of the model's tokens; zero: no cost is counted
	Context   int           // tokens that the model takes; 0: not known, a summary is made when the provider refuses
	CompactAt float64       // part of Context from which on a summary is made; 0 means 0.8
	Attempts  int           // of a step at the model; 0 means 4
	Backoff   time.Duration // first wait between attempts; 0 means 500 ms
	Grace     time.Duration // for the turn's own goroutines after a stop; 0 means 100 ms
	ToolBound time.Duration // for a call after a stop, then quarantine; 0 means 30 s
	Idle      time.Duration // silence of a model; 0 means 5 min
	Parallel  int           // calls side by side; 0 means 8
	JobGrace  time.Duration // between TERM and KILL when jobs end; 0 means 2 s
	NoMarker  bool          // leave out the message that tells a model that its turn was stopped
	NoEager   bool          // calls start once the whole answer is there, not while it streams

	Agents      int // sub-agents at work for a root session at once; 0 means 8, negative none
	AgentsTotal int // started in a turn of the root session, at any depth; 0 means 64
	AgentDepth  int // levels below the root session; 0 means 3
}

// Runtime joins the rooms and keeps the live sessions. It implements
// [api.Service]; all methods may be called from any goroutine.
type Runtime struct {
	cfg   Config
	tools *tool.Set
	log   *slog.Logger

	mu     sync.Mutex
	agents agents
	live   map[event.SessionID]*session.Live
	busy   map[event.SessionID]chan struct{} // being opened or closed now; closed when that is over
	closed bool
}

var _ api.Service = (*Runtime)(nil)

// New returns a runtime. It opens nothing yet and starts no goroutine.
func New(cfg Config) (*Runtime, error) {
	if cfg.Store == nil {
		return nil, errors.New("ripcord: Config.Store is nil: give journal/file's store, or journal/mem's for tests")
	}
	set, err := tool.NewSet(cfg.Tools...)
	if err != nil {
		return nil, fmt.Errorf("ripcord: %w", err)
	}
	if cfg.Gate == nil {
		cfg.Gate = gate.Rules{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	for p, n := range map[*int]int{&cfg.Limits.MaxSteps: 200, &cfg.Limits.Agents: 8, &cfg.Limits.AgentsTotal: 64, &cfg.Limits.AgentDepth: 3} {
		if *p == 0 {
			*p = n
		}
	}
	return &Runtime{cfg: cfg, tools: set, log: cfg.Logger, agents: newAgents(),
		live: map[event.SessionID]*session.Live{}, busy: map[event.SessionID]chan struct{}{}}, nil
}

// Close interrupts every turn with SYSTEM_SHUTDOWN, closes the books, ends the
// jobs that are not kept and gives all sessions up. ctx bounds it; what has not
// ended by then is left to recovery, and the error says so.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	var ids []event.SessionID
	for id := range r.live {
		if r.agents.find(id) == nil { // a sub-agent ends before the session that started it
			ids = append(ids, id)
		}
	}
	for id := range r.busy {
		if r.live[id] == nil && r.agents.find(id) == nil {
			ids = append(ids, id) // on its way: it is closed once it is there
		}
	}
	r.mu.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(ids))
	for i, id := range ids {
		wg.Go(func() { errs[i] = r.release(ctx, id, interrupt.SystemShutdown) })
	}
	wg.Wait()
	watchers := make(chan struct{})
	go func() { r.agents.work.Wait(); close(watchers) }() // ends when the last sub-agent does
	select {
	case <-watchers:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("sub-agents have not ended: %w", context.Cause(ctx)))
	}
	return errors.Join(errs...)
}

// hold keeps everybody else from opening or closing session id until done is
// called; who came first is waited for.
func (r *Runtime) hold(ctx context.Context, id event.SessionID) (done func(), err error) {
	for {
		r.mu.Lock()
		first := r.busy[id]
		if first == nil {
			mine := make(chan struct{})
			r.busy[id] = mine
			r.mu.Unlock()
			return func() {
				r.mu.Lock()
				delete(r.busy, id)
				r.mu.Unlock()
				close(mine)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-first:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Run is the short form for programs: it submits text to a session and returns
// the result of its turn. The turn belongs to ctx: when ctx ends, it is stopped
// with PARENT_CANCELLED, its books are closed, and the result says so. Where the
// turn reached another end first, or had not begun and now never does, the error
// is ctx's cause.
func (r *Runtime) Run(ctx context.Context, id event.SessionID, text string) (api.Result, error) {
	l, err := r.get(id)
	if err != nil {
		return api.Result{}, err
	}
	in := session.Input{Input: event.UserInput{Content: event.TextOf(text)}, Caller: ctx}
	// The acceptance must not be cut in half by the caller's end: it is short.
	accept, done := interrupt.Cleanup(ctx, 30*time.Second)
	defer done()
	input, err := l.Submit(accept, in)
	if err != nil {
		return api.Result{}, toError(err)
	}
	sum, err := r.attend(ctx, l, input)
	if err != nil {
		return api.Result{}, err
	}
	res := resultOf(id, sum)
	if cause := context.Cause(ctx); cause != nil && sum.Outcome != event.TurnAborted {
		return res, cause // the caller asked to stop and the turn reached another end first
	}
	return res, nil
}

// attend waits for the turn of input as its caller. When ctx ends first, input
// that still waits is taken back; a turn that runs is being stopped, and its own
// end is waited for: it comes within the bounds.
func (r *Runtime) attend(ctx context.Context, l *session.Live, input event.InputID) (turn.Summary, error) {
	sum, err := l.Wait(ctx, input)
	if err == nil || ctx.Err() == nil {
		return sum, toError(err)
	}
	wait, stop := interrupt.CallContext(ctx)
	defer stop()
	if l.Withdraw(wait, input, "caller") == nil {
		return turn.Summary{}, context.Cause(ctx)
	}
	sum, err = l.Wait(wait, input)
	return sum, toError(err)
}

func (r *Runtime) get(id event.SessionID) (*session.Live, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.live[id]; l != nil {
		return l, nil
	}
	return nil, &api.Error{Code: "not_found", Message: fmt.Sprintf("session %s is not live here", id), Hint: "open it first"}
}

// options are what the turns of a session with these tools are made of.
func (r *Runtime) options(tools *tool.Set) turn.Options {
	l := r.cfg.Limits
	o := turn.Options{
		Budget:   guard.Budget{Steps: l.MaxSteps, Calls: l.MaxCalls, Tokens: l.MaxTokens, Wall: l.MaxWall},
		Attempts: l.Attempts, Backoff: l.Backoff, Grace: l.Grace, Parallel: l.Parallel, NoMarker: l.NoMarker, NoEager: l.NoEager,
		Tools: map[string]turn.Traits{},
	}
	for _, name := range tools.Names() {
		t, _ := tools.Lookup(name)
		o.Tools[name] = turn.Traits{Concurrent: tool.Parallel(t), Waits: t.Spec().Waits}
	}
	o.Budget.Cost, o.Session, o.Price = l.MaxCost, l.Session, l.Price
	o.Context, o.CompactAt, o.Guards = l.Context, l.CompactAt, r.cfg.Guards
	o.Config = event.ModelConfig{Params: r.cfg.Params, System: r.cfg.System, Tools: tools.Schemas()}
	if r.cfg.Model != nil {
		info := r.cfg.Model.Info()
		o.Config.Provider, o.Config.Model = info.Provider, info.Model
	}
	return o
}

func (r *Runtime) sessionConfig(id event.SessionID, w journal.Writer, header event.SessionOpened) session.Config {
	cfg := session.Config{
		ID: id, Header: header, Owner: proc.Self(), Writer: w, Blobs: r.cfg.Store.Blobs(id), Dir: r.cfg.Store.Dir(id),
		Model: r.cfg.Model, Tools: r.tools, Gate: r.cfg.Gate, Hooks: r.cfg.Hooks, Alone: r.cfg.Alone, Turn: r.options(r.tools), Log: r.log,
		Limits: session.Limits{Tool: r.cfg.Limits.ToolBound, Idle: r.cfg.Limits.Idle, JobGrace: r.cfg.Limits.JobGrace},
	}
	cfg.Turn.Hold = r.cfg.OneTurn // a sub-agent's options are made anew
	cfg.Needs = r.needs
	cfg.Equip = func(call *tool.Call) *tool.Call { return tool.WithAgents(call, company{r}) }
	return cfg
}

// workspace is cwd as tools see it: absolute and resolved.
func workspace(cwd string) (string, error) {
	if cwd == "" {
		return "", nil
	}
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
