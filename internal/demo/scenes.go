package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/turn"
)

const said = "I will start the long job now. "

// serve starts the strict scripted model: words and one call, then, whatever
// is asked, words again.
func (s *stage) serve() (*scripted.Server, error) {
	args, err := json.Marshal(map[string]string{"command": s.tree()})
	if err != nil {
		return nil, err
	}
	script, err := scripted.Parse(fmt.Sprintf("answer\n  text %q\n  call bash demo_1\n  args %q\n  end\n  finish tool\nanswer always\n  text \"On we go.\"\n  finish stop\n", said, args))
	if err != nil {
		return nil, err
	}
	return scripted.NewServer(script, scripted.Options{})
}

// actors are a runtime on the demo's own folder and what belongs to it.
type actors struct {
	rt    *ripcord.Runtime
	model *openai.Model
	host  proc.Host
}

func (s *stage) hire(root string, server *scripted.Server, fs file.FS) (*actors, error) {
	store, err := file.Open(root, file.Options{Check: func() journal.Checker { return turn.Check() }, FS: fs})
	if err != nil {
		return nil, err
	}
	host, err := proc.NewHost(proc.Options{Scratch: filepath.Join(s.dir, "tmp")})
	if err != nil {
		return nil, err
	}
	m, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "demo", Provider: "scripted"})
	if err != nil {
		return nil, errors.Join(err, host.Close())
	}
	env := append(proc.Environ(os.Environ(), proc.DefaultDeny()), s.mark)
	rt, err := ripcord.New(ripcord.Config{Store: store, Model: m, Host: host, Gate: gate.Rules{Policy: gate.YesAll},
		Tools: builtin.Tools(builtin.Options{Host: host, Env: env})})
	if err != nil {
		return nil, errors.Join(err, m.Close(), host.Close())
	}
	return &actors{rt, m, host}, nil
}

func (a *actors) close(ctx context.Context) error {
	ctx, cancel := interrupt.Cleanup(ctx, bound)
	defer cancel()
	return errors.Join(a.rt.Close(ctx), a.model.Close(), a.host.Close())
}

// esc is scenario A.
func (s *stage) esc(ctx context.Context) (err error) {
	server, err := s.serve()
	if err != nil {
		return err
	}
	defer server.Close()
	root := filepath.Join(s.dir, "a")
	seen := &witness{}
	cast, err := s.hire(root, server, seen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cast.close(ctx)) }()
	st, err := cast.rt.Open(ctx, api.OpenRequest{Cwd: s.dir})
	if err != nil {
		return err
	}
	path := filepath.Join(root, "sessions", string(st.ID), "journal.jsonl")
	sub, err := cast.rt.Submit(ctx, api.SubmitRequest{Session: st.ID, Input: event.UserInput{Content: event.TextOf("run the long job")}})
	if err != nil {
		return err
	}
	s.acknowledged(path, seen, sub.Input)
	if !until(ctx, bound, func() bool { return len(commands(s.mark)) >= 6 && s.spooled(root, st.ID) }) {
		return fmt.Errorf("the tree of six never ran: %v", commands(s.mark))
	}
	before := len(commands(s.mark))
	s.caption("the model streams, bash runs a tree of %d processes: Esc", before)
	began := time.Now()
	if _, err := cast.rt.Interrupt(ctx, api.InterruptRequest{Session: st.ID, Input: sub.Input, Who: "demo"}); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	res, err := cast.rt.Wait(wait, st.ID, sub.Input)
	if err != nil {
		s.claim("a stopped turn ends", false, "%v", err)
		return nil
	}
	took := time.Since(began).Round(time.Millisecond)
	s.claim("the whole tree is gone", len(commands(s.mark)) == 0, "%d processes before, %d after %v", before, len(commands(s.mark)), took)
	s.claim("the turn says who stopped it", res.Outcome != nil && *res.Outcome == event.TurnAborted && res.Who == "demo", "outcome %s", deref(res.Outcome))
	d, err := readDisk(path)
	if err != nil {
		return err
	}
	s.books(d, event.TurnAborted)
	s.claim("the ending was on disk before it was shown", seen.durable(path) == int64(len(d.bytes)), "%d of %d bytes synced", seen.durable(path), len(d.bytes))
	end, _ := last[event.CallEnded](d)
	text := end.Content.Text()
	s.claim("the call is stopped, with its output so far", end.Outcome == event.CallStopped && strings.HasPrefix(text, "aborted by user after") && strings.Contains(text, "tick 1"), "outcome %s", end.Outcome)
	msg, _ := last[event.AssistantMessage](d)
	s.claim("what the model had said is kept", strings.Contains(msg.Content.Text(), strings.TrimSpace(said)), "%q", msg.Content.Text())
	return s.next(ctx, cast, st.ID, server)
}

