package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/tool"
)

// Servers that others wrote, of one day.
const (
	realVersion  = "2026.8.31"
	installBound = 4 * time.Minute
)

var realNames = []string{"everything", "filesystem", "memory", "sequential-thinking"}

var installed = sync.OnceValues(install)

// install puts the servers into the user's cache, once for all runs.
func install() (dir string, err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("there is no npm: %w", err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "", fmt.Errorf("there is no node: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "ripcord-test", "mcp-servers")
	dir = filepath.Join(cache, realVersion)
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(cache, "new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(context.Background(), installBound)
	defer cancel()
	args := []string{"install", "--prefix", fresh, "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"}
	for _, name := range realNames {
		args = append(args, "@modelcontextprotocol/server-"+name+"@"+realVersion)
	}
	cmd := exec.CommandContext(ctx, npm, args...)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm could not install the servers: %w: %.500s", err, out)
	}
	if err := os.WriteFile(filepath.Join(fresh, "complete"), nil, 0o600); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil { // somebody else may have been first
		if _, there := os.Stat(filepath.Join(dir, "complete")); there != nil {
			return "", err
		}
	}
	return dir, nil
}

// real is a server of the registry, started as its users do.
func (b *bench) real(name string, args ...string) mcp.Server {
	b.Helper()
	dir, err := installed()
	if err != nil {
		b.Skipf("servers that others wrote are not tested: %v", err)
	}
	mark, value, _ := strings.Cut(b.mark.Env(), "=")
	return mcp.Server{Name: name, Command: "node", Args: append([]string{filepath.Join(dir, "node_modules/@modelcontextprotocol/server-"+name+"/dist/index.js")}, args...),
		Env: map[string]string{mark: value, "MEMORY_FILE_PATH": b.dir + "/memory.jsonl"}}
}

// proves TOL-26, PRF-07: servers that others wrote, over stdio
func TestServersOfTheRegistryWork(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.real("everything"), b.real("filesystem", b.dir), b.real("memory"), b.real("sequential-thinking"))
	if _, err := tool.NewSet(m.Tools()...); err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Status() {
		if s.State != mcp.Ready || len(s.Tools) == 0 || len(s.LeftOut) != 0 {
			t.Errorf("status %+v", s)
		}
	}
	for _, c := range []struct {
		tool, args string
		success    bool
		words      string
	}{
		{"everything__echo", `{"message":"hello"}`, true, "hello"},
		{"everything__get-sum", `{"a":2,"b":40}`, true, "42"},
		{"everything__get-tiny-image", `{}`, true, ""},
		{"everything__get-structured-content", `{"location":"New York"}`, true, "temperature"},
		{"everything__get-resource-links", `{"count":2}`, true, "[resource "},
		{"everything__get-sum", `{"a":"two","b":1}`, false, "must be number"},
		{"filesystem__write_file", `{"path":"` + b.dir + `/note.txt","content":"written by a server"}`, true, "note.txt"},
		{"filesystem__read_text_file", `{"path":"` + b.dir + `/note.txt"}`, true, "written by a server"},
		{"filesystem__read_text_file", `{"path":"/etc/hostname"}`, true, "the tool reported an error"},
		{"memory__create_entities", `{"entities":[{"name":"cord","entityType":"thing","observations":["it is red"]}]}`, true, "cord"},
		{"memory__read_graph", `{}`, true, "it is red"},
		{"sequential-thinking__sequentialthinking", `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, true, "thoughtNumber"},
	} {
		e := b.call(b.tool(m, "mcp__"+c.tool), c.args)
		if e.Result.Success != c.success || !strings.Contains(said(e), c.words) {
			t.Errorf("%s %s: %s, success %v: %s", c.tool, c.args, e.Outcome, e.Result.Success, said(e))
		}
	}
	b.interrupts(m)
	if s := b.status(m, "everything"); s.Restarts != 0 || s.TooLong != 0 {
		t.Errorf("status %+v", s)
	}
	b.close(m)
	if alive := b.mark.Alive(); len(alive) > 0 {
		t.Errorf("pids %v outlived the close", alive)
	}
}

// interrupts stops a long call of the server "everything" and makes another.
func (b *bench) interrupts(m *mcp.Manager) {
	b.Helper()
	f := b.fly(b.tool(m, "mcp__everything__trigger-long-running-operation"), "c_long", `{"duration":3000,"steps":100000}`)
	if err := f.live.Await(b.Context(), "/100000"); err != nil {
		b.Fatal(err)
	}
	f.trip(b)
	b.wants(f.landed(b), event.CallStopped, true, "progress so far", "no longer needed")
	b.wants(b.call(b.tool(m, "mcp__everything__echo"), `{"message":"after the stop"}`), event.CallFinished, true, "after the stop")
}

// proves TOL-26: the same over streamable HTTP, with a server that others wrote
func TestAServerOfTheRegistryWorksOverHTTP(t *testing.T) {
	b := newBench(t)
	s := b.real("everything", "streamableHttp")
	hook := b.dir + "/loopback.cjs" // the server would listen everywhere
	if err := os.WriteFile(hook, []byte(`const net = require("net"), listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.log("LISTENING " + this.address().port));
  return listen.call(this, Number(port), "127.0.0.1", ...rest);
};`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(s.Command, append([]string{"--require", hook}, s.Args...)...)
	cmd.Env = append(os.Environ(), "PORT=0", b.mark.Env())
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port := ""
	for lines := bufio.NewScanner(out); port == "" && lines.Scan(); {
		if p, ok := strings.CutPrefix(lines.Text(), "LISTENING "); ok {
			port = p
		}
	}
	m := b.start(mcp.Options{}, mcp.Server{Name: "everything", URL: "http://127.0.0.1:" + port + "/mcp"})
	b.wants(b.call(b.tool(m, "mcp__everything__echo"), `{"message":"hello"}`), event.CallFinished, true, "hello")
	b.interrupts(m)
}
