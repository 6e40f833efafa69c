package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

func interruptCmd(a *app) *cobra.Command {
	var input string
	var turn int
	var force, drop bool
	var chosen func(flag string) bool
	cmd := &cobra.Command{
		Use: "interrupt SESSION", Short: "Stop a session's turn from another terminal", Args: cobra.ExactArgs(1),
		Long: `Stop a session's turn from another terminal. It prints {"state":"stopping"} or
{"noop":"idle|turn_mismatch|already_stopping"} and exits 0 either way. Waiting
input is held unless --drop-queue is given.`,
		Example: `  ripcord interrupt s_01
  ripcord interrupt s_01 --turn 3          only if that is the turn
  ripcord interrupt s_01 --force           skip every grace`,
		RunE: a.plain(func(ctx context.Context, args []string) error {
			if turn < 0 || turn == 0 && chosen("turn") {
				return usagef("turns count from 1", "--turn %d is no turn", turn)
			}
			if input == "" && chosen("input") { // it would stop whatever runs
				return usagef("leave --input out to stop whatever runs", "--input names no input")
			}
			got, err := a.interrupt(ctx, args[0], api.InterruptRequest{
				Input: event.InputID(input), Turn: turn, Force: force, KeepInbox: !drop,
				Reason: string(interrupt.UserSIGINT), Who: who(),
			})
			if err != nil {
				return err
			}
			a.out.write(line(got))
			return nil
		}),
	}
	f := cmd.Flags()
	chosen = f.Changed
	f.StringVar(&input, "input", "", "only the turn that processes this input")
	f.IntVar(&turn, "turn", 0, "only this turn")
	f.BoolVar(&force, "force", false, "skip every grace: kill now")
	f.BoolVar(&drop, "drop-queue", false, "also drop waiting input")
	return cmd
}

// holderBound is how long whoever holds a session has to answer a question
// that it can answer at once.
const holderBound = 5 * time.Second

// interrupt asks whoever holds the session. A session that no process holds is
// idle.
func (a *app) interrupt(ctx context.Context, name string, req api.InterruptRequest) (api.Interrupted, error) {
	return holder(ctx, a, name, func(ctx context.Context, c *remote.Client, id event.SessionID) (api.Interrupted, error) {
		req.Session = id
		return c.Interrupt(ctx, req)
	}, func(s api.SessionInfo, err error) (api.Interrupted, bool, error) {
		return api.Interrupted{Noop: "idle"}, s.Owner == nil && remote.Absent(err), nil
	})
}

// holder asks whoever holds the session. One that is just opening or closing it
// and does not answer is asked again, so that asking twice must be harmless;
// free says what the answer is where nobody holds it.
func holder[T any](ctx context.Context, a *app, name string, ask func(context.Context, *remote.Client, event.SessionID) (T, error),
	free func(api.SessionInfo, error) (T, bool, error)) (got T, err error) {
	ctx, cancel := context.WithTimeout(ctx, holderBound)
	defer cancel()
	for {
		s, line, err := a.find(ctx, name)
		if err != nil {
			return got, err
		}
		got, err = reach(a, line, func(c *remote.Client) (T, error) { return ask(ctx, c, s.ID) })
		if err == nil {
			return got, nil
		}
		if v, nobody, why := free(s, err); nobody {
			return v, why
		}
		var e *api.Error
		if !errors.As(err, &e) || e.Code != event.FailTransport && e.Code != codeNotFound {
			return got, err
		}
		t := time.NewTimer(50 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return got, noAnswer(s, err)
		}
	}
}

// reach asks over the first control socket of line that is there.
func reach[T any](a *app, line []event.SessionID, ask func(*remote.Client) (T, error)) (got T, err error) {
	for _, id := range line {
		var c *remote.Client
		if c, err = a.control(id); err != nil {
			return got, err
		}
		got, err = ask(c)
		c.Close()
		if err == nil || !remote.Absent(err) {
			return got, err
		}
	}
	return got, err
}

// lineOf is whose control sockets reach session s: its own, and those of the
// sessions that started it, for a sub-agent has none while they work.
func lineOf(s api.SessionInfo, all []api.SessionInfo) []event.SessionID {
	line := []event.SessionID{s.ID}
	for at := s; s.Owner != nil && at.Parent != "" && !slices.Contains(line, at.Parent); {
		line = append(line, at.Parent)
		i := slices.IndexFunc(all, func(o api.SessionInfo) bool { return o.ID == at.Parent })
		if i < 0 {
			break
		}
		at = all[i]
	}
	return line
}

// noAnswer is said of a holder that lives and does not answer in time.
func noAnswer(s api.SessionInfo, err error) error {
	if s.Owner == nil {
		return err
	}
	pid := itoa(s.Owner.PID)
	return &api.Error{Code: event.FailBusy, Message: "process " + pid + " holds session " + string(s.ID) + " and does not answer on its control socket",
		Hint: "if it was suspended, `kill -CONT " + pid + "` lets it go on; else end it with a signal", Owner: s.Owner, Err: err}
}

// find resolves a session's name, and how it is reached, without keeping a
// runtime.
func (a *app) find(ctx context.Context, name string) (s api.SessionInfo, line []event.SessionID, err error) {
	e, err := a.wire(ctx, a, need{quiet: true})
	if err != nil {
		return s, nil, err
	}
	s, err = resolve(ctx, e.svc, name)
	var all []api.SessionInfo
	if err == nil && s.Parent != "" {
		all, err = e.svc.Sessions(ctx)
	}
	if cerr := e.close(ctx); err == nil {
		err = cerr
	}
	return s, lineOf(s, all), err
}

// who names the person at this terminal for the record.
func who() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + itoa(os.Getuid())
}
