package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// script is one test of the command: lines to do, then files, each behind a
// line "-- NAME --". Words may be 'quoted'; @NAME@ is what set or env gave.
//
//	env NAME=VALUE          for the commands that follow; no value takes it away
//	exit CODE WORDS...      runs WORDS to their end and wants the code
//	start NAME WORDS...     runs them and goes on
//	exit CODE &NAME         waits for what start began
//	signal NAME INT|TERM|HUP|KILL
//	until NAME out|err TEXT waits until it has written TEXT
//	until FILE              waits until the file is there
//	[!] out|err TEXT        what the last exit wrote holds TEXT; /RE/ is a pattern
//	lines                   every line of out is one JSON object
//	result KEY=VALUE...     the last line of out is a result with these values
//	set NAME KEY            keeps a value of that object
//	cut GLOB N              takes N bytes off the file's end; -N spoils byte N
//	stdin FILE              for the commands that follow; none: nothing
//	[!] there GLOB          something of that name is there
type script struct {
	t        *testing.T
	dir      string
	env      map[string]string
	lines    []string
	at       int
	stdin    string
	out, err string
	children map[string]*child
}

// child is a running command.
type child struct {
	cmd      *exec.Cmd
	done     chan struct{}
	out, err buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *buffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *buffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const scriptBound = 2 * time.Minute

func newScript(t *testing.T, bin, text string) *script {
	t.Helper()
	s := &script{t: t, dir: t.TempDir(), children: map[string]*child{}}
	s.env = map[string]string{"PATH": bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME": s.dir, "WORK": s.dir,
		"RIPCORD_HOME": filepath.Join(s.dir, "home"), "TERM": "dumb", asCommand: "1", "GOCOVERDIR": os.Getenv("GOCOVERDIR"), "GORACE": os.Getenv("GORACE")}
	body, files, _ := strings.Cut(text, "\n-- ")
	s.lines = strings.Split(body, "\n")
	for _, f := range strings.Split(files, "\n-- ") {
		name, content, found := strings.Cut(f, " --\n")
		if !found {
			continue
		}
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.TrimSuffix(content, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *script) run() {
	s.t.Helper()
	for i, l := range s.lines {
		s.at = i + 1
		words := s.words(l)
		if len(words) == 0 {
			continue
		}
		want := words[0] != "!"
		if !want {
			words = words[1:]
		}
		s.line(want, words[0], words[1:])
	}
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: %s: %s\nout: %s\nerr: %s", s.at, s.lines[s.at-1], fmt.Sprintf(format, args...), s.out, s.err)
}

func (s *script) must(err error) {
	s.t.Helper()
	if err != nil {
		s.fail("%v", err)
	}
}

// words splits a line; nothing from a # on.
func (s *script) words(l string) (out []string) {
	for k, v := range s.env {
		l = strings.ReplaceAll(l, "@"+k+"@", v)
	}
	for l = strings.TrimSpace(l); l != "" && l[0] != '#'; l = strings.TrimLeft(l, " \t") {
		var w string
		for l != "" && l[0] != ' ' && l[0] != '\t' {
			if l[0] == '\'' {
				quoted, rest, closed := strings.Cut(l[1:], "'")
				if !closed {
					s.fail("a quote is open")
				}
				w, l = w+quoted, rest
				continue
			}
			w, l = w+l[:1], l[1:]
		}
		out = append(out, w)
	}
	return out
}

func (s *script) line(want bool, verb string, args []string) {
	s.t.Helper()
	switch verb {
	case "env":
		k, v, _ := strings.Cut(args[0], "=")
		s.env[k] = v
	case "exit":
		s.exit(args)
	case "start":
		s.children[args[0]] = s.launch(args[1:])
	case "signal":
		sig := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[args[1]]
		s.must(s.children[args[0]].cmd.Process.Signal(sig))
	case "until":
		s.until(args)
	case "out", "err":
		text := map[string]string{"out": s.out, "err": s.err}[verb]
		if matches(text, args[0]) != want {
			s.fail("%s: want %v", args[0], want)
		}
	case "lines":
		for _, l := range strings.Split(strings.TrimSuffix(s.out, "\n"), "\n") {
			var v map[string]any
			if err := json.Unmarshal([]byte(l), &v); err != nil {
				s.fail("%q: %v", l, err)
			}
		}
	case "result":
		s.result(args)
	case "set":
		var v string
		b, err := json.Marshal(s.last()[args[1]])
		s.must(err)
		if json.Unmarshal(b, &v) != nil {
			v = string(b)
		}
		s.env[args[0]] = v
	case "cut":
		s.cut(args)
	case "stdin":
		s.stdin = ""
		if args[0] != "none" {
			s.stdin = filepath.Join(s.dir, args[0])
		}
	case "there":
		if found := s.glob(args[0]); (len(found) > 0) != want {
			s.fail("found %v, want %v", found, want)
		}
	default:
		s.fail("no such verb")
	}
}

func matches(text, want string) bool {
	if len(want) > 2 && want[0] == '/' && want[len(want)-1] == '/' {
		return regexp.MustCompile(want[1 : len(want)-1]).MatchString(text)
	}
	return strings.Contains(text, want)
}

func (s *script) glob(pattern string) []string {
	s.t.Helper()
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(s.dir, pattern)
	}
	found, err := filepath.Glob(pattern)
	s.must(err)
	return found
}

func (s *script) launch(args []string) *child {
	s.t.Helper()
	c := &child{done: make(chan struct{})}
	path := args[0]
	for _, dir := range filepath.SplitList(s.env["PATH"]) {
		if p := filepath.Join(dir, args[0]); !strings.Contains(path, "/") && exists(p) {
			path = p
		}
	}
	c.cmd = exec.Command(path, args[1:]...)
	c.cmd.Dir = s.dir
	for k, v := range s.env {
		if v != "" {
			c.cmd.Env = append(c.cmd.Env, k+"="+v)
		}
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	if s.stdin != "" {
		f, err := os.Open(s.stdin)
		s.must(err)
		defer f.Close()
		c.cmd.Stdin = f
	}
	c.cmd.WaitDelay = scriptBound / 4 // who else holds its output when it is killed holds up nobody
	s.must(c.cmd.Start())
	go func() { // ends with the command, which the clean-up kills
		defer close(c.done)
		_ = c.cmd.Wait()
	}()
	s.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.done
	})
	return c
}

func (s *script) exit(args []string) {
	s.t.Helper()
	want, err := strconv.Atoi(args[0])
	s.must(err)
	var c *child
	if name, running := strings.CutPrefix(args[1], "&"); running {
		c = s.children[name]
	} else {
		c = s.launch(args[1:])
	}
	select {
	case <-c.done:
	case <-time.After(scriptBound):
		s.out, s.err = c.out.String(), c.err.String()
		s.fail("it did not end")
	}
	s.out, s.err = c.out.String(), c.err.String()
	if got := c.cmd.ProcessState.ExitCode(); got != want {
		s.fail("exit %d, want %d", got, want)
	}
}

func (s *script) until(args []string) {
	s.t.Helper()
	deadline := time.After(scriptBound)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if len(args) == 1 {
			if len(s.glob(args[0])) > 0 {
				return
			}
		} else {
			c := s.children[args[0]]
			ended := false
			select {
			case <-c.done:
				ended = true
			default:
			}
			s.out, s.err = c.out.String(), c.err.String()
			text := map[string]string{"out": s.out, "err": s.err}[args[1]]
			if matches(text, args[2]) {
				return
			}
			if ended {
				s.fail("it ended without")
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			s.fail("it did not come")
		}
	}
}

// last is the object on the last line of out.
func (s *script) last() map[string]any {
	s.t.Helper()
	text := strings.TrimSuffix(s.out, "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(text[strings.LastIndex(text, "\n")+1:]), &got); err != nil {
		s.fail("the last line is no object: %v", err)
	}
	return got
}

func (s *script) result(args []string) {
	s.t.Helper()
	got := s.last()
	if got["type"] != "result" || strings.Count(s.out, `{"type":"result"`) != 1 {
		s.fail("there is not exactly one result, last")
	}
	for _, want := range args {
		key, val, _ := strings.Cut(want, "=")
		b := bytes.TrimSuffix(line(got[key]), []byte{'\n'})
		if string(b) != val && string(b) != `"`+val+`"` && !(len(val) > 3 && strings.Contains(string(b), val)) {
			s.fail("%s is %s, want %s", key, b, val)
		}
	}
}

func (s *script) cut(args []string) {
	s.t.Helper()
	found := s.glob(args[0])
	if len(found) != 1 {
		s.fail("%d files", len(found))
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	s.must(err)
	data, err := os.ReadFile(found[0])
	s.must(err)
	if n >= 0 {
		data = data[:int64(len(data))-n]
	} else {
		data[-n] ^= 1
	}
	s.must(os.WriteFile(found[0], data, 0o600))
}
