package ripcord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/turn"
)

// patience bounds what is not supposed to take time, however slow the machine.
const patience = time.Minute

// bench is a runtime on files, with real processes, in front of the scripted
// server in strict mode.
type bench struct {
	*testing.T
	ctx    context.Context
	root   string // of the data
	cwd    string
	server *scripted.Server
	cfg    ripcord.Config
	rt     *ripcord.Runtime
	id     event.SessionID
}

func newBench(t *testing.T, script string, change ...func(*ripcord.Config)) *bench {
	t.Helper()
	b := &bench{T: t, root: t.TempDir(), cwd: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	b.ctx = ctx
	sc, err := scripted.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	if b.server, err = scripted.NewServer(sc, scripted.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.server.Close() })
	m, err := openai.New(openai.Config{BaseURL: b.server.URL(), Model: "script", Echo: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	b.cfg = ripcord.Config{Model: m, Gate: gate.Rules{Policy: gate.YesAll}, Limits: ripcord.Limits{Backoff: time.Millisecond}}
	for _, f := range change {
		f(&b.cfg)
	}
	b.start()
	t.Cleanup(b.end)
	b.open("")
	return b
}

// withBash gives the runtime the tools that are built in, on real processes.
func withBash(t *testing.T) func(*ripcord.Config) { return withGrace(t, 300*time.Millisecond) }

// withGrace is withBash with so much time between TERM and KILL.
func withGrace(t *testing.T, grace time.Duration) func(*ripcord.Config) {
	return func(c *ripcord.Config) {
		h, err := proc.NewHost(proc.Options{Scratch: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		c.Host = h
		c.Tools = append(c.Tools, builtin.Tools(builtin.Options{Host: h, Grace: grace})...)
		c.Limits.JobGrace = 300 * time.Millisecond
	}
}

func with(tools ...tool.Tool) func(*ripcord.Config) {
	return func(c *ripcord.Config) { c.Tools = append(c.Tools, tools...) }
}

// start makes a runtime as the next process would.
func (b *bench) start() {
	b.Helper()
	store, err := file.Open(b.root, file.Options{Check: check, CheckFrom: session.CheckFrom})
	if err != nil {
		b.Fatal(err)
	}
	cfg := b.cfg
	cfg.Store = store
	if b.rt, err = ripcord.New(cfg); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) end() {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.rt.Close(ctx); err != nil {
		b.Errorf("close: %v", err)
	}
}

func (b *bench) open(id event.SessionID) api.SessionState {
	b.Helper()
	s, err := b.rt.Open(b.ctx, api.OpenRequest{ID: id, Cwd: b.cwd})
	if err != nil {
		b.Fatal(err)
	}
	if b.id != s.ID { // a test may look at it meanwhile
		b.id = s.ID
	}
	return s
}

// again closes the runtime and opens the session in another.
func (b *bench) again() api.SessionState { b.Helper(); b.end(); b.start(); return b.open(b.id) }

func (b *bench) submit(text string) event.InputID {
	b.Helper()
	sub, err := b.rt.Submit(b.ctx, api.SubmitRequest{Session: b.id, Input: event.UserInput{Content: event.TextOf(text)}})
	if err != nil {
		b.Fatal(err)
	}
	return sub.Input
}

func (b *bench) wait(id event.InputID) api.Result {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	res, err := b.rt.Wait(ctx, b.id, id)
	if err != nil {
		b.Fatalf("wait: %v\n%s", err, b.types())
	}
	return res
}

func (b *bench) run(text string) api.Result { b.Helper(); return b.wait(b.submit(text)) }

// esc stops what runs as a person does, and keeps what waits.
func (b *bench) esc(id event.InputID) api.Interrupted {
	b.Helper()
	got, err := b.rt.Interrupt(b.ctx, api.InterruptRequest{Session: b.id, Input: id, Who: "me", KeepInbox: true})
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func (b *bench) outcome(res api.Result, want event.TurnOutcome) {
	b.Helper()
	if res.Outcome == nil || *res.Outcome != want {
		b.Fatalf("outcome of %+v (error %+v), want %s\n%s", res, res.Error, want, b.types())
	}
}

// until waits, with a bound, until ok holds.
func (b *bench) until(what string, ok func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.Fatalf("never: %s\n%s", what, b.types())
		}
	}
}

// streams waits until a piece of the running turn's answer, of the given kind, can
// be seen: live, or in the journal if it came before anybody looked.
func (b *bench) streams(kind event.ChunkKind) {
	b.Helper()
	st, err := b.rt.Status(b.ctx, b.id)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for f, err := range b.rt.Follow(ctx, b.id, 0, true) {
		if err != nil {
			b.Fatal(err)
		}
		if f.Live != nil && f.Live.Kind == api.LiveKind(kind) || f.Record != nil && f.Record.Type == event.TypeChunk && f.Record.Turn >= st.Turn && strings.Contains(string(f.Record.Data), `"chunk_kind":"`+string(kind)+`"`) {
			return
		}
	}
	b.Fatalf("no %s was ever seen\n%s", kind, b.types())
}

// copied is the data folder as a death at this moment would leave it. What is
// renamed or removed meanwhile, such as a snapshot that is being written, is not
// in it.
func (b *bench) copied() string {
	b.Helper()
	to := b.TempDir()
	err := filepath.WalkDir(b.root, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) && path != b.root {
			return nil
		}
		if err != nil || !d.Type().IsRegular() && !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(b.root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		raw, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), raw, 0o600)
	})
	if err != nil {
		b.Fatal(err)
	}
	return to
}

