package ripcord_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// at makes the bench's data folder what a death at that moment would leave: the
// journal up to and with record n.
func (b *bench) at(journal string, n int) {
	b.Helper()
	b.end()
	lines := strings.SplitAfter(journal, "\n")
	b.root = b.TempDir()
	dir := filepath.Join(b.root, "sessions", string(b.id))
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(strings.Join(lines[:n+1], "")), 0o600)); err != nil {
		b.Fatal(err)
	}
	b.start()
}

// A process dies behind each record of a turn with three calls. Whatever had
// started is unknown, whatever had ended is what it was, and nothing is run
// again by anybody but the person.
//
// proves REC-03, REC-04, REC-06, REC-08, INT-25, B028
func TestADeathBehindAnyRecordRunsNothingTwice(t *testing.T) {
	var b *bench
	ledger := func() string { return strings.Join(strings.Fields(string(read(b.cwd, "L"))), " ") }
	mark := deed("mark", interrupt.NonInterruptible, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		f, err := os.OpenFile(filepath.Join(c.Dir, "L"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return tool.Result{}, err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, c.ID)
		return tool.Text("marked " + string(c.ID)), err
	})
	b = newBench(t, `answer if user go
  text three at once
  call mark c1 {}
  call mark c2 {}
  call mark c3 {}
  finish tool
answer always
  text On we go.
  finish stop
`, with(mark), func(c *ripcord.Config) { c.Limits.Parallel = 1 })
	b.outcome(b.run("go"), event.TurnCompleted)
	whole, ran := b.journal(), ledger()
	if ran != "c1 c2 c3" {
		t.Fatalf("it ran %q", ran)
	}
	recs := b.records()
	ended, started := map[event.CallID]bool{}, map[event.CallID]bool{}
	unknown := 0
	for n := range recs {
		switch recs[n].Type {
		case event.TypeCallStarted:
			started[recs[n].Call] = true
		case event.TypeCallEnded:
			ended[recs[n].Call] = true
		}
		if n < 2 || n == len(recs)-1 {
			continue
		}
		b.at(whole, n)
		asked := len(b.server.Requests())
		st := b.open(b.id)
		if st.Running || len(b.server.Requests()) != asked {
			t.Fatalf("cut at %d: something runs by itself: %+v", n, st)
		}
		for id, e := range b.results() {
			switch {
			case ended[id] && (e.Outcome != event.CallFinished || e.Content.Text() != "marked "+string(id)):
				t.Errorf("cut at %d: a finished result became %+v", n, e)
			case !ended[id] && started[id]:
				if unknown++; e.Outcome != event.CallUnknown || !strings.Contains(e.Content.Text(), "Do not retry blindly.") {
					t.Errorf("cut at %d: %s: %+v", n, id, e)
				}
			case !ended[id] && e.Outcome != event.CallSkipped:
				t.Errorf("cut at %d: %s: %+v", n, id, e)
			}
		}
		text := "and now?"
		if len(st.Held) > 0 { // it was accepted and no step had it: still there
			text = "more"
			if !slices.Equal(st.Held, []string{"go"}) {
				t.Errorf("cut at %d: held %v", n, st.Held)
			}
		}
		b.outcome(b.run(text), event.TurnCompleted)
		_ = b.lastRequest() // strict: each call has its result
		if got := ledger(); got != ran {
			t.Fatalf("cut at %d: a call ran again: %q", n, got)
		}
		b.fold()
		if t.Failed() {
			t.Fatalf("cut at %d, behind %s", n, recs[n].Type)
		}
	}
	if unknown < 3 {
		t.Errorf("%d calls were unknown", unknown)
	}
}

func read(dir, name string) []byte {
	b, _ := os.ReadFile(filepath.Join(dir, name)) // nothing yet is no error
	return b
}

