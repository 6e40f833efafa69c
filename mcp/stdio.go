package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
)

const (
	farewell   = 500 * time.Millisecond // from the end of its input until it is asked with a signal
	obituary   = 5 * time.Second        // from the end of its output until its own end is known: a busy machine is late
	stderrKept = 16 << 10               // bytes
	spoolKept  = 256 << 10              // bytes of stderr in the guardian's spool
	codeLong   = -32000                 // ours, for an answer that was not kept
)

// process is a server that we started. Its one goroutine reads what it prints;
// close waits for it.
type process struct {
	name  string
	tree  proc.Tree
	o     *Options
	in    input    // its standard input
	out   *os.File // its standard output
	tally *tally
	log   *slog.Logger

	msgs    chan jsonrpc.Message
	writing chan struct{} // holds one token: who writes
	closing chan struct{}
	once    sync.Once
	ended   chan struct{} // closed when nothing more can be read
	count   atomic.Int64
	lost    atomic.Bool // it went first: its output ended, or its input broke
	mute    atomic.Bool // its output ended

	mu      sync.Mutex
	waiting map[int64]struct{} // requests of ours that somebody waits for
}

// input is what process writes to; a deadline ends a write that is under way.
type input interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// start runs the server of s. ctx bounds the starting.
func start(ctx context.Context, s Server, o *Options, t *tally, errs *ring) (*process, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	defer inR.Close()
	defer outW.Close()
	dir := s.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.Dir, dir)
	}
	tree, err := o.Host.Start(ctx, proc.Spec{Owner: "mcp", ID: s.Name, Argv: append([]string{s.Command}, s.Args...),
		Dir: dir, Env: environ(o, s), Files: [3]*os.File{inR, outW, nil}, Live: errs, Limit: spoolKept, Ladder: o.Ladder})
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fmt.Errorf("it did not start: %s", s.clean(err.Error()))
	}
	p := &process{name: s.Name, tree: tree, o: o, in: inW, out: outR, tally: t, log: o.Log, msgs: make(chan jsonrpc.Message),
		writing: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}), waiting: map[int64]struct{}{}}
	o.record(tree.Started())
	go p.read()
	return p, nil
}

// environ is the scrubbed base and what the configuration adds.
func environ(o *Options, s Server) []string {
	base := proc.Environ(o.Env, o.Deny)
	out := make([]string, 0, len(base)+len(s.Env))
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := s.Env[name]; !ours {
			out = append(out, kv)
		}
	}
	for _, name := range sortedKeys(s.Env) {
		out = append(out, name+"="+s.Env[name])
	}
	return out
}

// read hands on messages until the output ends.
func (p *process) read() {
	defer close(p.ended)
	defer p.lose()
	l := newLines(p.out, p.o.MaxMessage)
	for {
		line, long, err := l.next()
		switch {
		case err != nil:
			p.mute.Store(true)
			return
		case long != nil:
			p.tally.longLine()
			p.log.Warn("a server's message is over the bound and was thrown away", "server", p.name, "bytes", long.bytes, "bound", p.o.MaxMessage)
			if long.known && !p.hand(p.refusal(long)) {
				return
			}
			continue
		}
		msgs := decode(line)
		if len(msgs) == 0 && strings.TrimSpace(string(line)) != "" {
			if cut, show := p.tally.noiseLine(line); show {
				p.log.Debug("a server printed a line that is no message", "server", p.name, "line", cut)
			}
		}
		for _, msg := range msgs {
			p.count.Add(1)
			if p.wanted(msg) && !p.hand(msg) {
				return
			}
		}
	}
}

func (p *process) hand(msg jsonrpc.Message) bool {
	select {
	case p.msgs <- msg:
		return true
	case <-p.closing:
		return false
	}
}

// refusal is the answer to a request whose true answer was too long.
func (p *process) refusal(long *tooLong) jsonrpc.Message {
	id, _ := jsonrpc.MakeID(float64(long.id))
	p.forget(long.id)
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: codeLong,
		Message: fmt.Sprintf("the answer has %d bytes, more than the %d that are read; ask for less", long.bytes, p.o.MaxMessage)}}
}

