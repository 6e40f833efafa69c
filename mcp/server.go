package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// State is where a server is in its life.
type State string

const (
	Connecting State = "connecting" // started, not ready
	Ready      State = "ready"      // its tools can be called
	Waiting    State = "waiting"    // ended, will be started again
	Failed     State = "failed"     // could not be started; Restart tries again
	Down       State = "down"       // ended too often; Restart tries again
	Disabled   State = "disabled"   // by its configuration
	Closed     State = "closed"     // with its manager
)

// askedVersion is what initialize is sent with; a server that does not know it
// answers with one that it knows.
const askedVersion = "2025-11-25"

// condition is all that changes about a server.
type condition struct {
	state    State
	why      string // one sentence, for people
	conn     *conn  // Ready: its connection
	offers   []offer
	leftOut  []string // tools that cannot be offered, with the reason
	calls    string   // how the server calls itself
	protocol string
	restarts int
	changed  bool // its list of tools is not the one that it began with
	silent   int  // calls in a row during which it said nothing
}

// server is one server and its supervisor.
type server struct {
	cfg    Server
	o      *Options
	log    *slog.Logger
	tally  tally
	errs   ring
	life   context.Context
	tokens atomic.Int64 // numbers requests; a server never sees one twice

	ask     chan struct{} // holds at most one wish for a restart
	settled chan struct{} // closed once the first try has ended
	done    chan struct{} // closed when the supervisor has ended

	mu     sync.Mutex
	cond   condition
	moved  chan struct{} // closed at the next change
	tracks map[string]*track
}

func newServer(life context.Context, cfg Server, o *Options) *server {
	s := &server{cfg: cfg, o: o, log: o.Log.With("server", cfg.Name), errs: ring{max: stderrKept}, life: life,
		ask: make(chan struct{}, 1), settled: make(chan struct{}), done: make(chan struct{}),
		cond: condition{state: Connecting}, moved: make(chan struct{}), tracks: map[string]*track{}}
	if cfg.Disabled {
		s.cond = condition{state: Disabled, why: "it is disabled in its configuration"}
	}
	return s
}

// arrows are the changes that the picture in doc.go has.
func arrows(from State) []State {
	switch from {
	case Connecting:
		return []State{Connecting, Ready, Failed, Waiting, Down, Closed}
	case Ready:
		return []State{Ready, Waiting, Down, Connecting, Closed}
	case Waiting, Failed, Down:
		return []State{Connecting, Closed}
	case Disabled:
		return []State{Closed}
	case Closed:
	}
	return nil
}

// to is the one function that changes a server's condition.
func (s *server) to(next State, why string, change func(*condition)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(arrows(s.cond.state), next) {
		panic("mcp: no arrow from " + string(s.cond.state) + " to " + string(next))
	}
	s.cond.state, s.cond.why = next, why
	if next != Ready {
		s.cond.conn = nil
	}
	if change != nil {
		change(&s.cond)
	}
	close(s.moved)
	s.moved = make(chan struct{})
}

func (s *server) look() (c condition, moved <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = s.cond
	c.offers, c.leftOut = slices.Clone(c.offers), slices.Clone(c.leftOut)
	return c, s.moved
}

// run is the supervisor. It ends with the server's life.
func (s *server) run() {
	defer close(s.done)
	defer s.settle()
	defer s.to(Closed, "it was closed with its session", nil)
	if s.cfg.Disabled {
		s.settle()
		<-s.life.Done()
		return
	}
	var ends []time.Time // within the window
	for try := 0; ; try++ {
		how, ready, asked := s.once()
		if s.life.Err() != nil {
			return
		}
		var next time.Duration
		switch {
		case asked:
			ends = nil
		case !ready && try == 0:
			s.to(Failed, how, nil)
			s.settle()
			s.log.Warn("a server could not be used", "why", how)
			next = -1
		default:
			ends = s.recent(append(ends, time.Now()))
			if next = s.delay(len(ends)); next < 0 {
				how = fmt.Sprintf("it ended %d times within %s; the last time %s", len(ends), s.o.Restart.Window, how)
				s.to(Down, how, nil)
			} else {
				s.to(Waiting, how, nil)
			}
			s.log.Warn("a server ended", "why", how, "again_in", next)
		}
		if !s.pause(next) {
			return
		}
		if next < 0 {
			ends, try = nil, -1 // asked for: as at the start
		}
		s.to(Connecting, how, func(c *condition) { c.restarts++ })
	}
}

