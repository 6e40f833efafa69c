package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/event"
)

// app is one run of the command: what it was given and where it writes.
type app struct {
	env    func(string) string
	stdin  *os.File
	stderr io.Writer // written by say, note and lastNote alone
	aside  aside
	stops  *stops
	out    *sink
	wire   func(ctx context.Context, a *app, n need) (*engine, error)
	flags  flags

	home   string           // the folder of the session that is gone on in; empty: flags.cwd says where
	set    *config.Settings // read once; see settings
	setDir string           // for which workspace
}

// flags are those of more than one verb.
type flags struct {
	provider, baseURL, model, cwd string
	stallGuard                    string // off, warn or act; empty: as the settings say
	plain, yes                    bool
}

// need is what a verb wants of a runtime.
type need struct {
	model bool // a model that answers
	chat  bool // the chat's choice of one
	yes   bool // every call runs
	quiet bool // say nothing on stderr
}

// engine is a runtime with what belongs to it.
type engine struct {
	svc   api.Service
	model string                          // which model and why, for people; empty without one
	info  api.ModelInfo                   // the same as data
	close func(ctx context.Context) error // closes books, then everything else

	wakes int // how often in a row a stall wakes the model

	// What reports may take by their own time limits, which no interrupt cuts
	// (HOK-03): within a turn's end, and while the books are closed.
	ending, closing time.Duration
}

// exitError ends the command with a code after all was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// main runs the command line and returns the exit code.
func (a *app) main(args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := root.ExecuteContext(ctx)
	lost := a.out.lost()
	if lost != nil {
		a.lastNote(sentence("stdout is not whole: %v; what a turn said is in its session: `ripcord log show ID --json`", lost))
	}
	var code exitError
	switch {
	case err == nil && lost != nil: // all that there was to do was to print
		return exitFailed
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	}
	if c := a.stops.cause(); c != noCause {
		return c.exit()
	}
	e := explain(err)
	a.lastNote(sentence("%s", e.Error()))
	return refusalCode(e.Code)
}

// say writes one sentence for people.
func (a *app) say(format string, args ...any) { a.note(sentence(format, args...)) }

func sentence(format string, args ...any) string {
	return "ripcord: " + oneLine(fmt.Sprintf(format, args...)) + "\n"
}

// note writes text for people. Nobody reading holds up what comes next, but no
// stop.
func (a *app) note(text string) {
	var stop <-chan struct{}
	if a.stops != nil {
		stop = a.stops.first
	}
	a.aside.write(a.stderr, []byte(text), stop)
}

// lastNote writes text for people at the end, where nobody reading holds up
// nothing.
func (a *app) lastNote(text string) {
	now := make(chan struct{})
	close(now)
	a.aside.write(a.stderr, []byte(text), now)
}

// print writes to stdout.
func (a *app) print(format string, args ...any) {
	a.out.write([]byte(fmt.Sprintf(format, args...)))
}

// stoppable returns a context that the first signal ends; the second ends the
// process. end gives it up.
func (a *app) stoppable(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ended:
			return
		case <-a.stops.first:
			cancel()
		}
		select {
		case <-ended:
		case <-a.stops.hurry:
			os.Exit(a.stops.cause().exit())
		}
	}()
	return ctx, func() { close(ended); cancel(); <-watched }
}

// plain makes a verb that runs no turn: the first signal ends its context, the
// second the process.
func (a *app) plain(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, end := a.stoppable(cmd.Context())
		defer end()
		if err := f(ctx, args); err != nil {
			return err
		}
		if c := a.stops.cause(); c != noCause {
			return exitError(c.exit())
		}
		return nil
	}
}

// reading makes a plain verb over a runtime without a model.
func (a *app) reading(f func(ctx context.Context, svc api.Service, args []string) error) func(*cobra.Command, []string) error {
	return a.plain(func(ctx context.Context, args []string) error {
		e, err := a.wire(ctx, a, need{quiet: true})
		if err != nil {
			return err
		}
		err = f(ctx, e.svc, args)
		return errors.Join(err, e.close(ctx))
	})
}

// workspace is the folder a session works in: absolute, links resolved.
func (a *app) workspace() (string, error) {
	if a.home != "" {
		return a.home, nil
	}
	dir := a.flags.cwd
	if dir == "" {
		dir = "."
	}
	dir, err := folder(dir)
	if err != nil {
		return "", usagef("name a folder that is there with --cwd", "the workspace cannot be used: %v", err)
	}
	return dir, nil
}

// folder is dir, which is there: absolute, links resolved.
func folder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && !info.IsDir() {
			err = errors.New("it is not a folder")
		}
	}
	return dir, err
}

// goOn finds the session that a person names and makes its recorded folder the
// workspace, wherever the command was started: its calls run there, so that this
// project's settings, rules and words are the ones that hold, not another's.
func (a *app) goOn(ctx context.Context, name string) (event.SessionID, error) {
	s, _, err := a.find(ctx, name)
	if err != nil || s.Cwd == "" { // where it was opened is not recorded, or cannot be read: opening says so
		return s.ID, err
	}
	home, err := folder(s.Cwd)
	if err != nil {
		return "", usagef(fmt.Sprintf("bring the folder back, or start a new session; `ripcord sessions show %s` still shows this one", s.ID),
			"session %s works in %s, which cannot be used: %v", s.ID, s.Cwd, err)
	}
	if a.flags.cwd != "" {
		asked, err := a.workspace()
		if err != nil {
			return "", err
		}
		if asked != home {
			return "", usagef("leave --cwd out, or start a new session there", "session %s works in %s, not in %s", s.ID, s.Cwd, asked)
		}
	}
	a.home = home
	return s.ID, nil
}

// resolve finds the session that a person means: its id or the only one that
// begins so.
func resolve(ctx context.Context, svc api.Service, name string) (api.SessionInfo, error) {
	all, err := svc.Sessions(ctx)
	if err != nil {
		return api.SessionInfo{}, err
	}
	var found []api.SessionInfo
	for _, s := range all {
		if string(s.ID) == name {
			return s, nil
		}
		if name != "" && (strings.HasPrefix(string(s.ID), name) || strings.HasPrefix(string(s.ID), "s_"+name)) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.SessionInfo{}, usagef("`ripcord sessions list` shows what there is", "there is no session %s", name)
	}
	return api.SessionInfo{}, usagef("write more of the id", "%d sessions begin with %s", len(found), name)
}

// control returns a client for the control socket of a session of this user.
func (a *app) control(id event.SessionID) (*remote.Client, error) {
	path, err := a.socketOf(id)
	if err != nil {
		return nil, err
	}
	return remote.Dial(path), nil
}

// socketOf is where a session has its control socket.
func (a *app) socketOf(id event.SessionID) (string, error) {
	root, err := dataRoot(a.env)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "sessions", string(id))
	if p := remote.SocketPath(dir, ""); filepath.Dir(p) == dir {
		return p, nil
	}
	run, err := runtimeDir(a.env)
	if err != nil {
		return "", configf("", "there is no place for the control socket: %v", err)
	}
	return remote.SocketPath(dir, run), nil
}
