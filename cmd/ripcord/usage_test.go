package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/journal"
)

// none is a service without sessions.
type none struct{ api.Service }

func (none) Sessions(context.Context) ([]api.SessionInfo, error) { return nil, nil }

// cli runs the command line in this process over a service without sessions.
func cli(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out, errs bytes.Buffer
	a := &app{
		env: envOf(map[string]string{"RIPCORD_HOME": t.TempDir()}), stdin: null, stderr: &errs, stops: newStops(), out: &sink{w: &out},
		wire: func(context.Context, *app, need) (*engine, error) {
			return &engine{svc: none{}, close: func(context.Context) error { return nil }}, nil
		},
	}
	code = a.main(args)
	return code, out.String(), errs.String()
}

// proves CLI-01, IFC-06: what is wrong or not here yet is one sentence with
// the next step and exit 2, never ignored, and leaves stdout alone.
func TestWrongUseIsRefusedWithOneSentence(t *testing.T) {
	const later = "comes later"
	for args, want := range map[string]string{
		"bogus": "unknown command", "fix the test": "`ripcord run \"fix the test\"`", "man": later, "doctor --bundle": later, "sessions": "use one of list, rm, show", "sessions frobnicate": "it has no frobnicate",
		"log": "use one of", "jobs": "use one of", "model": "use one of",
		"run a b": "more than one prompt", "run a - c": "", "run a --bogus": "see `ripcord run --help`", "run": "the prompt is empty",
		"run a --output yaml": "text, json or stream-json", "run a --continue --session s_1": "give one of them",
		"run a --timeout=-1s": "is no time", "run a --timeout soon": "invalid", "run a --cwd /nonexistent/x": "workspace",
		"run a --session s_no": "there is no session s_no", "run a --session s_no --output json": "there is no session s_no",
		"continue": "no session is named; name one; `ripcord sessions list` shows them", "continue s_no": "there is no session", "resume s_no": "needs a terminal", "": "needs a terminal",
		"interrupt": "", "interrupt s_no": "there is no session", "interrupt s_no --turn -1": "count from 1",
		"sessions show s_no": "there is no session", "sessions rm s_no": "there is no session", "sessions rm": "",
		"log show s_no": "there is no session", "log follow s_no": "there is no session", "log verify s_no": "there is no session",
		"log repair s_no": "add --dry-run", "log repair s_no --dry-run": "there is no session", "log repair s_no --set-aside 1-2": later,
		"jobs kill j_no": "there is no job", "jobs logs j_no": "there is no job", "jobs list s_no": "there is no session",
		"model serve /nonexistent/x": "cannot be read", "completion tcsh": "use bash, zsh", "version x": "",
		"send s_1": "the TEXT is missing", "jobs kill": "no job is named", "show": "unknown command", "sessions show": "no session is named", "log show": "no session is named", "send s_1 x": "there is no session s_1", "send s_1 x --now --next": "give one of them", "send s_1 x --file /nonexistent/x": "cannot be attached",
		"send s_1 -": "there are no words to send; write the words, or - to read them from stdin", "send s_1 x --soon": "see `ripcord send --help`", "retry": "no session is named", "retry s_1": "there is no session s_1", "retry s_1 --continue": "give one of them",
		"rewind": "", "rewind s_1": "there is no session s_1", "rewind s_1 --turn -1": "count from 1", "fork": "", "fork s_1": "there is no session s_1", "fork s_1 --turn -1": "count from 1",
		"compact": "", "compact s_1": "there is no session s_1",
		"guard": "use one of replay", "guard replay": "the FILE|SESSION is missing", "guard replay s_no": "there is no session s_no", "guard replay /": "is no regular file", "sessions search x": later, "sessions export s_1": later, "sessions gc": later, "serve": later,
		"acp": later, "attach s_1": later, "nodes": later, "routine list": later, "config": "use one of show", "config show x": "", "trust x": "", "trust --show --revoke": "give one of them",
	} {
		code, out, err := cli(t, strings.Fields(args)...)
		if code != exitUsage || out != "" || !strings.Contains(err, want) || !strings.HasPrefix(err, "ripcord: ") ||
			strings.Count(strings.TrimPrefix(err, "ripcord: model "), "\n") != 1 {
			t.Errorf("ripcord %s: exit %d, stdout %q, stderr %q: want exit 2 and one sentence with %q", args, code, out, err, want)
		}
	}
}

