package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
)

// live is a service whose open sessions can be reached from other terminals:
// it serves each one's control socket from Open to Release.
type live struct {
	api.Service
	socketOf func(event.SessionID) (string, error)
	say      func(format string, args ...any)

	mu      sync.Mutex
	ports   map[event.SessionID]*port
	leaving []*port // told to end; close waits for them too
}

// port is one session's control socket. done is closed when nothing serves it
// any more.
type port struct {
	end  context.CancelFunc
	done chan struct{}
}

func (p *port) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Open opens the session and its control socket. A socket that cannot be made
// does not keep anybody from working: it is said.
func (l *live) Open(ctx context.Context, req api.OpenRequest) (api.SessionState, error) {
	s, err := l.Service.Open(ctx, req)
	if err != nil {
		return s, err
	}
	if err := l.serve(s.ID); err != nil {
		l.say("this session cannot be interrupted from another terminal: %v", err)
	}
	return s, nil
}

func (l *live) serve(id event.SessionID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ports[id] != nil {
		return nil
	}
	path, err := l.socketOf(id)
	if err != nil {
		return err
	}
	ln, err := remote.Listen(path)
	if err != nil {
		return err
	}
	// The socket lives as long as the session, not as the call that opened it.
	ctx, end := context.WithCancel(context.Background())
	p := &port{end, make(chan struct{})}
	if l.ports == nil {
		l.ports = map[event.SessionID]*port{}
	}
	l.ports[id] = p
	go func() {
		defer close(p.done)
		if err := remote.Serve(ctx, ln, l, func(fault error) { l.say("a call from another process failed inside; this is a bug: %v", fault) }); err != nil {
			l.say("the control socket of %s failed: %v", id, err)
		}
	}()
	return nil
}

// Release closes the session, then the control socket: a release that came
// through that socket is answered before it closes, and one that did not get
// through can be asked for again.
func (l *live) Release(ctx context.Context, id event.SessionID) error {
	err := l.Service.Release(ctx, id)
	if _, alive := l.Status(ctx, id); alive == nil {
		return err
	}
	l.mu.Lock()
	p := l.ports[id]
	delete(l.ports, id)
	if p != nil {
		l.leaving = append(slices.DeleteFunc(l.leaving, (*port).ended), p)
		p.end()
	}
	l.mu.Unlock()
	return err
}

// close ends all control sockets and waits for them.
func (l *live) close(ctx context.Context) error {
	l.mu.Lock()
	ports := slices.AppendSeq(l.leaving, maps.Values(l.ports))
	l.ports, l.leaving = nil, nil
	l.mu.Unlock()
	for _, p := range ports {
		p.end()
	}
	for _, p := range ports {
		select {
		case <-p.done:
		case <-ctx.Done():
			return errors.New("a control socket did not close in time")
		}
	}
	return nil
}
