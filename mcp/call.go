package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// remote is one tool of one server.
type remote struct {
	name   string
	offer  offer
	server *server
}

// Spec implements [tool.Tool].
func (t *remote) Spec() tool.Spec {
	s := tool.Spec{Name: t.name, Description: t.offer.words, Schema: t.offer.schema, Effect: tool.Unsafe, AsksCall: t.asks}
	if t.believed() {
		s.Effect, s.Concurrent = tool.Pure, true
	}
	return s
}

// believed says that the tool is taken to change nothing.
func (t *remote) believed() bool { return t.offer.readOnly && t.server.cfg.Trusted }

// InterruptBehaviour implements [interrupt.Behaviourer]: the call waits for
// its signal by itself, and ends without its server's help.
func (t *remote) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

const mostPrompt = 2000 // bytes of arguments that a person is shown

func (t *remote) asks(call *tool.Call) (prompt string, ask bool) {
	args := strings.Join(strings.Fields(string(call.Args)), " ")
	if len(args) > mostPrompt {
		args = strings.ToValidUTF8(args[:mostPrompt], "") + "…"
	}
	return fmt.Sprintf("call %s of the server %s with %s", plain(t.offer.name), plain(t.offer.server), printable(args)), !t.believed()
}

// track follows the progress of one call.
type track struct {
	live  tool.Live
	alive chan struct{} // holds a token: something came

	mu    sync.Mutex
	last  string
	bytes int
}

const (
	mostLive     = 64 << 10 // bytes of live output of one call
	mostProgress = 500      // bytes of one message
)

// progress hands on what a server says about a call.
func (s *server) progress(p *sdk.ProgressNotificationParams) {
	if p == nil {
		return
	}
	s.mu.Lock()
	k := s.tracks[fmt.Sprint(p.ProgressToken)]
	s.mu.Unlock()
	if k == nil {
		return // its call is over
	}
	line := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		line += "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		line += " " + strings.ToValidUTF8(p.Message[:min(len(p.Message), mostProgress)], "\uFFFD")
	}
	k.mu.Lock()
	k.last = line
	k.bytes += len(line) + 1
	show := k.bytes <= mostLive
	k.mu.Unlock()
	if show {
		k.live.Output(line + "\n")
	}
	select {
	case k.alive <- struct{}{}:
	default:
	}
}

func (k *track) lastLine() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

func (s *server) follow(token string, k *track) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracks[token] = k
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tracks, token)
	}
}

// ready gives the server's connection. A server that is being started again is
// waited for, for a while.
func (s *server) ready(ctx context.Context, sig interrupt.Signal) (*conn, error) {
	limit := time.NewTimer(s.o.Wait)
	defer limit.Stop()
	for {
		c, moved := s.look()
		switch c.state {
		case Ready:
			if !closed(c.conn.failed) {
				return c.conn, nil
			}
		case Connecting, Waiting:
		case Failed, Down:
			return nil, tool.Replyf("the server %q is not there: %s. It is started again when a person asks for it; go on without it", s.cfg.Name, c.why)
		case Disabled, Closed:
			return nil, tool.Replyf("the server %q is not there: %s; go on without it", s.cfg.Name, c.why)
		}
		select {
		case <-moved:
		case <-sig.Done():
			return nil, sig.Checkpoint()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-limit.C:
			why := c.why
			if why == "" && c.conn != nil {
				why = "it " + c.conn.ending()
			}
			return nil, tool.Replyf("the server %q is not ready: %s; it is being restarted, try again in a moment", s.cfg.Name, why)
		}
	}
}

// Execute implements [tool.Tool].
func (t *remote) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var args map[string]any
	if err := json.Unmarshal(call.Args, &args); err != nil || args == nil {
		return tool.Result{}, tool.Replyf("the arguments are not a JSON object; send the call again with one")
	}
	sig := tool.SignalOf(call)
	for again := false; ; again = true {
		if err := sig.Checkpoint(); err != nil {
			return tool.Result{}, err
		}
		c, err := t.server.ready(ctx, sig)
		if err != nil {
			return tool.Result{}, err
		}
		x := &exchange{remote: t, conn: c, call: call, sig: sig, began: time.Now(),
			sent:  newSent(),
			track: &track{live: tool.LiveOf(call), alive: make(chan struct{}, 1)}, done: make(chan answer, 1)}
		if err := tool.FenceOf(call).Pass(func() error { x.send(ctx); return nil }); err != nil {
			return tool.Result{}, err
		}
		res, err := x.wait(ctx)
		if !again && x.unasked() && !closed(sig.Done()) {
			continue
		}
		return res, err
	}
}

// unasked says that the request certainly was not taken, because its
// connection was of no use any more: it may be sent again.
func (x *exchange) unasked() bool {
	_, _, status, known := x.sent.get()
	if w, web := x.conn.wire.(*web); web && w.lost.Load() {
		x.conn.fail("does not know our session any more")
		return !known || status == http.StatusNotFound // who else's request found out says nothing of this one
	}
	return !known && closed(x.conn.failed)
}

