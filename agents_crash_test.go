package ripcord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/terminal"
)

// asVictim in the environment makes this test binary a program that runs one
// turn until it is killed; its value is a [victim].
const asVictim = "RIPCORD_ROOT_VICTIM"

type victim struct{ Root, Cwd, URL, Prompt string }

// runVictim is main of a victim.
func runVictim(spec string) error {
	var v victim
	if err := json.Unmarshal([]byte(spec), &v); err != nil {
		return err
	}
	store, err := file.Open(v.Root, file.Options{Check: check})
	if err != nil {
		return err
	}
	host, err := proc.NewHost(proc.Options{Scratch: filepath.Join(v.Root, "tmp")})
	if err != nil {
		return err
	}
	m, err := openai.New(openai.Config{BaseURL: v.URL, Model: "script", Echo: true})
	if err != nil {
		return err
	}
	terms := terminal.New(terminal.Options{Host: host})
	rt, err := ripcord.New(ripcord.Config{Store: store, Model: m, Host: host, Gate: gate.Rules{Policy: gate.YesAll},
		Tools: slices.Concat(builtin.TaskTools(), builtin.Tools(builtin.Options{Host: host}), terms.Tools())})
	if err != nil {
		return err
	}
	ctx := context.Background()
	st, err := rt.Open(ctx, api.OpenRequest{Cwd: v.Cwd})
	if err == nil {
		_, err = rt.Run(ctx, st.ID, v.Prompt)
	}
	return errors.Join(err, rt.Close(ctx), terms.Close(), host.Close(), m.Close())
}

