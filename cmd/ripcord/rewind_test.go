package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// told is a service with the session of a tale; rewind stands in for its own.
type told struct {
	api.Service
	x      *tale
	rewind func(ctx context.Context) error
}

func (s told) Records(context.Context, event.SessionID, event.Seq) iter.Seq2[api.Frame, error] {
	return func(yield func(api.Frame, error) bool) {
		for i := range s.x.recs {
			if !yield(api.Frame{Record: &s.x.recs[i]}, nil) {
				return
			}
		}
	}
}

func (s told) Rewind(ctx context.Context, req api.RewindRequest) (api.Rewound, error) {
	return api.Rewound{Turn: req.Turn}, s.rewind(ctx)
}

// edited is a tale of one turn that turned one into two.
func edited(t *testing.T) *tale {
	t.Helper()
	x := newTale(t)
	x.turn(1, x.wrote(1, "a.txt", text("one", ""), text("two", "")))
	put(t, filepath.Join(x.dir, "a.txt"), "two\n")
	return x
}

// proves RTY-10, IFC-05: once the files are put back, a stop does not keep the
// turns visible; where the record fails all the same, it is said what is and
// what is not.
func TestTheRecordOfARewindFollowsItsFiles(t *testing.T) {
	x := edited(t)
	ctx, stop := context.WithCancel(t.Context())
	a := &app{stderr: io.Discard, stops: newStops(), out: &sink{w: io.Discard}}
	w := rewinding{turn: 1, files: true, yes: true}
	err := a.rewind(ctx, told{x: x, rewind: func(ctx context.Context) error { stop(); return ctx.Err() }}, api.SessionInfo{ID: "s_1"}, w)
	if err != nil {
		t.Errorf("the stop came between the files and the record: %v", err)
	}
	x.has("a.txt", "one\n")

	x = edited(t)
	err = a.rewind(t.Context(), told{x: x, rewind: func(context.Context) error { return errors.New("the disk is full") }}, api.SessionInfo{ID: "s_1"}, w)
	if e := explain(err); err == nil || !strings.Contains(e.Message, "the files were put back, the turns are still visible: the disk is full") ||
		e.Hint != "`ripcord rewind s_1 --turn 1` hides them" {
		t.Errorf("%v", err)
	}
	x.has("a.txt", "one\n")
}

// proves RTY-10, IFC-05: a stop at the question is a stop and no answer; it changes
// nothing.
func TestAStopAtTheQuestionIsAStop(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	defer master.Close()
	defer tty.Close()
	x := edited(t)
	ctx, stop := context.WithCancel(t.Context())
	a := &app{stdin: tty, stderr: sees{"[y/N]", stop}, stops: newStops(), out: &sink{w: io.Discard}}
	never := func(context.Context) error { t.Error("the turns were hidden"); return nil }
	err = a.rewind(ctx, told{x: x, rewind: never}, api.SessionInfo{ID: "s_1"}, rewinding{turn: 1, files: true})
	var code exitError
	if !errors.Is(err, context.Canceled) || errors.As(err, &code) {
		t.Errorf("it ended with %v, want the stop, which has its own exit code", err)
	}
	x.has("a.txt", "two\n")
}

// sees is a stderr that does something when a text comes.
type sees struct {
	text string
	do   func()
}

func (s sees) Write(b []byte) (int, error) {
	if strings.Contains(string(b), s.text) {
		s.do()
	}
	return len(b), nil
}