func (s *server) recent(ends []time.Time) []time.Time {
	return slices.DeleteFunc(ends, func(t time.Time) bool { return time.Since(t) > s.o.Restart.Window })
}

// delay is how long to wait after the n-th end within the window; negative
// means for ever.
func (s *server) delay(n int) time.Duration {
	r := s.o.Restart
	if n >= r.Times {
		return -1
	}
	d := r.First
	for range n - 1 {
		if d *= 2; d >= r.Most {
			return r.Most
		}
	}
	return d
}

// pause waits for d, or without end if it is negative, or until a restart is
// asked for; false means that the life is over.
func (s *server) pause(d time.Duration) bool {
	var over <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
	case <-s.ask:
	case <-s.life.Done():
		return false
	}
	return true
}

// settle says that the first try has ended, behind the change that tells how.
// Only the supervisor calls it.
func (s *server) settle() {
	select {
	case <-s.settled:
	default:
		close(s.settled)
	}
}

// once takes the server from its start to its end. ready says that it could be
// used in between, asked that its end was asked for.
func (s *server) once() (how string, ready, asked bool) {
	c, err := s.connect(s.life)
	if err == nil {
		select {
		case <-s.ask: // who asked meanwhile has what was asked for
		default:
		}
		s.adopt(c)
		s.settle()
	}
	if err != nil {
		return err.Error(), false, false
	}
	asked = s.watch(c)
	return s.teardown(c), true, asked
}

func (s *server) adopt(c *conn) {
	s.to(Ready, "", func(k *condition) {
		k.changed = k.offers != nil && !slices.EqualFunc(k.offers, c.offers, sameOffer)
		k.conn, k.offers, k.leftOut, k.silent = c, c.offers, c.leftOut, 0
		if r := c.session.InitializeResult(); r != nil {
			k.protocol = r.ProtocolVersion
			if r.ServerInfo != nil {
				k.calls = fmt.Sprintf("%.100s", printable(strings.TrimSpace(r.ServerInfo.Name+" "+r.ServerInfo.Version)))
			}
		}
	})
}

func sameOffer(a, b offer) bool {
	return a.name == b.name && a.words == b.words && a.readOnly == b.readOnly && string(a.schema) == string(b.schema)
}

// watch waits for the end of the connection, and has a new list made when the
// server says that it changed.
func (s *server) watch(c *conn) (asked bool) {
	for {
		select {
		case <-s.life.Done():
			c.fail("was closed with its session")
			return false
		case <-s.ask:
			c.fail("was restarted on request")
			return true
		case <-c.failed:
			return false
		case <-c.changed:
			ctx, cancel := context.WithTimeout(c.ctx, s.o.Connect)
			offers, left, err := c.list(ctx)
			cancel()
			if err != nil {
				s.log.Warn("the changed list of a server's tools could not be read", "error", s.cfg.clean(err.Error()))
				continue
			}
			s.to(Ready, "", func(k *condition) { k.offers, k.leftOut, k.changed = offers, left, true })
		}
	}
}

// conn is one connection to a server. Its goroutines are those of its wire and
// one that waits for the session's end.
type conn struct {
	server  *server
	wire    wire
	session *sdk.ClientSession
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	offers  []offer
	leftOut []string
	changed chan struct{}
	failed  chan struct{}
	over    chan struct{} // closed when nothing of it is left

	mu  sync.Mutex
	why string
	how string // how it ended, once over is closed
}

// fail says that the connection cannot be used any more; the first reason
// stays.
func (c *conn) fail(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == "" {
		c.why = why
		close(c.failed)
	}
}

