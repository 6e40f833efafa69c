package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
)

// slow is a service with a call that takes as long as a test wants.
type slow struct {
	api.Service
	asked, answer chan struct{}
}

func (slow) Open(context.Context, api.OpenRequest) (api.SessionState, error) {
	return api.SessionState{ID: "s_1"}, nil
}

func (s slow) Jobs(context.Context, event.SessionID) ([]api.JobInfo, error) {
	close(s.asked)
	<-s.answer
	return nil, nil
}

func (slow) Release(context.Context, event.SessionID) error { return nil }

func (slow) Status(context.Context, event.SessionID) (api.SessionState, error) {
	return api.SessionState{}, errors.New("it is not open")
}

// proves IFC-12, IFC-05: the control socket of a session that was released is
// waited for like those of the others.
func TestAReleasedSessionsSocketIsWaitedFor(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, err := os.MkdirTemp("", "live") // t.TempDir's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "ctl")
	svc := slow{asked: make(chan struct{}), answer: make(chan struct{})}
	l := &live{Service: svc, socketOf: func(event.SessionID) (string, error) { return path, nil }, say: t.Logf}
	if _, err := l.Open(t.Context(), api.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	p := l.ports["s_1"]
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c := remote.Dial(path)
		defer c.Close()
		_, _ = c.Jobs(t.Context(), "s_1") // cut off with the socket
	}()
	<-svc.asked
	if err := l.Release(t.Context(), "s_1"); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.close(over); err == nil {
		t.Error("a socket that still answers somebody is closed, it is said")
	}
	close(svc.answer)
	<-answered
	<-p.done
	if err := l.close(t.Context()); err != nil {
		t.Error(err)
	}
}
