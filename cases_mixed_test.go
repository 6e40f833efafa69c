package ripcord_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/ask"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/tool/web"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// What this binary can be started as for these tests.
const (
	asMixed  = "RIPCORD_ROOT_MIXED"  // a runtime with every kind of tool; the value is a [victim]
	asSilent = "RIPCORD_ROOT_SILENT" // a server of tools that never answers a call; the value is what it writes to
)

// mixedRole runs the process as what it was started as; ran is false if it is
// the tests.
func mixedRole() (ran bool, err error) {
	if log := os.Getenv(asSilent); log != "" {
		return true, beSilent(log)
	}
	spec := os.Getenv(asMixed)
	if spec == "" {
		return false, nil
	}
	var v victim
	if err := json.Unmarshal([]byte(spec), &v); err != nil {
		return true, err
	}
	store, err := file.Open(v.Root, file.Options{Check: check})
	if err != nil {
		return true, err
	}
	m, err := openai.New(openai.Config{BaseURL: v.URL, Model: "script", Echo: true})
	if err != nil {
		return true, err
	}
	ctx := context.Background()
	cfg := ripcord.Config{Store: store, Model: m, Gate: gate.Rules{Policy: gate.YesAll}}
	if _, err := everyTool(ctx, &cfg, filepath.Join(v.Root, "tmp"), v.Cwd); err != nil {
		return true, err
	}
	rt, err := ripcord.New(cfg)
	if err != nil {
		return true, err
	}
	st, err := rt.Open(ctx, api.OpenRequest{Cwd: v.Cwd})
	for _, text := range []string{"get ready", v.Prompt} {
		if err == nil {
			_, err = rt.Run(ctx, st.ID, text)
		}
	}
	return true, err
}