// answer is what came of one request.
type answer struct {
	res *sdk.CallToolResult
	err error
}

// exchange is one request to a server. Its goroutine ends before wait returns.
type exchange struct {
	*remote
	conn   *conn
	call   *tool.Call
	sig    interrupt.Signal
	track  *track
	sent   *sent
	heard  int64
	began  time.Time
	done   chan answer
	cancel context.CancelFunc
	forget func()
}

func (x *exchange) send(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(x.conn.ctx, cancel)
	x.cancel = func() { unhook(); cancel() }
	token := fmt.Sprintf("%s.%d", x.call.ID, x.server.tokens.Add(1))
	x.forget = x.server.follow(token, x.track)
	x.heard = x.conn.wire.heard()
	params := &sdk.CallToolParams{Name: x.offer.name, Arguments: x.call.Args}
	params.SetProgressToken(token)
	ctx = withSent(ctx, x.sent)
	go func() {
		res, err := x.conn.session.CallTool(ctx, params)
		x.done <- answer{res, err}
	}()
}

// wait follows the request to its end: the answer, the signal, or the limits.
func (x *exchange) wait(ctx context.Context) (tool.Result, error) {
	defer x.forget()
	defer x.cancel()
	limit := x.server.cfg.Timeout
	if limit == 0 {
		limit = x.server.o.Call
	}
	silence, longest := time.NewTimer(limit), time.NewTimer(max(limit, x.server.o.Longest))
	defer silence.Stop()
	defer longest.Stop()
	for {
		select {
		case a := <-x.done:
			return x.answered(a)
		case <-x.track.alive:
			silence.Reset(limit)
		case <-x.sig.Done():
			return x.stopped(ctx)
		case <-ctx.Done():
			return x.stopped(ctx)
		case <-x.sent.long:
			x.cancel()
			return x.answered(<-x.done)
		case <-silence.C:
			return x.overdue(ctx)
		case <-longest.C:
			return x.overdue(ctx)
		}
	}
}

const (
	noticeBound  = time.Second           // for a notice to be taken
	forcedNotice = 50 * time.Millisecond // the same when nobody wants to wait
)

// parting is how a request ended that nobody wanted to wait for any more.
type parting struct {
	answer
	came bool // by itself, before the server was told anything
	told bool // the server took the notice
}

// notice is the part of a sentence about the server that says whether it knows.
func (p parting) notice() string {
	if p.told {
		return "was told that the call is no longer needed"
	}
	return "may not have been told that the call is no longer needed"
}

// giveUp tells the server, waits a moment for its answer, and ends the request.
// A result that exists by then is the result.
func (x *exchange) giveUp(ctx context.Context) (p parting) {
	select {
	case p.answer = <-x.done:
		p.came = p.err == nil || said(p.err) != nil || ctx.Err() == nil // else it is our own end that it tells
		return p
	default:
	}
	notice, release := interrupt.Cleanup(ctx, noticeBound)
	defer release()
	told := make(chan struct{})
	go func() {
		defer close(told)
		_, _, _, known := x.sent.get()
		err := x.conn.wire.cancelled(notice, x.sent)
		if err != nil {
			x.server.log.Debug("a server could not be told that a call was given up", "error", x.server.cfg.clean(err.Error()))
		}
		p.told = known && err == nil
	}()
	settle := time.NewTimer(x.server.o.Settle)
	defer settle.Stop()
	select {
	case p.answer = <-x.done:
		<-told
		return p
	case <-x.sig.Forced():
		within(told, forcedNotice)
		release()
	case <-settle.C:
	}
	<-told // a server that does not read has its second, see write
	x.cancel()
	p.answer = <-x.done // the SDK ends a request with its context
	x.conn.wire.abandoned(x.sent)
	return p
}

func (x *exchange) stopped(ctx context.Context) (tool.Result, error) {
	p := x.giveUp(ctx)
	if p.came || p.err == nil && !p.res.IsError && !p.res.NeedsInput() {
		return x.answered(p.answer) // a finished result is a fact
	}
	var b strings.Builder
	if last := x.track.lastLine(); last != "" {
		fmt.Fprintf(&b, "progress so far: %s\n", last)
	}
	fmt.Fprintf(&b, "the server %q %s; ", x.server.cfg.Name, p.notice())
	switch {
	case p.err == nil:
		b.WriteString("it answered with an error:\n")
		return tool.Result{Content: append(textContent(b.String()), x.content(p.res)...), Success: true, Stopped: true}, nil
	case said(p.err) != nil:
		fmt.Fprintf(&b, "it answered: %s", x.clean(said(p.err).Message))
	default:
		b.WriteString("it had not answered, and may have finished the work all the same")
	}
	return tool.Result{Content: textContent(b.String()), Success: true, Stopped: true}, nil
}

