package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// twoSessions have a kept job of one name each.
type twoSessions struct {
	api.Service
	state map[event.SessionID]event.JobState
}

func (twoSessions) Sessions(context.Context) ([]api.SessionInfo, error) {
	return []api.SessionInfo{{ID: "s_a"}, {ID: "s_b"}}, nil
}

func (s twoSessions) Jobs(_ context.Context, id event.SessionID) ([]api.JobInfo, error) {
	return []api.JobInfo{{ID: "j1", Session: id, Keep: true, State: s.state[id]}}, nil
}

func (twoSessions) JobLog(context.Context, event.SessionID, event.JobID) (string, error) {
	return "a\x1b]0;title\x07\x1b[2Jb\n", nil
}

// proves IFC-12, TUI-03: what a job wrote cannot drive the terminal it is printed
// on; a pipe gets it as it is.
func TestAJobsLogDoesNotDriveTheTerminal(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	defer master.Close()
	defer tty.Close()
	svc := twoSessions{state: map[event.SessionID]event.JobState{"s_a": event.JobExited, "s_b": event.JobExited}}
	logs := func(out io.Writer) {
		t.Helper()
		a := &app{env: envOf(map[string]string{"RIPCORD_HOME": t.TempDir()}), stderr: io.Discard, stops: newStops(), out: &sink{w: out},
			wire: func(context.Context, *app, need) (*engine, error) {
				return &engine{svc: svc, close: func(context.Context) error { return nil }}, nil
			}}
		if code := a.main([]string{"jobs", "logs", "s_a/j1"}); code != exitDone {
			t.Fatalf("exit %d", code)
		}
	}
	var piped strings.Builder
	logs(&piped)
	logs(tty)
	b := make([]byte, 1<<10)
	n, err := master.Read(b)
	if got := string(b[:n]); err != nil || strings.ContainsAny(got, "\x1b\x07") || !strings.Contains(got, "b") {
		t.Errorf("a terminal gets %q, %v", got, err)
	}
	if want, _ := svc.JobLog(t.Context(), "", ""); piped.String() != want {
		t.Errorf("a pipe gets %q", piped.String())
	}
}

// proves TOL-10, LOG-16: a quarantined call that still runs is named, and damage
// that was found beside the session
func TestWhatOnlyTheHolderKnowsIsShown(t *testing.T) {
	var out strings.Builder
	a := &app{out: &sink{w: &out}}
	a.printHeld(api.SessionState{Verified: "damaged", Unwinding: []string{"bash c1 of turn 2"}})
	if got := out.String(); got != "journal verified: damaged\nstill unwinding, its turn is over: bash c1 of turn 2\n" {
		t.Error(got)
	}
}

// proves REC-09: what a kept job alone has recovery add is shown, and that there
// is nothing to cut
func TestAPreviewWithoutAnOpenTurnShowsWhatIsAdded(t *testing.T) {
	r, err := event.New(event.JobAdopted{ID: "j1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var none event.Sum
	add, _, err := event.Encode(nil, none, &r)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	a := &app{out: &sink{w: &out}}
	a.printPreview("s_1", api.RepairPreview{Adds: []json.RawMessage{add}, Why: []string{"it lives"}})
	if got := out.String(); !strings.Contains(got, "adds 1 records") || !strings.Contains(got, "job/adopted") || strings.Contains(got, "Cutting") {
		t.Error(got)
	}
}

// proves IFC-12, PRC-05: a job's name never means another session's job
func TestAJobOfTheSameNameInAnotherSessionIsNeverMeant(t *testing.T) {
	a := &app{env: envOf(map[string]string{"RIPCORD_HOME": t.TempDir()}), stderr: io.Discard}
	both := twoSessions{state: map[event.SessionID]event.JobState{"s_a": event.JobRunning, "s_b": event.JobRunning}}
	if j, _, _, err := a.findJob(t.Context(), both, "j1"); err == nil || !strings.Contains(err.Error()+explain(err).Hint, "s_a/j1") {
		t.Errorf("%+v, %v", j, err)
	}
	for _, name := range []string{"s_a/j1", "s_b/j1"} {
		j, _, done, err := a.findJob(t.Context(), both, name)
		if err != nil || string(j.Session)+"/"+string(j.ID) != name {
			t.Fatalf("%s: %+v, %v", name, j, err)
		}
		done()
	}
	one := twoSessions{state: map[event.SessionID]event.JobState{"s_a": event.JobExited, "s_b": event.JobRunning}}
	if j, _, _, err := a.findJob(t.Context(), one, "j1"); err != nil || j.Session != "s_b" {
		t.Errorf("the one that runs: %+v, %v", j, err)
	}
}
