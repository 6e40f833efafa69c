package ripcord_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// rig is a runtime over a memory store and the scripted server in strict mode.
type rig struct {
	t      *testing.T
	store  *mem.Store
	server *scripted.Server
	rt     *ripcord.Runtime
	id     event.SessionID
}

type rigOption func(*ripcord.Config, *mem.Options)

func check() journal.Checker { return turn.Check() }

func newRig(t *testing.T, script string, opts ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t}
	sc, err := scripted.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	if r.server, err = scripted.NewServer(sc, scripted.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.server.Close() })
	m, err := openai.New(openai.Config{BaseURL: r.server.URL(), Model: "script"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	mo := mem.Options{Check: check}
	cfg := ripcord.Config{Model: m, Gate: gate.Rules{Policy: gate.YesAll}, Limits: ripcord.Limits{Backoff: time.Millisecond}}
	for _, o := range opts {
		o(&cfg, &mo)
	}
	r.store = mem.New(mo)
	cfg.Store = r.store
	if r.rt, err = ripcord.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.rt.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	s, err := r.rt.Open(t.Context(), api.OpenRequest{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r.id = s.ID
	return r
}

func (r *rig) run(text string) api.Result {
	r.t.Helper()
	res, err := r.rt.Run(r.t.Context(), r.id, text)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func (r *rig) records() []event.Record {
	r.t.Helper()
	var out []event.Record
	for rec, err := range r.store.Read(r.t.Context(), r.id, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

func (r *rig) types() string {
	var b strings.Builder
	for _, rec := range r.records() {
		b.WriteString(string(rec.Type) + "\n")
	}
	return b.String()
}

// echo is a tool written without knowing about interruption.
type echo struct{ runs atomic.Int32 }

func (e *echo) Spec() tool.Spec {
	return tool.Spec{Name: "echo", Description: "says it back", Schema: json.RawMessage(`{"type":"object"}`), Effect: tool.Pure, Concurrent: true}
}

func (e *echo) Execute(_ context.Context, c *tool.Call) (tool.Result, error) {
	e.runs.Add(1)
	return tool.Text("echo " + string(c.Args)), nil
}

func withTools(ts ...tool.Tool) rigOption {
	return func(c *ripcord.Config, _ *mem.Options) { c.Tools = ts }
}

// proves TRN-05, TRN-06, LOG-03, TOL-08
func TestATurnWithACallCompletesAndItsJournalSaysSo(t *testing.T) {
	e := &echo{}
	r := newRig(t, `
T'Let me see. ' C(c1,echo) A'{"x":1}' E U(10,5) F(tool)
T'Done.' U(20,2) F(stop)
`, withTools(e))
	res := r.run("go")
	if *res.Outcome != event.TurnCompleted || res.Text != "Done." || len(res.Calls) != 1 {
		t.Fatalf("result %+v\n%s", res, r.types())
	}
	if e.runs.Load() != 1 {
		t.Errorf("the tool ran %d times", e.runs.Load())
	}
	if in, out := *res.Usage.Input, *res.Usage.Output; in != 30 || out != 7 || !res.Usage.Complete {
		t.Errorf("usage %d/%d %v", in, out, res.Usage.Complete)
	}
	t.Log("\n" + r.types())
}

// proves INT-45, TRN-07, TRN-08, TRN-02
func TestAnInterruptInTheStreamKeepsThePartialAnswerAndTheNextTurnWorks(t *testing.T) {
	r := newRig(t, `
T'half an answer' HANG
T'Hello again.' F(stop)
`)
	sub, err := r.rt.Submit(t.Context(), api.SubmitRequest{Session: r.id, Input: event.UserInput{Content: event.TextOf("hi")}})
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range r.rt.Follow(t.Context(), r.id, 0, true) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Live != nil && f.Live.Kind == api.LiveText || f.Record != nil && f.Record.Type == event.TypeChunk {
			break // live, or in the journal if it came before anybody looked
		}
	}
	got, err := r.rt.Interrupt(t.Context(), api.InterruptRequest{Session: r.id, Input: sub.Input, Who: "me"})
	if err != nil || got.State != "stopping" {
		t.Fatalf("interrupt: %+v %v", got, err)
	}
	res, err := r.rt.Wait(t.Context(), r.id, sub.Input)
	if err != nil {
		t.Fatal(err)
	}
	if *res.Outcome != event.TurnAborted || *res.Reason != string(interrupt.UserSIGINT) || res.Text != "half an answer" || res.Who != "me" {
		t.Fatalf("result %+v", res)
	}
	if again, _ := r.rt.Interrupt(t.Context(), api.InterruptRequest{Session: r.id, Input: sub.Input}); again.Noop != "idle" {
		t.Errorf("a late interrupt: %+v", again)
	}
	res = r.run("and now?")
	if *res.Outcome != event.TurnCompleted || res.Text != "Hello again." {
		t.Fatalf("second turn %+v\n%s", res, r.types())
	}
	reqs := r.server.Requests()
	last := string(reqs[len(reqs)-1].Body)
	if !strings.Contains(last, "half an answer") || !strings.Contains(last, "turn_aborted") {
		t.Errorf("the second request lacks the partial text or the marker: %s", last)
	}
}