// proves CLI-01, IFC-06: a name that is empty, such as that of a variable which is
// not set, is never taken for a new session, for all, or for whatever runs.
func TestAnEmptyNameIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"run", "a", "--session", ""}, {"run", "a", "--session="}, {"continue", ""}, {"retry", ""}, {"compact", ""}, {"resume", ""}, {"interrupt", ""},
		{"interrupt", "s_1", "--turn", "0"}, {"interrupt", "s_1", "--input", ""}, {"rewind", ""}, {"fork", ""}, {"send", "", "words"},
		{"jobs", "list", ""}, {"sessions", "rm", ""}, {"sessions", "show", ""}, {"log", "show", ""},
	} {
		code, out, err := cli(t, args...)
		if code != exitUsage || out != "" || !strings.Contains(err, "names no") && !strings.Contains(err, "no session is named") && !strings.Contains(err, "count from 1") {
			t.Errorf("ripcord %q: exit %d, %q, %q", args, code, out, err)
		}
	}
}

// proves CLI-03: help with examples on every verb.
func TestEveryVerbHasHelpWithExamples(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		if c.Short == "" || !strings.Contains(c.Example, "ripcord") {
			t.Errorf("%s has no help with an example", c.CommandPath())
		}
		code, out, err := cli(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if code != exitDone || !strings.Contains(out, c.Example) || err != "" {
			t.Errorf("%s --help: exit %d, %q, %q", c.CommandPath(), code, out, err)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&app{stops: newStops(), out: &sink{w: &bytes.Buffer{}}}))
}

// proves CLI-03: what a flag takes has a name in the help, and no flag shows an
// empty default.
func TestTheHelpNamesWhatFlagsTake(t *testing.T) {
	for args, want := range map[string][]string{"guard replay --help": {"--script FILE ", "--idle TIME ", `"ripcord model serve FILE"`}, "send --help": {"--file PICTURE "}} {
		_, out, _ := cli(t, strings.Fields(args)...)
		for _, w := range want {
			if !strings.Contains(out, w) || strings.Contains(out, "[]") || strings.Contains(out, "default )") {
				t.Errorf("%s: want %q in\n%s", args, w, out)
			}
		}
	}
}

// proves CLI-01: what is missing, what is full and what is another's is said with
// the next step.
func TestAnErrorOfTheStoreNamesTheNextStep(t *testing.T) {
	for want, err := range map[string]error{
		"ripcord sessions list": fmt.Errorf("x: %w", journal.ErrNotFound),
		"make room":             fmt.Errorf("x: %w", journal.ErrStorage),
		"who owns the file":     fmt.Errorf("x: %w", errors.Join(journal.ErrStorage, os.ErrPermission)),
	} {
		if e := explain(err); !strings.Contains(e.Hint, want) {
			t.Errorf("%v: %q, want %q", err, e.Hint, want)
		}
	}
	file := put(t, filepath.Join(t.TempDir(), "file"), "")
	a := &app{env: envOf(map[string]string{"XDG_RUNTIME_DIR": file})}
	if c := a.checkSocket(); c.State != "warn" || !strings.HasPrefix(c.Next[0], "set XDG_RUNTIME_DIR") {
		t.Errorf("doctor on the socket: %+v", c)
	}
}

// proves IFC-05: a verb that runs no turn ends by the signal's code.
func TestASignalEndsAVerbThatRunsNoTurn(t *testing.T) {
	a := &app{stops: newStops()}
	began := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		cmd := &cobra.Command{}
		cmd.SetContext(context.Background())
		got <- a.plain(func(ctx context.Context, _ []string) error {
			close(began)
			<-ctx.Done()
			return nil
		})(cmd, nil)
	}()
	<-began
	a.stops.note(causeTERM)
	var code exitError
	if err := <-got; !errors.As(err, &code) || int(code) != exitTERM {
		t.Errorf("it ended with %v, want exit 143", err)
	}
}