// journal is the file, as another process reads it.
func (b *bench) journal() string {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join(b.root, "sessions", string(b.id), "journal.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	return string(raw)
}

func (b *bench) records() []event.Record {
	b.Helper()
	store, err := file.Open(b.root, file.Options{Check: check, CheckFrom: session.CheckFrom})
	if err != nil {
		b.Fatal(err)
	}
	var out []event.Record
	for rec, err := range store.Read(context.Background(), b.id, 0) {
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

func (b *bench) types() string {
	var s strings.Builder
	for _, rec := range b.records() {
		fmt.Fprintf(&s, "%d %s turn %d %s\n", rec.Seq, rec.Type, rec.Turn, rec.Call)
	}
	return s.String()
}

func (b *bench) recorded(t event.Type) int {
	return strings.Count(b.journal(), `"type":"`+string(t)+`"`)
}

// fold is the session as its journal says it, which must have no open turn.
func (b *bench) fold() *turn.Ledger {
	b.Helper()
	l, err := turn.Fold(b.records())
	if err != nil {
		b.Fatal(err)
	}
	if l.OpenTurn() != 0 {
		b.Errorf("turn %d is open\n%s", l.OpenTurn(), b.types())
	}
	return l
}

// results are the results of calls as recorded.
func (b *bench) results() map[event.CallID]event.CallEnded {
	b.Helper()
	out := map[event.CallID]event.CallEnded{}
	recs := b.records()
	for i := range recs {
		p, err := recs[i].Body()
		if err != nil {
			b.Fatal(err)
		}
		if e, ok := p.(event.CallEnded); ok {
			if _, twice := out[recs[i].Call]; twice {
				b.Errorf("call %s has two results", recs[i].Call)
			}
			out[recs[i].Call] = e
		}
	}
	return out
}

// lastRequest is the body of the newest request, which must have been accepted.
func (b *bench) lastRequest() string {
	b.Helper()
	reqs := b.server.Requests()
	for _, r := range reqs {
		if r.Refuse != nil {
			b.Errorf("request %d was refused: %v", r.N, r.Refuse)
		}
	}
	return string(reqs[len(reqs)-1].Body)
}

// pids reads numbers from a file below the workspace.
func (b *bench) pids(name string) (out []int) {
	raw, _ := os.ReadFile(filepath.Join(b.cwd, name))
	for _, f := range strings.Fields(string(raw)) {
		var n int
		if _, err := fmt.Sscan(f, &n); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func alive(pids ...int) (out []int) {
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err != nil && errors.Is(err, syscall.ESRCH) {
			continue
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, rest, _ := strings.Cut(string(raw), ") "); err == nil && !strings.HasPrefix(rest, "Z") {
			out = append(out, pid)
		}
	}
	return out
}

// bash is a call of the script, as a line of it.
func bash(id, command string) string {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("call bash %s\nargs %q\nend\n", id, args)
}

// answers joins answers of a script; each is its steps, one a line.
func answers(each ...string) string {
	return "answer\n" + strings.Join(each, "\nanswer\n")
}

func outcomes(res api.Result) (out []event.CallOutcome) {
	for _, c := range res.Calls {
		out = append(out, c.Outcome)
	}
	return slices.Clip(out)
}