func (c *conn) ending() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.how != "" {
		return c.how
	}
	return c.why
}

// connect starts the server and asks for its tools, within the bound.
func (s *server) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Connect)
	defer cancel()
	c, err := s.attempt(ctx, askedVersion)
	var refused *jsonrpc.Error
	if err != nil && errors.As(err, &refused) && ctx.Err() == nil {
		// It speaks, but not this way: the newest way begins without initialize.
		if newer, second := s.attempt(ctx, ""); second == nil {
			return newer, nil
		}
	}
	return c, err
}

func (s *server) attempt(ctx context.Context, version string) (*conn, error) {
	w, err := s.open(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, s.unready(ctx, err, "")
	case err != nil:
		return nil, err
	}
	c := &conn{server: s, wire: w, changed: make(chan struct{}, 1), failed: make(chan struct{}), over: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(s.life)
	client := sdk.NewClient(&sdk.Implementation{Name: s.o.Name, Version: s.o.Version}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progress(r.Params) },
	})
	c.session, err = client.Connect(ctx, w.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		c.cancel()
		return nil, s.unready(ctx, err, w.close())
	}
	c.wg.Go(func() {
		_ = c.session.Wait()
		c.fail("ended the connection")
	})
	if c.offers, c.leftOut, err = c.list(ctx); err != nil {
		return nil, s.unready(ctx, err, s.teardown(c))
	}
	return c, nil
}

func (s *server) open(ctx context.Context) (wire, error) {
	if s.cfg.HTTP() {
		return dial(s.cfg, s.o, &s.tally)
	}
	if s.o.Host == nil {
		return nil, errors.New("it is a process, and nothing here can start one")
	}
	return start(ctx, s.cfg, s.o, &s.tally, &s.errs)
}

// unready says why a server did not become ready.
func (s *server) unready(ctx context.Context, err error, how string) error {
	switch {
	case strings.HasPrefix(how, "exited"), strings.HasPrefix(how, "was killed"):
		return fmt.Errorf("it %s before it was ready", how)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("it was not ready within %s", s.o.Connect)
	case ctx.Err() != nil:
		return errors.New("its start was given up")
	}
	return &unreadyError{s.cfg.clean(err.Error()), err}
}

// unreadyError shows a cleaned text and keeps what is below.
type unreadyError struct {
	text string
	err  error
}

func (e *unreadyError) Error() string { return "it could not be connected: " + e.text }
func (e *unreadyError) Unwrap() error { return e.err }

// list asks for all pages of the server's tools.
func (c *conn) list(ctx context.Context) (offers []offer, left []string, err error) {
	seen := map[string]bool{}
	cursor := ""
	for range mostPages {
		page, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		for _, t := range page.Tools {
			o, err := c.server.offer(t)
			switch {
			case err != nil:
				left = append(left, fmt.Sprintf("%.100q: %v", t.Name, err))
			case seen[t.Name]:
				left = append(left, fmt.Sprintf("%.100q: it is listed twice", t.Name))
			case len(offers) == mostTools:
				return offers, append(left, fmt.Sprintf("what comes after the first %d tools", mostTools)), nil
			default:
				seen[t.Name] = true
				offers = append(offers, o)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if cursor != "" {
		left = append(left, fmt.Sprintf("what comes after %d pages of the list", mostPages))
	}
	slices.SortFunc(offers, func(a, b offer) int { return strings.Compare(a.name, b.name) })
	if offers == nil {
		offers = []offer{}
	}
	return offers, left, nil
}

// teardown ends a connection and says how the server ended.
func (s *server) teardown(c *conn) string {
	c.fail("ended the connection")
	c.cancel()
	if !s.cfg.HTTP() {
		c.wire.shut() // else the session would wait for a process that does not read
	}
	_ = c.session.Close() // what it could say, how says better
	how := c.wire.close()
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.cfg.HTTP() || strings.HasPrefix(how, "was ended") {
		how = c.why
	}
	c.how = how
	close(c.over)
	return "it " + how
}
