package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// rewinding is what rewind was asked to do.
type rewinding struct {
	turn                int
	files, yes, restore bool
	asJSON              bool
}

func rewindCmd(a *app) *cobra.Command {
	var w rewinding
	var chosen func(flag string) bool
	cmd := &cobra.Command{
		Use: "rewind SESSION", Short: "Hide a session's turns from one on", Args: cobra.ExactArgs(1),
		Long: `Hide a session's turns from one on: the model does not see them any more. The
journal keeps everything. Without --files no file is touched. No other process
may hold the session.

With --files, in a git repository, what the hidden turns' calls of write, edit
and apply_patch changed is shown in reverse, and written after a confirmation:
all of it or, where a file is not as they left it, nothing. What commands did,
and what was too large or no text, stays and is named. Without the confirmation
neither files nor turns change: exit 5.`,
		Example: `  ripcord rewind s_01                    the last turn
  ripcord rewind s_01 --turn 3 --restore  and its input waits again, to be edited
  ripcord rewind s_01 --turn 3 --files    also take back what was written to files`,
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			if w.turn < 0 || w.turn == 0 && chosen("turn") {
				return usagef("turns count from 1", "--turn %d is no turn", w.turn)
			}
			s, err := resolve(ctx, svc, args[0])
			if err != nil {
				return err
			}
			if _, err := svc.Open(ctx, api.OpenRequest{ID: s.ID}); err != nil { // nobody else runs it from here on
				return err
			}
			return a.rewind(ctx, svc, s, w)
		}),
	}
	f := cmd.Flags()
	chosen = f.Changed
	f.IntVar(&w.turn, "turn", 0, "first turn to hide (default: the last one that is not hidden)")
	f.BoolVar(&w.restore, "restore", false, "the input of the first hidden turn waits again, held, to be edited or sent")
	f.BoolVar(&w.files, "files", false, "also take back what the hidden turns' write, edit and apply_patch changed, after a confirmation")
	f.BoolVar(&w.yes, "yes", false, "with --files: write without asking")
	f.BoolVar(&w.asJSON, "json", false, "one JSON object")
	return cmd
}

// rewound is what rewind prints with --json.
type rewound struct {
	Turn     int           `json:"turn"`
	Returned []api.Waiting `json:"returned"`
	Files    []string      `json:"files"`   // put back
	Unknown  []string      `json:"unknown"` // what the hidden turns did besides
}

// recordBound is how long the record may take that follows the files.
const recordBound = 10 * time.Second

func (a *app) rewind(ctx context.Context, svc api.Service, s api.SessionInfo, w rewinding) error {
	done := rewound{Files: []string{}, Unknown: []string{}}
	if w.files {
		u, err := a.takenBack(ctx, svc, s, &w.turn)
		if err != nil {
			return err
		}
		done.Unknown = append(done.Unknown, u.Unknown...)
		done.Files = append(done.Files, u.Names()...)
		if err := a.putBack(ctx, u, w); err != nil {
			return err
		}
		if len(done.Files) > 0 { // the record follows the files, whatever comes between
			var release context.CancelFunc
			ctx, release = interrupt.Cleanup(ctx, recordBound)
			defer release()
		}
	}
	got, err := svc.Rewind(ctx, api.RewindRequest{Session: s.ID, Turn: w.turn, Restore: w.restore, By: who()})
	if err != nil && len(done.Files) > 0 {
		e := *explain(err)
		e.Message = "the files were put back, the turns are still visible: " + e.Message
		e.Hint = fmt.Sprintf("`ripcord rewind %s --turn %d` hides them", s.ID, w.turn)
		return &e
	}
	if err != nil {
		return err
	}
	done.Turn, done.Returned = got.Turn, got.Returned
	if w.asJSON {
		a.out.write(line(done))
	} else {
		a.print("turns from %d on are hidden\n", got.Turn)
		for _, in := range got.Returned {
			a.print("waits again: %s  %s\n", in.ID, clip(in.Input.Content.Text(), 60))
		}
	}
	if !w.files {
		a.say("no file was touched; what the hidden turns did on disk is still there")
	}
	return nil
}

// takenBack works out what the hidden turns wrote to files, and whether the
// session can be rewound there at all: files are not touched for a rewind that
// is refused. It changes nothing.
func (a *app) takenBack(ctx context.Context, svc api.Service, s api.SessionInfo, from *int) (*undo, error) {
	var recs []event.Record
	for f, err := range svc.Records(ctx, s.ID, 0) {
		if err != nil {
			return nil, err
		}
		recs = append(recs, *f.Record)
	}
	l, err := turn.Fold(recs)
	if err != nil {
		return nil, err
	}
	if *from == 0 {
		*from = l.LastHideable()
	}
	if !l.Hideable(*from) { // in the rewind's own words
		_, err := svc.Rewind(ctx, api.RewindRequest{Session: s.ID, Turn: max(*from, 1), By: who()})
		if err == nil {
			err = errors.New("the session could not be rewound to this turn")
		}
		return nil, err
	}
	return RewindFiles(l.Header.Cwd, recs, *from)
}

// putBack shows what will be written, asks, and writes it, all or nothing. A stop
// that comes before the writing is its error.
func (a *app) putBack(ctx context.Context, u *undo, w rewinding) error {
	for _, what := range u.Unknown {
		a.say("stays as it is: %s", what)
	}
	if len(u.Names()) == 0 {
		a.say("the hidden turns wrote to no file that is not as it was")
		return nil
	}
	switch {
	case !w.asJSON:
		a.print("%s", harmless(u.Diff()))
	case !w.yes: // nobody is asked about what was not shown
		a.note(harmless(u.Diff()))
	}
	switch {
	case w.yes:
	case !isTerminal(a.stdin):
		a.say("nothing was changed: this needs a confirmation; look at the change, then give --yes")
		return exitError(exitBlocked)
	case !a.confirmed(ctx, "Write this to "+u.Root()+"?"):
		a.say("nothing was changed")
		if err := context.Cause(ctx); err != nil { // it was a stop, not an answer
			return err
		}
		return exitError(exitBlocked)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return u.Apply()
}

// confirmed asks the person at the terminal.
func (a *app) confirmed(ctx context.Context, question string) bool {
	a.say("%s [y/N]", question)
	answer := make(chan string, 1)
	go func() { // ends with the process at the latest: a read cannot be cut
		text, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- text
	}()
	select {
	case text := <-answer:
		text = strings.ToLower(strings.TrimSpace(text))
		return text == "y" || text == "yes"
	case <-ctx.Done():
		return false
	}
}