// wanted drops answers that nobody waits for.
func (p *process) wanted(msg jsonrpc.Message) bool {
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		return true
	}
	id, ok := res.ID.Raw().(int64)
	if !ok {
		return false // no request of ours has such an id
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, waited := p.waiting[id]
	delete(p.waiting, id)
	if !waited {
		p.tally.lateWord()
	}
	return waited
}

func (p *process) forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

func (p *process) transport() sdk.Transport { return &pipes{p} }

// pipes is the process as the SDK's transport and connection.
type pipes struct{ p *process }

func (c *pipes) Connect(context.Context) (sdk.Connection, error) { return c, nil }
func (c *pipes) SessionID() string                               { return "" }
func (c *pipes) Close() error                                    { c.p.shut(); return nil }

func (c *pipes) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.p.msgs:
		return msg, nil
	case <-c.p.closing:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *pipes) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if ok && req.Method == methodCancelled {
		return nil // the SDK's own; ours went before, see call.go
	}
	if ok && req.IsCall() {
		id, _ := req.ID.Raw().(int64)
		c.p.mu.Lock()
		c.p.waiting[id] = struct{}{}
		c.p.mu.Unlock()
		if s, ok := sentOf(ctx); ok {
			s.as(id, nil)
		}
	}
	return c.p.write(ctx, msg)
}

var errHalf = errors.New("the server does not take its input")

// write puts one message onto the server's input. A server that does not read
// holds it until ctx ends; what was written half makes the wire useless.
func (p *process) write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closing:
		return io.ErrClosedPipe
	}
	if err := p.in.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(cut); _ = p.in.SetWriteDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			<-cut // the next write must not be hit by it
		}
	}()
	n, err := p.in.Write(append(data, '\n'))
	switch {
	case err == nil:
		return nil
	case n == 0 && ctx.Err() != nil:
		return ctx.Err()
	}
	p.lose() // nobody could tell what a next message would be glued to
	return fmt.Errorf("%w: %w", errHalf, err)
}

func (p *process) cancelled(ctx context.Context, s *sent) error {
	id, _, _, known := s.get()
	if !known {
		return nil // it was never sent
	}
	return p.write(ctx, &jsonrpc.Request{Method: methodCancelled, Params: cancelParams(id)})
}

func (p *process) abandoned(s *sent) {
	if id, _, _, known := s.get(); known {
		n, _ := id.(int64) // see Write
		p.forget(n)
	}
}

func (p *process) heard() int64            { return p.count.Load() }
func (p *process) pids() []int             { return p.tree.PIDs() }
func (p *process) broken() <-chan struct{} { return p.closing }

// shut ends its input and stops listening.
func (p *process) shut() {
	p.once.Do(func() {
		close(p.closing)
		p.in.Close()
	})
}

// lose is shut for a server that went first.
func (p *process) lose() {
	if !closed(p.closing) {
		p.lost.Store(true)
	}
	p.shut()
}

// close ends the server: the end of its input, a moment, the ladder.
func (p *process) close() string {
	ours := closed(p.closing) && !p.lost.Load() // its input was ended before it went: what it did then is no end of its own
	last := farewell
	if p.mute.Load() {
		last = obituary
	}
	own := !ours && (closed(p.tree.Exited()) || p.lost.Load() && within(p.tree.Exited(), last))
	p.shut()
	if !own {
		within(p.tree.Exited(), farewell)
	}
	st := p.tree.Stop(p.o.Ladder)
	p.out.Close()
	<-p.ended
	started := p.tree.Started()
	if len(st.Survivors) > 0 {
		p.o.record(event.ProcessSurvived{Owner: started.Owner, ID: started.ID, PIDs: st.Survivors, Why: "alive after KILL"})
		return fmt.Sprintf("could not be ended: pids %v", st.Survivors)
	}
	exit, _ := p.tree.Exit()
	how := "stopped"
	if own {
		how = "exited"
	}
	p.o.record(event.ProcessEnded{Owner: started.Owner, ID: started.ID, PID: started.PID, ExitCode: exit.Code, Signal: exit.Signal, How: how})
	switch {
	case !own:
		return "was ended"
	case exit.Code != nil:
		return fmt.Sprintf("exited with code %d", *exit.Code)
	case exit.Signal != "":
		return "was killed by " + exit.Signal
	}
	return "ended, it is not known how"
}