// acknowledged looks whether the accepted input lies in the part of the file
// that had been synced when Submit returned.
func (s *stage) acknowledged(path string, seen *witness, id event.InputID) {
	upto := seen.durable(path)
	b, err := os.ReadFile(path)
	at := int64(bytes.Index(b, []byte(id)))
	s.claim("input is durable before it is acknowledged", err == nil && at >= 0 && at < upto, "at byte %d, synced up to %d", at, upto)
}

// spooled reports whether the command has printed a few lines.
func (s *stage) spooled(root string, id event.SessionID) bool {
	names, _ := filepath.Glob(filepath.Join(root, "sessions", string(id), "spool", "*.out"))
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && bytes.Contains(b, []byte("tick 3")) {
			return true
		}
	}
	return false
}

// books checks that the journal's bytes tell of one turn that was closed in
// order.
func (s *stage) books(d disk, want event.TurnOutcome) {
	end, at := last[event.TurnEnded](d)
	_, marker := last[event.TurnMarked](d)
	_, step := last[event.StepEnded](d)
	s.claim("the books are closed, in order, once", d.count(event.TypeTurnEnded) == 1 && end.Outcome == want && step >= 0 && step < marker && marker < at,
		"%d turn/end, outcome %s", d.count(event.TypeTurnEnded), end.Outcome)
	s.claim("every call that was asked for has one result", d.count(event.TypeCallRequested) == d.count(event.TypeCallEnded) && d.count(event.TypeCallEnded) > 0,
		"%d asked, %d answered", d.count(event.TypeCallRequested), d.count(event.TypeCallEnded))
}

// next runs one more turn: a strict model must accept the history.
func (s *stage) next(ctx context.Context, cast *actors, id event.SessionID, server *scripted.Server) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	res, err := cast.rt.Run(ctx, id, "go on")
	if err != nil {
		s.claim("the next turn just works", false, "%v", err)
		return nil
	}
	refused := error(nil)
	for _, q := range server.Requests() {
		refused = errors.Join(refused, q.Refuse)
	}
	s.claim("the next turn just works, on a strict model", refused == nil && *res.Outcome == event.TurnCompleted, "outcome %s, refusals: %v", *res.Outcome, refused)
	s.claim("the tool was never run a second time", s.runs() == 1, "it ran %d times", s.runs())
	return nil
}

func deref[T any](p *T) any {
	if p == nil {
		return "none"
	}
	return *p
}

// crashed is what was left of a killed runtime.
type crashed struct {
	root   string
	id     event.SessionID
	path   string
	before disk
	server *scripted.Server
}

// crash runs a turn in a child runtime and kills it in the middle.
func (s *stage) crash(ctx context.Context) (*crashed, error) {
	_ = os.Remove(filepath.Join(s.dir, "ledger"))
	server, err := s.serve()
	if err != nil {
		return nil, err
	}
	c := &crashed{root: filepath.Join(s.dir, "b"), server: server}
	cmd := exec.CommandContext(ctx, s.Exe, "run", "--yes", "--output", "json", "--cwd", s.dir, "run the long job")
	cmd.Env = append(append(proc.Environ(os.Environ(), proc.DefaultDeny()), s.Env...), s.mark, "RIPCORD_HOME="+c.root,
		"RIPCORD_PROVIDER=openai-chat", "RIPCORD_BASE_URL="+server.URL(), "RIPCORD_MODEL=demo", "RIPCORD_CONFIG="+os.DevNull)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready := until(ctx, bound, func() bool {
		found, _ := filepath.Glob(filepath.Join(c.root, "sessions", "*"))
		if len(found) == 1 {
			c.id = event.SessionID(filepath.Base(found[0]))
		}
		return c.id != "" && len(commands(s.mark)) >= 6 && s.spooled(c.root, c.id)
	})
	before := len(commands(s.mark))
	s.caption("a child runtime (pid %d) is in the middle of the same turn, %d processes: kill -9", cmd.Process.Pid, before)
	_ = cmd.Process.Kill()
	began := time.Now()
	_ = cmd.Wait() // killed: its error says so
	if !ready {
		return nil, fmt.Errorf("the child never came to its tool: %s", said.String())
	}
	gone := until(ctx, time.Second, func() bool { return len(commands(s.mark)) == 0 }) // what PRC-04 promises
	s.claim("nothing of it runs 1 s after kill -9", gone, "%d processes before, %d after %v", before, len(commands(s.mark)), time.Since(began).Round(time.Millisecond))
	c.path = filepath.Join(c.root, "sessions", string(c.id), "journal.jsonl")
	c.before, err = readDisk(c.path)
	return c, err
}

