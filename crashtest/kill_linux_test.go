package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// mark in the environment names everything that a victim starts.
const mark = "RIPCORD_CRASH_MARK"

// batch is a model that asks for three commands at once, each of which writes
// its line; pause is what the second does then.
func batch(ledger, pause string) string {
	return fmt.Sprintf(`
answer if user append and not user "and now" and not result
  type 8ms I append three lines, one behind the other.
  call bash c1 {"command":"echo c1 >>%[1]s"}
  call bash c2 {"command":"echo c2 >>%[1]s; %[2]s"}
  call bash c3 {"command":"echo c3 >>%[1]s"}
  usage 10 5
  finish tool
default
  type 8ms So it is and so it was.
  usage 12 3
  finish stop
`, ledger, pause)
}

// scene is a victim's world, which outlives it.
type scene struct {
	t      *testing.T
	v      victim
	server *scripted.Server
	mark   string
	pid    int // of the victim
}

func newScene(t *testing.T, v victim, pause string) *scene {
	t.Helper()
	s := &scene{t: t, v: v, mark: fmt.Sprintf("%d-%d", os.Getpid(), rand.Uint64())}
	s.v.Root, s.v.Cwd = filepath.Join(t.TempDir(), "home"), t.TempDir()
	s.v.Ledger = filepath.Join(s.v.Cwd, "ledger")
	sc, err := scripted.Parse(batch(s.v.Ledger, pause))
	if err != nil {
		t.Fatal(err)
	}
	if s.server, err = scripted.NewServer(sc, scripted.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	s.v.URL = s.server.URL()
	return s
}

// start begins cmd in the scene's folder and with its mark.
func (s *scene) start(cmd *exec.Cmd, env ...string) *bytes.Buffer {
	s.t.Helper()
	out := &bytes.Buffer{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.v.Cwd, out, out
	cmd.Env = append(append(os.Environ(), mark+"="+s.mark), env...)
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	return out
}

// lines returns how often each call did its work.
func (s *scene) lines() map[event.CallID]int {
	b, err := os.ReadFile(s.v.Ledger)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	out := map[event.CallID]int{}
	for _, l := range strings.Fields(string(b)) {
		out[event.CallID(l)]++
	}
	return out
}

// gone waits until no process bears the scene's mark, and no guardian that
// worked for the victim is left.
func (s *scene) gone() {
	s.t.Helper()
	ctx, done := context.WithTimeout(s.t.Context(), time.Minute)
	defer done()
	var left []string
	if !patient(ctx, func() bool { left = s.living(); return len(left) == 0 }) {
		s.t.Errorf("processes outlived their runtime: %v", left)
	}
}

// living lists the processes that the victim left.
func (s *scene) living() (out []string) {
	bears := func(env []byte) bool {
		return bytes.Contains(env, []byte(mark+"="+s.mark)) || bytes.HasPrefix(env, fmt.Appendf(nil, "RIPCORD_GUARDIAN=%d\x00", s.pid))
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err != nil || !bears(env) {
			continue
		}
		cmd, _ := os.ReadFile(d + "/cmdline")
		if pid, _ := strconv.Atoi(filepath.Base(d)); pid != os.Getpid() {
			out = append(out, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmd, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// journals returns the sessions that stand there, and their files' bytes.
func (s *scene) journals() map[event.SessionID][]byte {
	out := map[event.SessionID][]byte{}
	files, _ := filepath.Glob(filepath.Join(s.v.Root, "sessions", "s_*", "journal.jsonl"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		out[event.SessionID(filepath.Base(filepath.Dir(f)))] = b
	}
	return out
}

// truth is what a journal says about a call.
type truth struct {
	started, ended bool // ended: by a real result
	outcome        event.CallOutcome
	text           string
}

func truths(b []byte) map[event.CallID]*truth {
	out := map[event.CallID]*truth{}
	of := func(id event.CallID) *truth {
		if out[id] == nil {
			out[id] = &truth{}
		}
		return out[id]
	}
	for line := range bytes.Lines(b) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		r, err := event.Parse(line)
		if err != nil || !whole {
			break
		}
		p, err := r.Body()
		if err != nil {
			break
		}
		switch p := p.(type) {
		case event.CallStarted:
			of(r.Call).started = true
		case event.CallEnded:
			c := of(r.Call)
			c.outcome, c.text, c.ended = p.Outcome, p.Content.Text(), !p.Synthetic
		}
	}
	return out
}

// resume opens what the dead left, looks at it, and has one more turn done. It
// returns what the model is told about each call.
func (s *scene) resume() (says map[event.CallID]*truth) {
	s.t.Helper()
	s.gone()
	before := s.journals()
	atDeath := s.lines()
	r, err := s.v.rig(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		if err := r.close(context.WithoutCancel(s.t.Context())); err != nil {
			s.t.Errorf("close: %v", err)
		}
	}()
	for id, b := range before {
		lines, whole := split(b)
		was := truths(b)
		if _, err := r.rt.Open(s.t.Context(), api.OpenRequest{ID: id}); err != nil {
			s.t.Fatalf("open: %v", err)
		}
		after := s.journals()[id]
		s.complain(crashtest.Judge(crashtest.Case{Intended: lines, Floor: whole, Journal: after, Runs: atDeath, Ended: crashtest.FoundEnded(after)}))
		says = truths(after)
		s.told(was, says, atDeath)
		res, err := (&crashtest.Stage{Service: r.rt, ID: id}).Run(s.t.Context(), "and now?")
		if err != nil || *res.Outcome != event.TurnCompleted || len(res.Calls) != 0 {
			s.t.Errorf("the next turn: %+v %v", res, err)
		}
		if err := r.rt.Release(s.t.Context(), id); err != nil {
			s.t.Error(err)
		}
		after = s.journals()[id]
		s.complain(crashtest.Judge(crashtest.Case{Intended: lines, Floor: whole, Journal: after, Life: true, Runs: s.lines(), Ended: crashtest.FoundEnded(after)}))
		if now := s.lines(); fmt.Sprint(now) != fmt.Sprint(atDeath) {
			s.t.Errorf("the ledger says %v after recovery and said %v at the death", now, atDeath)
		}
		rep, err := r.rt.Verify(s.t.Context(), id)
		if err != nil || !rep.OK || rep.OpenTurn != nil {
			s.t.Errorf("verify: %+v %v", rep, err)
		}
	}
	for _, q := range s.server.Requests() {
		if q.Refuse != nil {
			s.t.Errorf("request %d was refused: %v", q.N, q.Refuse)
		}
	}
	s.gone()
	return says
}

// told judges what recovery says about each call against the ledger.
func (s *scene) told(was, now map[event.CallID]*truth, runs map[event.CallID]int) {
	s.t.Helper()
	for id, n := range now {
		w := was[id]
		if w == nil {
			w = &truth{}
		}
		switch {
		case w.outcome == event.CallStopped, w.outcome == event.CallSkipped: // before the death; what was stopped may have begun
			if n.text != w.text || w.outcome == event.CallSkipped && runs[id] != 0 {
				s.t.Errorf("call %s had ended %s; it ran %d times and is told as %q", id, w.outcome, runs[id], n.text)
			}
		case w.ended:
			if runs[id] != 1 || n.text != w.text {
				s.t.Errorf("call %s had ended %s; it ran %d times and is told as %q", id, w.outcome, runs[id], n.text)
			}
		case !w.started:
			if runs[id] != 0 || !strings.Contains(n.text, "Nothing of it ran") {
				s.t.Errorf("call %s had not started; it ran %d times and is told as %q", id, runs[id], n.text)
			}
		case n.outcome == event.CallFinished:
			if runs[id] != 1 {
				s.t.Errorf("call %s is told as finished and ran %d times", id, runs[id])
			}
		case n.outcome != event.CallUnknown || !strings.Contains(n.text, "Do not retry blindly."):
			s.t.Errorf("call %s had started and is told as %s: %q", id, n.outcome, n.text)
		}
	}
	for id, n := range runs {
		if n > 1 || was[id] == nil || !was[id].started {
			s.t.Errorf("call %s ran %d times; its start stands in the journal: %v", id, n, was[id] != nil && was[id].started)
		}
	}
}

func (s *scene) complain(vs []crashtest.Violation) {
	s.t.Helper()
	for _, v := range vs {
		s.t.Error(v)
	}
}

// A process that kills itself at each point of the writes that matter leaves
// something true behind: nothing runs twice, nothing survives, the model is
// told what is known.
//
// proves B028, REC-04, REC-06, REC-07, REC-08, LOG-12, PRF-03, B022
func TestKillAtEachPointOfAWrite(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type kill struct {
		name string
		v    victim
		want int               // lines of c2 in the end, -1: 0 or 1
		told event.CallOutcome // of c2; empty: several are true
	}
	kills := []kill{
		{"K1", victim{Point: crashtest.AfterSync, Type: event.TypeInboxAccepted, N: 1}, 0, ""},
		{"K2", victim{Point: crashtest.AfterWrite, Type: event.TypeChunk, N: 2}, 0, ""},
		{"K3", victim{Point: crashtest.AfterSync, Type: event.TypeAssistantMessage, N: 1}, 0, event.CallSkipped},
		{"K4", victim{Point: inTool, Type: event.TypeCallStarted, N: 2, Line: "c2"}, 1, event.CallUnknown},
		{"K5", victim{Point: crashtest.BeforeWrite, Type: event.TypeCallEnded, N: 2}, 1, event.CallFinished}, // its guardian kept the end
		{"K6", victim{Point: crashtest.AfterSync, Type: event.TypeCallEnded, N: 2}, 1, event.CallFinished},
	}
	types := []event.Type{event.TypeSessionOpened, event.TypeInboxAccepted, event.TypeTurnStarted, event.TypeModelRequest,
		event.TypeAssistantMessage, event.TypeCallStarted, event.TypeProcessStarted, event.TypeCallEnded, event.TypeStepEnded, event.TypeTurnEnded}
	for i, typ := range types {
		for k, p := range crashtest.Points()[:5] {
			if full() || (i+k)%5 == 0 && coarser == 1 {
				n, want := 1, 0
				if typ == event.TypeCallStarted || typ == event.TypeProcessStarted || typ == event.TypeCallEnded {
					n, want = 2, -1
				}
				if typ == event.TypeStepEnded || typ == event.TypeTurnEnded {
					want = 1
				}
				kills = append(kills, kill{fmt.Sprintf("%s of %s", p, typ), victim{Point: p, Type: typ, N: n}, want, ""})
			}
		}
	}
	for _, k := range kills {
		t.Run(k.name, func(t *testing.T) {
			pause := "true"
			if k.v.Point == inTool {
				pause = "sleep 60"
			}
			s := newScene(t, k.v, pause)
			spec, err := json.Marshal(s.v)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			out := s.start(cmd, asVictim+"="+string(spec))
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("the process was not killed: %v\n%s", err, out)
			}
			says := s.resume()
			if c := says["c2"]; k.told != "" && (c == nil || c.outcome != k.told) {
				t.Errorf("the model is told %+v about the second call, want %s", c, k.told)
			}
			if got := s.lines()["c2"]; k.want >= 0 && got != k.want || got > 1 {
				t.Errorf("the second call left %d lines, want %d", got, k.want)
			}
		})
	}
	t.Logf("%d kills", len(kills))
}

// A process that kills itself while it is steered, stopped for other words,
// asked again or told to summarize: every text that was taken is in one place,
// nothing runs twice, and the session goes on.
//
// proves TRN-13, TRN-16, RTY-10, INT-70, TRN-12, REC-04, REC-08, PRF-03
func TestKillWhileWordsAreOnTheirWay(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kills := []victim{
		{Then: "steer", Type: event.TypeInboxAccepted, N: 2},
		{Then: "steer", Type: event.TypeInboxClaimed, N: 2},
		{Then: "now", Type: event.TypeInboxAccepted, N: 2},
		{Then: "now", Type: event.TypeTurnEnded, N: 1},
		{Then: "now", Type: event.TypeInboxClaimed, N: 2},
		{Then: "retry", Type: event.TypeRewound, N: 1},
		{Then: "retry", Type: event.TypeTurnStarted, N: 2},
		{Then: "compact", Type: event.TypeCompactionStarted, N: 1},
		{Then: "compact", Type: event.TypeCompactionSummary, N: 1},
		{Then: "compact", Type: event.TypeTurnEnded, N: 2},
	}
	n := 0
	for i, k := range kills {
		for j, p := range crashtest.Points()[:5] {
			if !full() && (i+j)%5 != 0 || coarser > 1 && i%3 != 0 {
				continue
			}
			n++
			t.Run(fmt.Sprintf("%s, %s of %s", k.Then, p, k.Type), func(t *testing.T) {
				k.Point = p
				pause := "true"
				if k.Then == "now" || k.Then == "retry" {
					pause = "sleep 60"
				}
				s := newScene(t, k, pause)
				spec, err := json.Marshal(s.v)
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(self)
				out := s.start(cmd, asVictim+"="+string(spec))
				if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
					t.Fatalf("the process was not killed: %v\n%s", err, out)
				}
				s.resume()
			})
		}
	}
	t.Logf("%d kills", n)
}

// The command itself, killed at any moment, leaves something true behind.
//
// proves PRF-03, REC-01, REC-07, REC-08, B028
func TestKillOfTheCommandAtRandomTimes(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "ripcord")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "github.com/ripcord-go/ripcord/cmd/ripcord").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	kills := max(8/coarser, 3)
	if full() {
		kills = 30
	}
	const seed = 11
	rnd := rand.New(rand.NewPCG(seed, 3))
	var mu sync.Mutex
	at := map[int]int{} // by records that stood there
	for i := range kills {
		after := time.Duration(rnd.IntN(500)) * time.Millisecond
		t.Run(fmt.Sprintf("%d after %v", i, after), func(t *testing.T) {
			s := newScene(t, victim{}, "sleep 0.05")
			cmd := exec.Command(bin, "run", "--yes", "please append")
			out := s.start(cmd, "RIPCORD_HOME="+s.v.Root, "RIPCORD_PROVIDER=openai-chat", "RIPCORD_BASE_URL="+s.v.URL, "RIPCORD_MODEL=script", "RIPCORD_API_KEY=none", "RIPCORD_CONFIG="+os.DevNull)
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-time.After(after):
				_ = cmd.Process.Kill() // it may have ended
				<-ended
			case err := <-ended:
				if err != nil {
					t.Fatalf("the command ended by itself: %v\n%s", err, out)
				}
			}
			n := 0
			for _, b := range s.journals() {
				lines, _ := split(b)
				n += len(lines)
			}
			mu.Lock()
			at[n]++
			mu.Unlock()
			s.resume()
		})
	}
	t.Logf("seed %d: %d kills, by records that stood there: %v", seed, kills, at)
}
