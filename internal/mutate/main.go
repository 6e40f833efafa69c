package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	list := flag.Bool("list", false, "list the bugs and run nothing")
	ids := flag.String("run", "", "ids to run, comma-separated")
	n := flag.Int("n", 0, "run this many, spread over the list; 0: all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *list, *ids, *n); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, list bool, ids string, n int) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	bugs, err := load(root)
	if err != nil {
		return err
	}
	if bugs, err = choose(bugs, ids, n); err != nil {
		return err
	}
	if list {
		for _, b := range bugs {
			fmt.Fprintf(w, "%-34s %-30s %s\n", b.id, b.file, b.why)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	alive := 0
	for _, b := range bugs {
		start := time.Now()
		red, err := b.try(ctx, root, dir)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		verdict := "red: " + strings.Join(red, " ")
		if err != nil {
			alive++
			verdict = "SURVIVES: " + err.Error()
		}
		fmt.Fprintf(w, "%-34s %5.1f s  %s\n", b.id, time.Since(start).Seconds(), verdict)
	}
	if alive > 0 {
		return fmt.Errorf("%d of %d seeded bugs are not seen", alive, len(bugs))
	}
	fmt.Fprintf(w, "%d seeded bugs, each seen\n", len(bugs))
	return nil
}

// try runs the bug's tests without and with it, and returns the names of those
// that went red. An error says why the bug does not count as seen.
func (b bug) try(ctx context.Context, root, dir string) (red []string, err error) {
	overlay, err := b.overlay(root, dir)
	if err != nil {
		return nil, err
	}
	for _, t := range b.tests {
		if out, err := goTest(ctx, root, "", t); err != nil {
			return nil, fmt.Errorf("%s %s fails without the bug:\n%s", t.pkg, t.pattern, tail(out))
		} else if !strings.Contains(out, "--- PASS: ") {
			return nil, fmt.Errorf("%s has no test that matches %s", t.pkg, t.pattern)
		}
		if out, err := compile(ctx, root, overlay, t.pkg); err != nil {
			return nil, fmt.Errorf("the bug does not compile, so its red would mean nothing:\n%s", tail(out))
		}
		out, err := goTest(ctx, root, overlay, t)
		var exit *exec.ExitError
		switch {
		case err == nil:
			return nil, fmt.Errorf("%s %s stays green: %s", t.pkg, t.pattern, b.why)
		case !errors.As(err, &exit):
			return nil, err
		}
		names := failed(out)
		if len(names) == 0 {
			return nil, fmt.Errorf("%s fails, but no test of it does:\n%s", t.pkg, tail(out))
		}
		red = append(red, names...)
	}
	return red, nil
}

// overlay writes the changed file and the map that lays it over the tree.
func (b bug) overlay(root, dir string) (name string, err error) {
	src, err := b.apply(root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, b.id+filepath.Ext(b.file))
	if err := os.WriteFile(changed, src, 0o600); err != nil {
		return "", err
	}
	table, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, filepath.FromSlash(b.file)): changed},
	})
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, b.id+".json")
	return name, os.WriteFile(name, table, 0o600)
}

func compile(ctx context.Context, root, overlay, pkg string) (string, error) {
	return goRun(ctx, root, overlay, "test", "-c", "-o", os.DevNull, pkg)
}

func goTest(ctx context.Context, root, overlay string, t target) (string, error) {
	return goRun(ctx, root, overlay, "test", "-v", "-timeout", "120s", "-run", t.pattern, t.pkg)
}

// goRun runs the go command. The overlay goes through the environment, so that
// it reaches what the tests themselves build.
func goRun(ctx context.Context, root, overlay string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = os.Environ()
	if overlay != "" {
		cmd.Env = append(cmd.Env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var failLine = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// failed lists the tests that go test calls red; one that hung or panicked
// counts by its name in the panic's message.
func failed(out string) (names []string) {
	for _, m := range failLine.FindAllStringSubmatch(out, -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 && (strings.Contains(out, "panic: ") || strings.Contains(out, "fatal error: ")) {
		if i := strings.LastIndex(out, "=== RUN   "); i >= 0 {
			name, _, _ := strings.Cut(out[i+len("=== RUN   "):], "\n")
			names = append(names, name+" (died)")
		}
	}
	return names
}

func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