// recover opens the session again and looks at what was added.
func (s *stage) recover(ctx context.Context, c *crashed) (kept disk, err error) {
	defer func() { err = errors.Join(err, c.server.Close()) }()
	cast, err := s.hire(c.root, c.server, nil)
	if err != nil {
		return disk{}, err
	}
	defer func() { err = errors.Join(err, cast.close(ctx)) }()
	preview, err := cast.rt.PreviewRepair(ctx, c.id)
	if err != nil {
		return disk{}, err
	}
	st, err := cast.rt.Open(ctx, api.OpenRequest{ID: c.id, Cwd: s.dir})
	if err != nil {
		s.claim("the session opens again", false, "%v", err)
		return disk{}, nil
	}
	d, err := readDisk(c.path)
	if err != nil {
		return disk{}, err
	}
	added := len(d.recs) - len(c.before.recs)
	s.claim("records were added, none removed", bytes.HasPrefix(d.bytes, c.before.bytes) && added > 0, "%d before, %d added, 0 removed", len(c.before.recs), added)
	s.claim("the preview had said so", st.Recovered != nil && len(preview.Adds) == st.Recovered.Added, "%d records announced", len(preview.Adds))
	s.books(d, event.TurnInterrupted)
	end, _ := last[event.CallEnded](d)
	text := end.Content.Text()
	s.claim("the call's outcome is said to be unknown, with what was caught", end.Outcome == event.CallUnknown && strings.Contains(text, "Do not retry blindly.") && strings.Contains(text, "tick 1"), "outcome %s", end.Outcome)
	if err := s.next(ctx, cast, c.id, c.server); err != nil {
		return d, err
	}
	if err := cast.rt.Release(ctx, c.id); err != nil {
		return d, err
	}
	again, err := cast.rt.Open(ctx, api.OpenRequest{ID: c.id, Cwd: s.dir})
	s.claim("recovering again adds nothing", err == nil && again.Recovered == nil, "%v", err)
	rep, err := cast.rt.Verify(ctx, c.id)
	s.claim("the journal verifies, whole", err == nil && rep.OK, "%d records, %d bytes", rep.Records, rep.Bytes)
	return d, nil
}

// cut counts what cutting the turn off would have buried. It works on bytes
// that were read, never on a journal in use.
func (s *stage) cut(_ context.Context, c *crashed, kept disk) error {
	from := -1
	for i, r := range c.before.recs {
		if r.Type == event.TypeTurnStarted {
			from = i
			break
		}
	}
	if from < 0 {
		return errors.New("the crashed journal holds no turn")
	}
	at := bytes.Index(c.before.bytes, []byte(`"type":"turn/start"`))
	at = bytes.LastIndexByte(c.before.bytes[:at], '\n') + 1
	buried := disk{bytes: c.before.bytes[at:], recs: c.before.recs[from:]}
	fmt.Fprintf(s.Out, "\n  %-28s %12s %12s\n", "", "closing it", "cutting it")
	row := func(what string, a, b any) { fmt.Fprintf(s.Out, "  %-28s %12v %12v\n", what, a, b) }
	row("records kept of the turn", len(buried.recs), 0)
	row("bytes buried", 0, len(buried.bytes))
	row("words of the model kept", buried.count(event.TypeAssistantMessage), 0)
	row("started calls accounted for", buried.count(event.TypeCallStarted), 0)
	row("records added", len(kept.recs)-len(c.before.recs), 0)
	fmt.Fprintln(s.Out)
	s.claim("cutting would bury a tool that really ran", buried.count(event.TypeCallStarted) > 0 && s.runs() == 1, "%d started call, %d records, %d bytes", buried.count(event.TypeCallStarted), len(buried.recs), len(buried.bytes))
	s.claim("closing buries nothing", bytes.HasPrefix(kept.bytes, c.before.bytes) && len(kept.bytes) > 0, "all %d bytes are still there", len(c.before.bytes))
	return nil
}