// A command runs, and may end, a moment before the record of its process is
// written. Cut there, what its guardian kept is told all the same.
//
// proves PRC-04, REC-07, TOL-07
func TestWhatACommandPrintedBeforeItsRecordIsTold(t *testing.T) {
	b := newBench(t, answers(bash("c1", "echo half of it; exit 3")+"finish tool")+"\ndefault\ntext Well.\nfinish stop\n", withBash(t))
	b.outcome(b.run("go"), event.TurnCompleted)
	b.end()
	path := filepath.Join(b.root, "sessions", string(b.id), "journal.jsonl")
	whole := b.journal()
	at := strings.Index(whole, `"type":"process/started"`)
	if at < 0 {
		t.Fatal("no process was recorded")
	}
	if err := os.WriteFile(path, []byte(whole[:strings.LastIndexByte(whole[:at], '\n')+1]), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.open(b.id)
	if e := b.results()["c1"]; e.Outcome != event.CallFinished || e.ExitCode == nil || *e.ExitCode != 3 || !strings.Contains(e.Content.Text(), "half of it") {
		t.Errorf("%+v", e)
	}
}

// The same at a moment when a command runs: it is found, ended, and what it had
// printed is told.
//
// proves B015, PRC-01, REC-04, REC-07, PRC-04, TOL-07
func TestACommandThatADeathLeftRunningIsEndedAndCalledUnknown(t *testing.T) {
	b := newBench(t, answers(bash("c1", "echo $$ >pids; echo half of it; sleep 300")+"finish tool")+"\ndefault\ntext Well.\nfinish stop\n", withBash(t))
	b.submit("go")
	b.until("it runs and is recorded", func() bool {
		return b.recorded(event.TypeProcessStarted) == 1 && len(b.pids("pids")) == 1 && bytes.Contains(b.spool("c1.out"), []byte("half of it"))
	})
	if jobs := b.jobs(); len(jobs) != 1 || jobs[0].Owner != "call" || jobs[0].ID != "c1" || jobs[0].Call != "c1" || len(jobs[0].PIDs) == 0 || jobs[0].Started.IsZero() {
		t.Errorf("what runs: %+v", jobs)
	}
	// The next process finds what this one had written; this one is not dead, so
	// its folder is copied as a death at this moment would leave it.
	copied := b.copied()
	other := &bench{T: t, ctx: b.ctx, root: copied, cwd: b.cwd, server: b.server, cfg: b.cfg}
	other.start()
	t.Cleanup(other.end)
	st := other.open(b.id)
	if st.Recovered == nil || st.Recovered.Turn != 1 || *st.Last.Outcome != event.TurnInterrupted || !st.Last.UnknownEffects {
		t.Errorf("%+v", st)
	}
	e := other.results()["c1"]
	for _, s := range []string{"Do not retry blindly.", "were found alive and were ended", "half of it"} {
		if !strings.Contains(e.Content.Text(), s) {
			t.Errorf("%q lacks %q", e.Content.Text(), s)
		}
	}
	if e.Outcome != event.CallUnknown || !e.Synthetic {
		t.Errorf("%+v", e)
	}
	b.until("the command is gone", func() bool { return len(alive(b.pids("pids")...)) == 0 })
	other.outcome(other.run("and now?"), event.TurnCompleted)
	_ = other.lastRequest()
}

func (b *bench) spool(name string) []byte {
	return read(filepath.Join(b.root, "sessions", string(b.id), "spool"), name)
}

// proves LOG-11, REC-09, B103, B107, LOG-15
func TestASecondRuntimeIsRefusedWithTheOwnerAndTheFirstIsNotDisturbed(t *testing.T) {
	b := newBench(t, "T'half' HANG\nT'Hello.' F(stop)\n")
	id := b.submit("go")
	b.streams(event.ChunkText)
	other := &bench{T: t, ctx: b.ctx, root: b.root, cwd: b.cwd, server: b.server, cfg: b.cfg, id: b.id}
	other.start()
	t.Cleanup(other.end)
	began := time.Now()
	_, err := other.rt.Open(b.ctx, api.OpenRequest{ID: b.id, Cwd: b.cwd})
	var e *api.Error
	if took := time.Since(began); !errors.As(err, &e) || e.Code != event.FailBusy || e.Owner == nil || e.Owner.PID != os.Getpid() || took > 30*time.Second {
		t.Errorf("%+v after %v", err, took)
	}
	if err := other.rt.Delete(b.ctx, b.id); !errors.As(err, &e) || e.Code != event.FailBusy {
		t.Errorf("a session that runs is deleted: %v", err)
	}
	seen := 0
	for _, err := range other.rt.Records(b.ctx, b.id, 0) { // looking is allowed, and repairs nothing
		if err != nil {
			t.Error(err)
		}
		seen++
	}
	if seen < 5 || b.recorded(event.TypeRepairBegun) > 0 {
		t.Errorf("%d records seen, repaired %d times", seen, b.recorded(event.TypeRepairBegun))
	}
	if p, err := other.rt.PreviewRepair(b.ctx, b.id); err != nil || p.Turn != 1 || p.Owner == nil || p.Owner.PID != os.Getpid() || len(p.Adds) != 0 { // it runs: nothing is left open
		t.Errorf("%+v, %v", p, err)
	}
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	b.outcome(b.run("hello"), event.TurnCompleted)
	if err := b.rt.Release(b.ctx, b.id); err != nil {
		t.Fatal(err)
	}
	if _, err := other.rt.Open(b.ctx, api.OpenRequest{ID: b.id, Cwd: b.cwd}); err != nil {
		t.Errorf("after the first gave it up: %v", err)
	}
}

// proves LOG-12, TRN-06: the records of an ending are on the disk in their order
func TestTheOrderOfAnAbortIsTheOrderOnTheDisk(t *testing.T) {
	b := newBench(t, answers("text so far\n"+bash("c1", "echo $$ >pids; sleep 60")+bash("c2", "true")+"finish tool"), withBash(t))
	id := b.submit("go")
	b.until("it runs", func() bool { return b.recorded(event.TypeProcessStarted) == 1 })
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	var order []string
	for _, rec := range b.records() {
		switch rec.Type {
		case event.TypeCallEnded, event.TypeStepEnded, event.TypeTurnMarked, event.TypeTurnEnded, event.TypeProcessEnded:
			order = append(order, string(rec.Type)+" "+string(rec.Call))
		}
	}
	want := []string{"process/ended c1", "call/ended c1", "call/ended c2", "step/end ", "marker/aborted ", "turn/end "}
	if !slices.Equal(order, want) {
		t.Errorf("order\n%q\nwant\n%q", order, want)
	}
}

func (b *bench) jobs() []api.JobInfo {
	b.Helper()
	jobs, err := b.rt.Jobs(b.ctx, b.id)
	if err != nil {
		b.Fatal(err)
	}
	return jobs
}

// What a command leaves running is the session's: named, listed, killed by
// hand, not touched by Esc, and ended with the session.
//
// proves PRC-01, PRC-05, TOL-22, B005, B008, B010
func TestWhatACommandLeavesRunningBelongsToTheSession(t *testing.T) {
	server := func(id string) string { return bash(id, "tail -f /dev/null & echo $! >>pids; printf done") }
	b := newBench(t, answers(server("c1")+server("c2")+server("c3")+"finish tool", "text Up.\nfinish stop", "text half\nhang", "text Hello.\nfinish stop"), withBash(t))
	res := b.run("go")
	b.outcome(res, event.TurnCompleted)
	pids := b.pids("pids")
	if got := b.results()["c1"].Content.Text(); !strings.Contains(got, "left running: job j1") || !strings.Contains(got, strconv.Itoa(pids[0])) || len(res.Jobs) != 3 {
		t.Errorf("%q, jobs %v", got, res.Jobs)
	}
	for i, j := range b.jobs() {
		if j.State != event.JobRunning || !slices.Contains(j.PIDs, pids[i]) || j.Call != event.CallID(fmt.Sprintf("c%d", i+1)) || j.Keep {
			t.Errorf("job %d: %+v, pid %d", i, j, pids[i])
		}
	}
	id := b.submit("more")
	b.until("it streams", func() bool { return len(b.server.Requests()) == 3 })
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	if left := alive(pids...); len(left) != 3 {
		t.Errorf("alive after Esc: %v of %v", left, pids)
	}
	if err := b.rt.KillJob(b.ctx, b.id, "j1"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.until("two have ended", func() bool { js := b.jobs(); return js[0].State != event.JobRunning && js[1].State != event.JobRunning })
	if left := alive(pids[:2]...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	js := b.jobs()
	if js[0].State != event.JobKilled || js[0].ExitCode != nil || js[1].ExitCode != nil || js[2].State != event.JobRunning {
		t.Errorf("jobs %+v", js) // an exit code that nobody saw is not invented
	}
	var no *api.Error
	if err := b.rt.KillJob(b.ctx, b.id, "j1"); !errors.As(err, &no) || no.Code != "not_found" {
		t.Errorf("a job that has ended is killed: %v", err)
	}
	b.again()
	if left := alive(pids...); len(left) > 0 {
		t.Errorf("alive after the session's end: %v", left)
	}
	if js := b.jobs(); js[2].State != event.JobKilled {
		t.Errorf("the third: %+v", js[2])
	}
	b.outcome(b.run("hello"), event.TurnCompleted)
	_ = b.lastRequest()
}

// proves REC-07, PRC-04, PRC-05, TOL-22
func TestAJobThatIsKeptOutlivesItsSessionAndIsTakenUpAgain(t *testing.T) {
	b := newBench(t, answers(bash("c1", "tail -f /dev/null & echo $! >>pids; printf done")+"finish tool", "text Up.\nfinish stop"), withBash(t))
	b.outcome(b.run("go"), event.TurnCompleted)
	pid := b.pids("pids")
	t.Cleanup(func() { _ = syscall.Kill(pid[0], syscall.SIGKILL) }) // gone by then, unless the test failed
	if err := b.rt.KeepJob(b.ctx, b.id, "j1", true); err != nil {
		t.Fatal(err)
	}
	st := b.again()
	if len(alive(pid...)) != 1 {
		t.Fatal("a kept job ended with its session")
	}
	if st.Recovered == nil || !slices.Equal(st.Recovered.Adopted, []string{"j1"}) || b.recorded(event.TypeJobAdopted) != 1 {
		t.Errorf("%+v\n%s", st.Recovered, b.types())
	}
	if js := b.jobs(); len(js) != 1 || js[0].State != event.JobRunning || !js[0].Keep {
		t.Errorf("%+v", js)
	}
	if err := b.rt.KillJob(b.ctx, b.id, "j1"); err != nil {
		t.Fatal(err)
	}
	b.until("it is gone", func() bool { return len(alive(pid...)) == 0 && b.jobs()[0].State == event.JobKilled })
}