func beSilent(log string) error {
	say := func(line string) {
		if f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, line)
			_ = f.Close()
		}
	}
	say(fmt.Sprint("pid ", os.Getpid()))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch say(m.Method); m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"silent","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"wait","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`+"\n", m.ID)
		case "tools/call", "notifications/initialized", "notifications/cancelled":
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
	return nil
}

// everyTool gives cfg the tools of all rooms; what it returns ends them, before
// the host.
func everyTool(ctx context.Context, cfg *ripcord.Config, scratch, cwd string) (end func() error, err error) {
	host, err := proc.NewHost(proc.Options{Scratch: scratch})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	terms := terminal.New(terminal.Options{Host: host, Grace: 300 * time.Millisecond})
	servers := mcp.Start(ctx, []mcp.Server{{Name: "silent", Command: self, Trusted: true, Env: map[string]string{asSilent: filepath.Join(cwd, "served")}}},
		mcp.Options{Host: host, Dir: cwd, Env: os.Environ(), Connect: patience})
	cfg.Host = host
	cfg.Keepers = []ripcord.Keeper{{Readopted: terms.Readopt, Closed: terms.Forget}}
	cfg.Limits.JobGrace = 300 * time.Millisecond
	cfg.Tools = slices.Concat(builtin.Tools(builtin.Options{Host: host, Grace: 300 * time.Millisecond}), builtin.TaskTools(), terms.Tools(), servers.Tools())
	cfg.Tools = append(cfg.Tools, workflow.New(workflow.Options{Host: host}), ask.User(), web.New(web.Config{AllowPrivate: func(string) bool { return true }}))
	return func() error {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return errors.Join(servers.Close(closing), terms.Close(), host.Close())
	}, nil
}

// page is a web server whose page never ends.
type page struct {
	*httptest.Server
	mu          sync.Mutex
	asked, left int
}

func newPage(t *testing.T) *page {
	p := &page{}
	count := func(n *int) { p.mu.Lock(); defer p.mu.Unlock(); *n++ }
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "half of it")
		_ = http.NewResponseController(w).Flush()
		count(&p.asked)
		<-r.Context().Done()
		count(&p.left)
	}))
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func (p *page) counts() (asked, left int) { p.mu.Lock(); defer p.mu.Unlock(); return p.asked, p.left }

// parts are what is under way at once. One of them is what the turn itself waits
// for, through a script and a sub-agent; tools that are exclusive run beside it
// in sub-agents in the background, which is the way that there is. With the
// question in front, which can be nowhere else, all of them are under way.
var parts = []string{"command", "terminal", "question", "servers"}

// grove is a command of three processes, one of them in a session of its own.
func grove(name string) string {
	return fmt.Sprintf(`echo $$ >>%[1]s.pids; echo half of it; sleep 300 & echo $! >>%[1]s.pids; setsid sh -c 'echo $$ >>%[1]s.pids; exec sleep 300' & wait; sleep 300`, name)
}

// mixed is the script in which part front is in the foreground.
func mixed(front, url string) string {
	do := map[string]string{
		"command":  callOf("bash", "b1", map[string]any{"command": grove("command")}),
		"terminal": callOf("terminal_start", "s1", map[string]any{"command": grove("terminal"), "wait_ms": 600000, "quiet_ms": 0}),
		"question": callOf("ask_user", "q1", map[string]any{"question": "Which colour?"}),
		"servers":  callOf("workflow", "v1", map[string]any{"script": fmt.Sprintf(`return await parallel([() => tool("web_fetch", {url: %q}), () => tool("mcp__silent__wait", {})])`, url)}),
	}
	script := "answer always if user hello\ntext Hello.\nfinish stop\n" +
		said("get ready", callOf("terminal_start", "o1", map[string]any{"command": grove("older"), "wait_ms": 0})+"finish tool") + done("get ready", "Ready.")
	back := ""
	for _, p := range parts {
		script += said("do the "+p, "text I begin.\n"+do[p]+"finish tool")
		if p != front && p != "question" { // in the background nobody is there to be asked
			back += callOf("task", "t_"+p, map[string]any{"prompt": "do the " + p, "description": p, "background": true})
		}
	}
	return script + said("please go", "text All at once.\n"+back+
		callOf("workflow", "w1", map[string]any{"script": fmt.Sprintf(`return (await tool("task", {prompt: "do the %s", description: %q})).text`, front, front)})+"finish tool")
}

// hall is a bench with every tool.
type hall struct {
	*bench
	front string
	page  *page
	lobby event.SessionID // the bench's own, in which nothing happens
}

func newHall(t *testing.T, front string) *hall {
	h := &hall{front: front, page: newPage(t)}
	scratch, cwd := t.TempDir(), t.TempDir()
	h.bench = newBench(t, mixed(front, h.page.URL), func(c *ripcord.Config) {
		end, err := everyTool(context.Background(), c, scratch, cwd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
	h.cwd, h.lobby = cwd, h.id
	h.open("")
	return h
}

// sessions are all that have a journal, the root first. Ids of one millisecond
// are in no order.
func (h *hall) sessions() (out []*bench) {
	found, _ := filepath.Glob(filepath.Join(h.root, "sessions", "s_*", "journal.jsonl"))
	slices.Sort(found) // by time of creation
	for _, path := range found {
		if id := event.SessionID(filepath.Base(filepath.Dir(path))); id != h.lobby {
			out = append(out, h.of(id))
		}
	}
	return out
}

func (h *hall) served(word string) int {
	raw, _ := os.ReadFile(filepath.Join(h.cwd, "served"))
	return strings.Count(string(raw), word)
}

// count says how many records of that type the journals hold.
func (h *hall) count(t event.Type) (n int) {
	for _, s := range h.sessions() {
		n += s.recorded(t)
	}
	return n
}

// full says that everything is under way.
func (h *hall) full() bool {
	asked, _ := h.page.counts()
	kids, questions := 3, 0
	if h.front == "question" {
		kids, questions = 4, 1
	}
	return len(h.sessions()) == kids+1 && len(h.pids("command.pids")) == 3 && len(h.pids("terminal.pids")) == 3 && asked == 1 &&
		h.served("tools/call") == 1 && min(h.count(event.TypeApprovalAsked), 1) == questions && h.count(event.TypeProcessStarted) == 5
}

// moment is when a round stops: when everything is under way, or when the
// journals hold so many records.
func (h *hall) moment(n int) bool {
	if n == 0 {
		return h.full()
	}
	total := 0
	for _, s := range h.sessions() {
		total += strings.Count(s.journal(), "\n")
	}
	return total >= n || h.full()
}

// title is what a sub-agent is for.
func (b *bench) title() string {
	for _, rec := range b.records() {
		if p, err := rec.Body(); err == nil {
			if o, ok := p.(event.SessionOpened); ok {
				return o.Title
			}
		}
	}
	return ""
}

// moments are those of the rounds: 0 is everything, the others are random.
func moments(t *testing.T) (out map[string]int) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	out = map[string]int{}
	for _, p := range parts {
		out[p] = 0
	}
	if !testing.Short() {
		out[parts[0]+" early"], out[parts[3]+" early"] = 20+r.IntN(100), 20+r.IntN(100)
	} else {
		delete(out, "terminal")
		delete(out, "servers")
	}
	return out
}

// Esc, with every kind of tool at work: what the turn waits for is stopped with
// all below it, what is in the background goes on until somebody stops it, and
// journal, process table, servers and the next request tell the same.
//
// proves INT-01, INT-04, PRC-02, PRC-05, TOL-07, TOL-08, TOL-22, TOL-23, TOL-24, TOL-25, TOL-26, TOL-27, TRN-06, TRN-09
func TestEscWithEveryKindOfToolAtWork(t *testing.T) {
	for name, n := range moments(t) {
		t.Run(name, func(t *testing.T) {
			front, _, _ := strings.Cut(name, " ")
			h := newHall(t, front)
			h.outcome(h.run("get ready"), event.TurnCompleted)
			h.until("the older terminal is up", func() bool { return len(h.pids("older.pids")) == 3 })
			id := h.submit("please go")
			h.until("it is under way", func() bool { return h.moment(n) })
			h.esc(id)
			res := h.wait(id)
			h.outcome(res, event.TurnAborted)
			h.afterEsc(res, n == 0)
			h.until("what is in the background is stopped by itself, and ends", h.hush)
			h.until("nothing but the older terminal runs", func() bool {
				return len(alive(h.pids("command.pids")...))+len(alive(h.pids("terminal.pids")...)) == 0
			})
			h.until("the servers know", func() bool {
				asked, left := h.page.counts()
				return left == asked && h.served("notifications/cancelled") == h.served("tools/call")
			})
			if got := len(alive(h.pids("older.pids")...)); got != 3 {
				t.Errorf("%d processes of the older terminal are alive, want 3", got)
			}
			h.outcome(h.run("hello"), event.TurnCompleted)
			h.tells()
			h.end()
			if got := alive(h.pids("older.pids")...); len(got) > 0 {
				t.Errorf("alive after the end of the session: %v", got)
			}
			h.start()
		})
	}
}

// hush stops each sub-agent whose turn goes on; it reports whether none does.
func (h *hall) hush() bool {
	quiet := true
	for _, s := range h.sessions()[1:] {
		if begun := s.recorded(event.TypeTurnStarted); begun == s.recorded(event.TypeTurnEnded) && begun+s.recorded(event.TypeInboxDropped) >= s.recorded(event.TypeInboxAccepted) {
			continue
		}
		quiet = false
		_, err := h.rt.Interrupt(h.ctx, api.InterruptRequest{Session: s.id, Who: "me"})
		var e *api.Error
		if err != nil && (!errors.As(err, &e) || e.Code != "not_found" && !strings.Contains(e.Message, "is closed")) { // it may just have ended
			h.Error(err)
		}
	}
	return quiet
}

// afterEsc looks at what the stop has left, before anything else is stopped.
func (h *hall) afterEsc(res api.Result, full bool) {
	h.Helper()
	h.fold()
	if full {
		if got := h.results()["w1"]; got.Outcome != event.CallStopped || !strings.Contains(got.Content.Text(), "task: stopped") {
			h.Errorf("the script ended %+v", got)
		}
	}
	for _, s := range h.sessions()[1:] {
		if title := s.title(); title != h.front {
			if full && s.recorded(event.TypeTurnEnded) > 0 {
				h.Errorf("the background one for the %s was stopped too", title)
			}
			continue
		}
		if s.recorded(event.TypeTurnStarted) == 0 { // made, and stopped before it was given its task
			continue
		}
		if end := s.ending(); end.Outcome != event.TurnAborted {
			h.Errorf("the sub-agent that was waited for ended %+v", end)
		}
		for id, e := range s.results() {
			if e.Outcome != event.CallStopped && (full || e.Outcome != event.CallSkipped) || e.Success != nil {
				h.Errorf("%s of the %s ended %+v", id, h.front, e)
			}
		}
	}
	for _, name := range []string{"command", "terminal"} {
		pids := h.pids(name + ".pids")
		if got := len(alive(pids...)); name == h.front && got > 0 || full && name != h.front && got != len(pids) {
			h.Errorf("of the %s %d of %d processes are alive, in front is the %s", name, got, len(pids), h.front)
		}
	}
	if ends := outcomes(res); full && (ends[len(ends)-1] != event.CallStopped || slices.ContainsFunc(ends[:len(ends)-1], func(o event.CallOutcome) bool { return o != event.CallFinished })) {
		h.Errorf("the result says %v", ends)
	}
}

// tells compares the last request with the journal: each result stands there as
// it was recorded, and a strict model took it.
func (h *hall) tells() {
	h.Helper()
	_ = h.lastRequest()
	reqs := h.server.Requests()
	read := map[string]string{}
	for _, m := range reqs[len(reqs)-1].Chat.Messages {
		if m.ToolCallID != "" {
			read[m.ToolCallID] = m.Text()
		}
	}
	for id, e := range h.results() {
		if read[string(id)] != e.Content.Text() {
			h.Errorf("of %s the model reads %q, the journal says %q", id, read[string(id)], e.Content.Text())
		}
	}
	for _, s := range h.sessions() {
		s.fold()
		if open := s.recorded(event.TypeApprovalAsked) - s.recorded(event.TypeApprovalDecided) - s.recorded(event.TypeApprovalVoided); open != 0 {
			h.Errorf("%d questions of the %s are open", open, s.title())
		}
		if s.recorded(event.TypeCallRequested) != s.recorded(event.TypeCallEnded) {
			h.Errorf("a call of the %s has no end\n%s", s.title(), s.types())
		}
	}
}

// kill -9 of the runtime, with every kind of tool at work: nothing of it runs
// on, the books of every session are closed, and what was at work is unknown.
//
// proves REC-01, REC-03, REC-04, REC-07, PRC-04, TOL-22, TOL-23, TOL-24, TOL-25, TOL-26, TOL-27
func TestADeathWithEveryKindOfToolAtWork(t *testing.T) {
	for name, n := range moments(t) {
		t.Run(name, func(t *testing.T) {
			front, _, _ := strings.Cut(name, " ")
			h := newHall(t, front)
			h.perish(func() bool {
				return len(h.pids("older.pids")) == 3 && h.recorded(event.TypeTurnStarted) == 2 && h.moment(n)
			})
			pids := slices.Concat(h.pids("older.pids"), h.pids("command.pids"), h.pids("terminal.pids"))
			h.until("nothing of it runs", func() bool { return len(alive(pids...))+len(alive(h.serverPIDs()[1:]...)) == 0 })
			st := h.open(h.id)
			h.fold()
			switch w := h.results()["w1"]; {
			case st.Recovered == nil || *st.Last.Outcome != event.TurnInterrupted:
				t.Errorf("%+v", st)
			case n == 0 && (w.Outcome != event.CallUnknown || !strings.Contains(w.Content.Text(), "Inner call 1 (task) had started; its outcome is unknown.")):
				t.Errorf("the script: %+v", w)
			case n == 0 && !st.Last.UnknownEffects:
				t.Errorf("%+v", st.Last)
			}
			if n == 0 {
				for _, s := range h.sessions()[1:] {
					for id, e := range s.results() {
						if e.Outcome != event.CallUnknown || !e.Synthetic {
							t.Errorf("%s of the %s: %+v", id, s.title(), e)
						}
					}
				}
			}
			h.until("the page was left", func() bool { asked, left := h.page.counts(); return asked == left })
			if h.served("notifications/cancelled") > 0 {
				t.Error("the dead told a server of a cancellation")
			}
			h.outcome(h.run("hello"), event.TurnCompleted)
			h.tells()
		})
	}
}

// serverPIDs are those of the servers of tools, as they wrote them down.
func (h *hall) serverPIDs() (out []int) {
	raw, _ := os.ReadFile(filepath.Join(h.cwd, "served"))
	for l := range strings.Lines(string(raw)) {
		var pid int
		if _, err := fmt.Sscanf(l, "pid %d", &pid); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// perish has a process of its own run the turns, and kills it once ready holds.
func (h *hall) perish(ready func() bool) {
	h.Helper()
	h.end()
	h.root = h.TempDir()
	self, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	spec, err := json.Marshal(victim{h.root, h.cwd, h.server.URL(), "please go"})
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), asMixed+"="+string(spec)), h.cwd, os.Stderr
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	kill := sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it was killed
	h.Cleanup(kill)
	h.id = ""
	h.until("its session is there", func() bool {
		all := h.sessions()
		if len(all) > 0 {
			h.id = all[0].id
		}
		return h.id != ""
	})
	h.until("it is where it is to die", ready)
	kill()
	h.start()
}
