package apitest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
)

// Script names the inputs whose turns are known beforehand.
type Script struct {
	Quick  string // its turn completes
	Answer string // with this text
	Slow   string // its turn starts to answer, then works until it is interrupted
	Ask    string // its turn asks for an approval and completes once it is allowed; empty: not tested
	// Summary says that a request for a summary is answered with one.
	Summary bool
	Cwd     string // workspace for new sessions
}

// Open makes a new service for one subtest and cleans up by t.
type Open func(t *testing.T) (api.Service, Script)

// bound is how long anything may take that is not supposed to take time.
const bound = time.Minute

// Run holds the service to the contract, in process and over a control
// socket.
func Run(t *testing.T, open Open) {
	t.Run("in process", func(t *testing.T) { suite(t, open) })
	t.Run("over the socket", func(t *testing.T) {
		suite(t, func(t *testing.T) (api.Service, Script) {
			svc, sc := open(t)
			return overSocket(t, svc), sc
		})
	})
}

func overSocket(t *testing.T, svc api.Service) api.Service {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl") // t.TempDir may be over a socket's limit
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ctl")
	l, err := remote.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- remote.Serve(ctx, l, svc) }()
	c := remote.Dial(path)
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		_ = os.RemoveAll(dir)
	})
	return c
}

func suite(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, api.Service, Script)
	}{
		{"a submitted input is answered by one result of the fixed shape", quick},
		{"an interrupt stops exactly the turn it names", interrupts},
		{"interrupting an idle session is a no-op that says so", idle},
		{"a follower sees every record once and the live end", follows},
		{"a follower that goes away does not stop the turn", leaves},
		{"the caller's context bounds the call and not the turn", bounds},
		{"an input submitted twice under one key is accepted once", keys},
		{"what does not exist is an error with a code", absent},
		{"held input is reported and not lost", holds},
		{"an approval is decided once", approves},
		{"a session is listed, verified and deleted", lists},
		{"an input goes where its priority says", priorities},
		{"what waits can be changed until a turn takes it", inboxes},
		{"a picture steers no running turn", media},
		{"the last turn is asked again with its own input", retries},
		{"turns are hidden and their input comes back", rewinds},
		{"a summary is a turn that can be stopped", compacts},
		{"a copy of a session goes its own way", forks},
	} {
		t.Run(c.name, func(t *testing.T) {
			svc, sc := open(t)
			c.run(t, svc, sc)
		})
	}
}

// env is what one check works in.
type env struct {
	*testing.T
	ctx context.Context
	svc api.Service
	sc  Script
	id  event.SessionID
}

func begin(t *testing.T, svc api.Service, sc Script) env {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	s, err := svc.Open(ctx, api.OpenRequest{Cwd: sc.Cwd})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if s.ID == "" {
		t.Fatal("a new session has no id")
	}
	return env{t, ctx, svc, sc, s.ID}
}

func (e env) submit(text string) api.Submitted {
	e.Helper()
	sub, err := e.svc.Submit(e.ctx, api.SubmitRequest{Session: e.id, Input: input(text)})
	if err != nil {
		e.Fatalf("submit: %v", err)
	}
	if sub.Input == "" || (sub.State != "running" && sub.State != "queued") {
		e.Fatalf("submit answered %+v", sub)
	}
	return sub
}

func input(text string) event.UserInput {
	return event.UserInput{Content: event.TextOf(text)}
}

func (e env) wait(in event.InputID) api.Result {
	e.Helper()
	r, err := e.svc.Wait(e.ctx, e.id, in)
	if err != nil {
		e.Fatalf("wait: %v", err)
	}
	if r.Kind != "result" || r.Schema != 1 || r.Outcome == nil || r.Turn == nil {
		e.Fatalf("the result has not the fixed shape: %+v", r)
	}
	if r.Calls == nil || r.DroppedUnrun == nil || r.Held == nil || r.Jobs == nil {
		e.Errorf("a list of the result is null: %+v", r)
	}
	return r
}

func (e env) outcome(r api.Result, want event.TurnOutcome) {
	e.Helper()
	if *r.Outcome != want {
		e.Fatalf("outcome %q (error %+v), want %q", *r.Outcome, r.Error, want)
	}
}

// started waits until the slow turn, the session's first, has asked its model,
// so that an interrupt meets a running turn.
func (e env) started() { e.Helper(); e.startedAs(1) }

// startedAs waits for it as turn n.
func (e env) startedAs(n int) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	for f, err := range e.svc.Follow(ctx, e.id, 0, true) {
		if err != nil {
			e.Fatalf("follow: %v", err)
		}
		if f.Record != nil && f.Record.Type == event.TypeModelRequest && f.Record.Turn == n {
			return
		}
	}
	e.Fatal("the turn never began")
}

func code(err error) event.FailureCode {
	var ae *api.Error
	if errors.As(err, &ae) {
		return ae.Code
	}
	return ""
}