// die has a process of its own run prompt, and kills it once ready holds. The
// session that it leaves is b's.
func (b *bench) die(prompt string, ready func() bool) {
	b.Helper()
	b.end()
	b.root = b.TempDir()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	spec, err := json.Marshal(victim{b.root, b.cwd, b.server.URL(), prompt})
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Dir = append(os.Environ(), asVictim+"="+string(spec)), b.cwd
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	dead := false
	kill := func() {
		if !dead {
			dead = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	}
	b.Cleanup(kill)
	b.until("its session is there", func() bool {
		found, _ := filepath.Glob(filepath.Join(b.root, "sessions", "s_*", "journal.jsonl"))
		slices.Sort(found) // by time of creation
		if len(found) == 0 {
			return false
		}
		b.id = event.SessionID(filepath.Base(filepath.Dir(found[0])))
		return true
	})
	b.until("it is where it is to die", ready)
	kill()
	b.start()
}

// A process dies with a tree of three levels at work, one of it in the
// background. Opening the root closes every level's books, the leaves first, and
// each level's call says what its sub-agent's journal shows.
//
// proves TOL-23, REC-03, REC-04, REC-07, REC-08, REC-09, PRC-04, B087
func TestADeathWithATreeAtWorkIsTrueAtEveryLevel(t *testing.T) {
	back := callOf("task", "tb", map[string]any{"prompt": "beside it", "background": true})
	script := strings.Replace(crashtest.AgentTree(3, stubborn), "text I am level 1.\n", "text I am level 1.\n"+back, 1) +
		said("beside it", bash("side", "echo $$ >>pids; touch beside; sleep 300")+"finish tool")
	b := newBench(t, script, withBash(t), withAgents)
	b.die("level 0 please", func() bool {
		_, err := os.Stat(filepath.Join(b.cwd, "beside"))
		_, up := os.Stat(filepath.Join(b.cwd, "up"))
		line := b.trunk()
		return err == nil && up == nil && len(b.pids("pids")) == 4 && len(line) == 4 && line[3].recorded(event.TypeProcessStarted) == 1
	})
	before := map[event.SessionID]string{}
	for _, at := range b.trunk() {
		before[at.id] = at.journal()
	}
	var preview api.RepairPreview
	b.until("guardians have ended the processes", func() bool { // also those whose pids nobody wrote down
		var err error
		if preview, err = b.rt.PreviewRepair(b.ctx, b.id); err != nil || preview.Turn != 1 {
			t.Fatalf("%+v %v", preview, err)
		}
		return len(alive(b.pids("pids")...)) == 0 && !strings.Contains(fmt.Sprintf("%s", preview.Adds), "found alive")
	})
	for _, at := range b.trunk() {
		if at.journal() != before[at.id] {
			t.Error("a preview wrote")
		}
	}
	st := b.open(b.id)
	if st.Recovered == nil || st.Recovered.Turn != 1 || *st.Last.Outcome != event.TurnInterrupted || !st.Last.UnknownEffects {
		t.Errorf("%+v", st)
	}
	for _, rec := range b.records() {
		if rec.Type == event.TypeCallEnded && !slices.ContainsFunc(preview.Adds, func(raw json.RawMessage) bool { return strings.Contains(string(raw), string(rec.Data)) }) {
			t.Errorf("the preview did not say %s\nbut\n%s", rec.Data, preview.Adds)
		}
	}
	line := b.trunk()
	for i, at := range line {
		if e := at.ending(); e.Outcome != event.TurnInterrupted {
			t.Errorf("level %d: %+v", i, e)
		}
		if i > 0 {
			at.free()
		}
		if i == 3 {
			continue // that the level above says "interrupted" shows which was closed first
		}
		e := at.results()[event.CallID(fmt.Sprintf("t%d", i))]
		holds := []string{"Do not retry blindly.", "What its sub-agent's journal says", string(line[i+1].id), ": interrupted", "unknown", "half of it"}
		if i == 0 {
			holds = append(holds, "I am level 1.", "call task (t1): unknown")
		}
		for _, s := range holds {
			if !strings.Contains(e.Content.Text(), s) {
				t.Errorf("level %d: %q is missing:\n%s", i, s, e.Content.Text())
			}
		}
		if e.Outcome != event.CallUnknown || !e.Synthetic {
			t.Errorf("level %d: %+v", i, e)
		}
	}
	side := line[1].kids()[0]
	if e := side.ending(); e.Outcome != event.TurnInterrupted || side.results()["side"].Outcome != event.CallUnknown {
		t.Errorf("in the background: %+v", e)
	}
	side.free()
	b.outcome(b.run("hello"), event.TurnCompleted)
	if body := b.lastRequest(); !strings.Contains(body, "half of it") {
		t.Errorf("the model does not read it: %s", body)
	}
	was := b.journal()
	if st := b.again(); st.Recovered != nil { // recovering twice adds nothing
		t.Errorf("%+v", st.Recovered)
	}
	if !strings.HasPrefix(b.journal(), was) {
		t.Error("rewritten")
	}
}

// trunk is b's line along foreground sub-agents.
func (b *bench) trunk() (out []*bench) {
	b.Helper()
	for at := b; at != nil && at.there(); {
		out = append(out, at)
		var next *bench
		for _, rec := range at.records() {
			if rec.Type != event.TypeSubAgentLinked || strings.Contains(string(rec.Data), `"background":true`) {
				continue
			}
			p, err := rec.Body()
			if err != nil {
				b.Fatal(err)
			}
			next = b.of(p.(event.SubAgentLinked).Child)
		}
		at = next
	}
	return out
}

// lay makes b's data folder what a death would leave: the journals' first lines.
func (b *bench) lay(journals map[event.SessionID][]string) {
	b.Helper()
	b.end()
	b.root = b.TempDir()
	for id, lines := range journals {
		dir := filepath.Join(b.root, "sessions", string(id))
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(strings.Join(lines, "")), 0o600)); err != nil {
			b.Fatal(err)
		}
	}
	b.start()
}

