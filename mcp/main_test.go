package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/proc/proctest"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

const (
	serverVar  = "MCPTEST_SERVER"  // what a server of this binary does
	ledgerVar  = "MCPTEST_LEDGER"  // a file for what it saw
	runtimeVar = "MCPTEST_RUNTIME" // a runtime that some test kills
	patience   = 60 * time.Second  // for what must happen, on a machine under load
)

func TestMain(m *testing.M) {
	proctest.Main()
	if mode := os.Getenv(serverVar); mode != "" {
		os.Exit(serve(mode))
	}
	if job := os.Getenv(runtimeVar); job != "" {
		os.Exit(beRuntime(job))
	}
	goleak.VerifyTestMain(m)
}

// beRuntime starts servers, tells about them, and waits to be killed.
func beRuntime(job string) int {
	var servers []mcp.Server
	if err := json.Unmarshal([]byte(job), &servers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	h, err := proc.NewHost(proc.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m := mcp.Start(context.Background(), servers, mcp.Options{Host: h, Dir: os.TempDir(), Env: os.Environ(), Connect: patience})
	if err := json.NewEncoder(os.Stdout).Encode(m.Status()); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// bench is a host and what a test sees of its servers.
type bench struct {
	*testing.T
	host proc.Host
	dir  string
	mark proctest.Mark
	log  *syncBuffer

	mu    sync.Mutex
	facts []event.Payload
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	h, err := proc.NewHost(proc.Options{Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var marks proctest.Marks
	b := &bench{T: t, host: h, dir: t.TempDir(), mark: marks.New("mcp"), log: &syncBuffer{}}
	t.Cleanup(func() {
		if err := b.host.Close(); err != nil {
			t.Error(err)
		}
		if alive := b.mark.Alive(); len(alive) > 0 {
			t.Errorf("pids %v of the servers outlived the test", alive)
		}
	})
	return b
}

// server is this binary as a server.
func (b *bench) server(name, mode string) mcp.Server {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	mark, value, _ := strings.Cut(b.mark.Env(), "=")
	return mcp.Server{Name: name, Command: exe, Env: map[string]string{serverVar: mode, ledgerVar: b.ledger(name), mark: value, "MCPTEST_TOKEN": "hush-hush", "GORACE": "atexit_sleep_ms=0"}}
}

func (b *bench) ledger(name string) string { return b.dir + "/" + name + ".ledger" }

// saw is what the server of that name wrote down.
func (b *bench) saw(name string) string {
	data, err := os.ReadFile(b.ledger(name))
	if err != nil && !os.IsNotExist(err) {
		b.Fatal(err)
	}
	return string(data)
}

func (b *bench) start(o mcp.Options, servers ...mcp.Server) *mcp.Manager {
	b.Helper()
	o.Host, o.Dir, o.Env = b.host, b.dir, append(os.Environ(), "MCPTEST_API_KEY=hush")
	o.Log = slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Connect == 0 {
		o.Connect = patience
	}
	if o.Wait == 0 {
		o.Wait = patience
	}
	o.Record = func(p event.Payload) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.facts = append(b.facts, p)
	}
	m := mcp.Start(b.Context(), servers, o)
	b.Cleanup(func() {
		b.close(m)
		if strings.Contains(b.log.String()+fmt.Sprintf("%+v", m.Status()), "hush") {
			b.Errorf("a secret is in the log or the status: %s", b.log)
		}
	})
	return m
}

func (b *bench) close(m *mcp.Manager) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		b.Error(err)
	}
}

func (b *bench) status(m *mcp.Manager, name string) mcp.Status {
	b.Helper()
	for _, s := range m.Status() {
		if s.Name == name {
			return s
		}
	}
	b.Fatalf("no status of %s", name)
	return mcp.Status{}
}

func (b *bench) until(m *mcp.Manager, name string, want mcp.State) mcp.Status {
	b.Helper()
	proctest.Until(b, patience, name+" is "+string(want), func() bool { return b.status(m, name).State == want })
	return b.status(m, name)
}

func (b *bench) tool(m *mcp.Manager, name string) tool.Tool {
	b.Helper()
	var names []string
	for _, t := range m.Tools() {
		if t.Spec().Name == name {
			return t
		}
		names = append(names, t.Spec().Name)
	}
	b.Fatalf("no tool %s among %v; status %+v", name, names, m.Status())
	return nil
}

// flight is one call under way.
type flight struct {
	book tooltest.Book
	live tooltest.Live
	c    *interrupt.Coordinator
	end  chan tool.Ended
	left chan (<-chan struct{})
}

func (b *bench) fly(tl tool.Tool, id, args string) *flight {
	b.Helper()
	f := &flight{c: interrupt.New(interrupt.Options{}), end: make(chan tool.Ended, 1), left: make(chan (<-chan struct{}), 1)}
	r := &tool.Run{Tool: tl, Call: &tool.Call{ID: event.CallID(id), Name: tl.Spec().Name, Args: json.RawMessage(args), Session: "s_test", Turn: 1, Step: 1, Dir: b.dir},
		Signal: f.c.Signal(), Book: &f.book, Live: &f.live, Forced: patience}
	ctx := b.Context()
	go func() {
		e, left := r.Do(ctx)
		f.end <- e
		f.left <- left
	}()
	return f
}

func (f *flight) trip(b *bench) {
	b.Helper()
	if _, err := f.c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}); err != nil {
		b.Error(err)
	}
}

func (f *flight) landed(b *bench) tool.Ended {
	b.Helper()
	select {
	case e := <-f.end:
		if left := <-f.left; left != nil {
			b.Errorf("the call left its goroutine behind: %+v", e)
			<-left
		}
		return e
	case <-time.After(patience):
		b.Fatal("the call does not end")
		return tool.Ended{}
	}
}

// call runs one call to its end.
func (b *bench) call(tl tool.Tool, args string) tool.Ended {
	b.Helper()
	return b.fly(tl, "c_0", args).landed(b)
}

func said(e tool.Ended) string { return e.Err + e.Result.Content.Text() }

// wants looks at the outcome, the success and words of an end.
func (b *bench) wants(e tool.Ended, outcome event.CallOutcome, success bool, words ...string) {
	b.Helper()
	if e.Outcome != outcome || e.Result.Success != success {
		b.Errorf("outcome %s, success %v, want %s, %v: %s", e.Outcome, e.Result.Success, outcome, success, said(e))
	}
	for _, w := range words {
		if !strings.Contains(said(e), w) {
			b.Errorf("%q is not in %q", w, said(e))
		}
	}
}