func (x *exchange) overdue(ctx context.Context) (tool.Result, error) {
	p := x.giveUp(ctx)
	if p.came || p.err == nil {
		return x.answered(p.answer)
	}
	x.countSilence()
	yes := true
	text := fmt.Sprintf("timed out: the server %q had not answered after %.1f s and %s. "+
		"It may have done the work all the same: check before repeating it", x.server.cfg.Name, time.Since(x.began).Seconds(), p.notice())
	if last := x.track.lastLine(); last != "" {
		text += "\nprogress so far: " + last
	}
	return tool.Result{Content: textContent(text), Success: true, TimedOut: &yes}, nil
}

// mostSilent is how many calls in a row a server may leave without a word
// before it is taken to hang.
const mostSilent = 2

// countSilence has a server restarted that said nothing at all during several
// calls; a word to anything, however late, shows that it lives.
func (x *exchange) countSilence() {
	s, spoke := x.server, x.conn.wire.heard() != x.heard
	s.mu.Lock()
	if s.cond.conn != x.conn {
		s.mu.Unlock()
		return
	}
	if s.cond.silent++; spoke {
		s.cond.silent = 0
	}
	hangs := s.cond.silent >= mostSilent && !s.cfg.HTTP()
	s.mu.Unlock()
	if hangs {
		x.conn.fail(fmt.Sprintf("was silent during %d calls and was ended", mostSilent))
	}
}

// said is the server's own error below err, nil if it is not the server who
// said it.
func said(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.Is(err, sdk.ErrConnectionClosed) || !errors.As(err, &e) {
		return nil
	}
	switch e.Code {
	case -32003, -32004, -32005: // the SDK's own words for a connection that ends, and a request that was not sent
		return nil
	}
	return e
}

// answered makes the call's result of what came.
func (x *exchange) answered(a answer) (tool.Result, error) {
	if a.err == nil {
		x.spoke()
		return x.result(a.res)
	}
	_, _, status, known := x.sent.get()
	var dialing *net.OpError
	switch e := said(a.err); {
	case closed(x.sent.long):
		return x.fact("the answer of the server %q has more than the %d bytes that are read; ask for less", x.server.cfg.Name, x.server.o.MaxMessage)
	case e != nil:
		x.spoke()
		return x.refused(e)
	case closed(x.conn.wire.broken()) || errors.Is(a.err, sdk.ErrConnectionClosed) || closed(x.conn.failed) || closed(x.conn.ctx.Done()):
		return x.lost(known)
	case status >= 400:
		return x.fact("the server %q answered with HTTP status %d after %.1f s; the call may or may not have run", x.server.cfg.Name, status, x.seconds())
	case !known, errors.As(a.err, &dialing) && dialing.Op == "dial":
		return tool.Result{}, tool.Replyf("the server %q could not be asked, nothing was run: %s", x.server.cfg.Name, x.clean(a.err.Error()))
	}
	return x.fact("the server %q gave no answer that can be read, after %.1f s: %s. Its effects may be partial: check before repeating it",
		x.server.cfg.Name, x.seconds(), x.clean(a.err.Error()))
}

func (x *exchange) seconds() float64 { return time.Since(x.began).Seconds() }

func (x *exchange) fact(format string, args ...any) (tool.Result, error) {
	return tool.Result{Content: textContent(fmt.Sprintf(format, args...)), Success: true}, nil
}

const mostWordsOfError = 4 << 10

func (x *exchange) clean(text string) string {
	text, _ = tool.Bounded(x.server.cfg.clean(text), mostWordsOfError)
	return text
}

func (x *exchange) spoke() {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.server.cond.silent = 0
}

// refused is an error of the protocol. Wrong arguments and unknown tools mean
// that the call could not be made; everything else is what the server said.
func (x *exchange) refused(e *jsonrpc.Error) (tool.Result, error) {
	switch e.Code {
	case jsonrpc.CodeInvalidParams, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest, jsonrpc.CodeParseError:
		return tool.Result{}, tool.Replyf("the server %q did not take the call (code %d): %s; correct it, or use another tool", x.server.cfg.Name, e.Code, x.clean(e.Message))
	}
	return x.fact("the server %q answered with an error after %.1f s (code %d): %s", x.server.cfg.Name, x.seconds(), e.Code, x.clean(e.Message))
}

const endingBound = 10 * time.Second // for a server whose connection broke to be gone

// lost is a connection that ended under the call.
func (x *exchange) lost(known bool) (tool.Result, error) {
	x.conn.fail("ended the connection")
	t := time.NewTimer(endingBound)
	defer t.Stop()
	select {
	case <-x.conn.over:
	case <-x.sig.Done():
	case <-t.C:
	}
	how := x.conn.ending()
	if !known {
		return tool.Result{}, tool.Replyf("the server %q %s before it was asked, nothing was run; it is being restarted, try again", x.server.cfg.Name, how)
	}
	return x.fact("the server %q %s after %.1f s, without an answer to this call. Its effects may be partial: check before repeating it. "+
		"It is being restarted; then try again", x.server.cfg.Name, how, x.seconds())
}