// Both journals are cut wherever one death could cut them. Whatever the child
// had ended is what it was; the parent's call is finished only with the child's
// own answer, and nothing is run again.
//
// proves TOL-23, REC-04, REC-05, REC-06, PRF-03
func TestADeathBetweenTwoJournalsIsToldAsEachHasIt(t *testing.T) {
	runs := 0
	mark := deed("mark", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		runs++
		return tool.Text("marked"), nil
	})
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "work"})+"finish tool")+
		said("work", "text I begin.\ncall mark m1 {}\nfinish tool")+done("work", "All is marked.")+done("please go", "Fine.")+
		"default\ntext Hello.\nfinish stop\n", with(mark), withAgents)
	b.outcome(b.run("please go"), event.TurnCompleted)
	kid := b.kids()[0]
	up, down := strings.SplitAfter(b.journal(), "\n"), strings.SplitAfter(kid.journal(), "\n")
	up, down = up[:len(up)-1], down[:len(down)-1]
	linked, ended := -1, -1
	for i, rec := range b.records() {
		switch rec.Type {
		case event.TypeSubAgentLinked:
			linked = i
		case event.TypeCallEnded:
			ended = i
		}
	}
	if runs != 1 || linked < 0 || ended < linked {
		t.Fatalf("%d runs, link %d, end %d", runs, linked, ended)
	}
	seen := map[string]bool{}
	for m := 0; m <= len(down); m++ {
		left := map[event.SessionID][]string{b.id: up[:linked+1]}
		if m > 0 {
			left[kid.id] = down[:m]
		}
		b.lay(left)
		st := b.open(b.id)
		kid := b.of(kid.id)
		e := b.results()["t1"]
		text := e.Content.Text()
		switch {
		case m == 0:
			if e.Outcome != event.CallUnknown || !strings.Contains(text, "had not begun") {
				t.Errorf("no journal: %+v", e)
			}
		case m == len(down):
			if e.Outcome != event.CallFinished || !*e.Success || !strings.Contains(text, "All is marked.") || st.Last.UnknownEffects {
				t.Errorf("the child had ended: %+v", e)
			}
		default:
			if e.Outcome != event.CallUnknown || !strings.Contains(text, string(kid.id)) {
				t.Errorf("cut at %d: %+v", m, e)
			}
		}
		if m > 0 {
			kid.fold()
			kid.free()
			for _, c := range []string{"no turn of it has begun", "(m1): unknown", "(m1): skipped", "calls that finished: 1"} {
				seen[c] = seen[c] || strings.Contains(text, c)
			}
		}
		b.outcome(b.run("hello"), event.TurnCompleted)
		_ = b.lastRequest()
		if st := b.again(); st.Recovered != nil {
			t.Errorf("cut at %d: recovered twice: %+v", m, st.Recovered)
		}
		if t.Failed() {
			t.Fatalf("cut at %d of the child\n%s\n%s", m, text, b.types())
		}
	}
	if len(seen) != 4 || seen["(m1): unknown"] == false || seen["no turn of it has begun"] == false || seen["(m1): skipped"] == false || runs != 1 {
		t.Errorf("seen %v, runs %d", seen, runs)
	}
}

// A sub-agent's journal that can't be had keeps nobody from the parent's: it is
// said, and what can be known is known.
//
// proves TOL-23, LOG-15, REC-01
func TestAJournalThatCannotBeHadKeepsNobodyFromItsParent(t *testing.T) {
	b := newBench(t, said("a person's", "text so far\nhang")+crashtest.AgentTree(2, "echo $$ >>pids; touch up; sleep 300"), withBash(t), withAgents)
	b.die("level 0 please", func() bool { _, err := os.Stat(filepath.Join(b.cwd, "up")); return err == nil && len(b.trunk()) == 3 })
	b.until("guardians have ended the processes", func() bool { return len(alive(b.pids("pids")...)) == 0 })
	left := map[event.SessionID][]string{}
	ids := []event.SessionID{}
	for _, at := range b.trunk() {
		left[at.id] = strings.SplitAfter(at.journal(), "\n")
		ids = append(ids, at.id)
	}
	t.Run("damaged", func(t *testing.T) {
		b := b.under(t)
		now := map[event.SessionID][]string{}
		for id, lines := range left {
			now[id] = slices.Clone(lines)
		}
		now[ids[1]][1] = strings.Replace(now[ids[1]][1], `"pid":`, `"pod":`, 1)
		b.lay(now)
		b.id = ids[0]
		b.open(b.id)
		e := b.results()["t0"]
		if e.Outcome != event.CallUnknown || !strings.Contains(e.Content.Text(), "could not be read") {
			t.Errorf("%+v", e)
		}
		b.outcome(b.run("hello"), event.TurnCompleted)
		_ = b.lastRequest()
	})
	t.Run("held elsewhere", func(t *testing.T) {
		b := b.under(t)
		b.lay(left)
		b.id = ids[0]
		other := b.of(ids[1])
		other.start()
		t.Cleanup(other.end)
		other.open(ids[1]) // somebody resumed the child alone, and works with it
		id := other.submit("a person's")
		other.streams(event.ChunkText)
		b.open(b.id)
		e := b.results()["t0"]
		if e.Outcome != event.CallUnknown || !strings.Contains(e.Content.Text(), "could not be read") || !strings.Contains(e.Content.Text(), string(ids[1])) {
			t.Errorf("%+v", e)
		}
		other.esc(id)
		other.outcome(other.wait(id), event.TurnAborted)
		b.outcome(b.run("hello"), event.TurnCompleted)
		_ = b.lastRequest()
	})
}

// under is b for a subtest.
func (b *bench) under(t *testing.T) *bench {
	other := *b
	other.T = t
	other.start()
	t.Cleanup(func() { other.end() })
	return &other
}
