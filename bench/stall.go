package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/model/anthropic"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/turn"
)

const (
	stallLimit = 400 * time.Millisecond
	pingFor    = 120 * time.Second
	pingers    = 20
)

func responses(url string) (closable, error) {
	return openai.NewResponses(openai.Config{BaseURL: url, Model: "bench"})
}

func messages(url string) (closable, error) {
	return anthropic.New(anthropic.Config{BaseURL: url, Model: "bench"})
}

// guarded is a rig whose stall guard has these limits, and which asks once.
func (l *lab) guarded(dial dialling, script string, limits guard.StallLimits) (*rig, error) {
	r, store, err := l.modelled(dial, script)
	if err != nil {
		return nil, err
	}
	r.rt, err = ripcord.New(ripcord.Config{Store: store, Model: r.model, Limits: ripcord.Limits{Attempts: 1}, Guards: turn.Guards{Stall: limits, NoWake: true}})
	return r, err
}

func (r *rig) off(ctx context.Context) error {
	return errors.Join(shut(ctx, r.rt, r.dir), r.model.Close(), r.server.Close())
}

// stalls measures how long after its limit a silence is found, how long a
// finish takes that is not followed by the socket's end, and whether pings alone
// ever alarm a guard that is set up to bear them.
func (l *lab) stalls(ctx context.Context) (rows []figure, err error) {
	limits := guard.StallLimits{First: stallLimit, Idle: stallLimit}
	var quiet figure
	var quietErr error
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { quiet, quietErr = l.pings(ctx) }) // next to nothing happens in it
	for _, c := range []struct{ what, script string }{
		{"no first event", "answer always\n  headers\n  hang\n"},
		{"silence after words", "answer always\n  text one two\n  hang\n"},
		{"nothing but pings after words", "answer always\n  text one two\n  (P W(50ms)) x 100000\n"},
		{"silence in an argument", "answer always\n  call write c1 {\"content\":\"one two\n  hang\n"},
	} {
		s, err := l.silences(ctx, c.script, limits, l.rounds(40))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		rows = append(rows, figure{"BEN-10", "stall found after its limit: " + c.what, "+ ≤ 100 ms, p99", "+ " + s.String(), "", s.at(.99) <= 100*time.Millisecond})
	}
	for _, c := range []struct {
		what, script string
		dial         dialling
		extra        time.Duration // that the driver waits for counts
	}{
		{"chat completions", "answer always\n  text one two\n  finish stop\n  usage 1 2\n  hang\n", chat, 0},
		{"responses", "answer always\n  text one two\n  usage 1 2\n  finish stop\n  hang\n", responses, 0},
		{"messages", "answer always\n  text one two\n  usage 1 2\n  finish stop\n" + `  raw "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"` + "\n  hang\n", messages, 0},
		{"chat completions without the token counts that were asked for", "answer always\n  text one two\n  finish stop\n  hang\n", chat, 500 * time.Millisecond},
	} {
		s, err := l.finishes(ctx, c.dial, c.script, l.rounds(40))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		most, target := c.extra+50*time.Millisecond, "≤ 50 ms, p99"
		if c.extra > 0 {
			target = fmt.Sprintf("≤ the wait of %s for them + 50 ms, p99", short(c.extra))
		}
		rows = append(rows, figure{"BEN-10", "finish obeyed while the socket stays open: " + c.what, target, s.String(), "", s.at(.99) <= most})
	}
	beside.Wait()
	return append(rows, quiet), quietErr
}

// silences runs turns that stall and returns by how much each was found late,
// counted from when its last word came.
func (l *lab) silences(ctx context.Context, script string, limits guard.StallLimits, n int) (out sample, err error) {
	r, err := l.guarded(chat, script, limits)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.off(ctx)) }()
	for range n {
		if err := r.another(ctx); err != nil {
			return nil, err
		}
		began, last, found, err := r.verdict(ctx)
		if err != nil {
			return nil, err
		}
		if last.IsZero() {
			last = began
		}
		out = append(out, found.Sub(last)-stallLimit)
		if err := r.rt.Release(ctx, r.id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// verdict runs a turn and returns when its request was durable, when the last
// live words came and when the guard's verdict was recorded.
func (r *rig) verdict(ctx context.Context) (asked, last, found time.Time, err error) {
	watch, done := context.WithCancel(ctx)
	defer done()
	st, err := r.rt.Status(ctx, r.id)
	if err != nil {
		return asked, last, found, err
	}
	if _, err := r.submit(ctx, "go"); err != nil {
		return asked, last, found, err
	}
	for f, err := range r.rt.Follow(watch, r.id, st.Seq+1, true) {
		switch {
		case err != nil:
			return asked, last, found, err
		case f.Live != nil && (f.Live.Kind == api.LiveText || f.Live.Kind == api.LiveTool):
			last = time.Now()
		case f.Record != nil && f.Record.Type == event.TypeModelRequest:
			asked = f.Record.Time
		case f.Record != nil && f.Record.Type == event.TypeGuardVerdict:
			found = time.Now()
		case f.Record != nil && f.Record.Type == event.TypeTurnEnded:
			if found.IsZero() {
				return asked, last, found, errors.New("the turn ended without a verdict")
			}
			return asked, last, found, nil
		}
	}
	return asked, last, found, errors.New("the turn did not end")
}

// finishes runs turns whose socket stays open and returns how long each took
// from its last words to its end.
func (l *lab) finishes(ctx context.Context, dial dialling, script string, n int) (out sample, err error) {
	r, err := l.guarded(dial, script, guard.StallLimits{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.off(ctx)) }()
	for range n {
		if err := r.another(ctx); err != nil {
			return nil, err
		}
		st, err := r.rt.Status(ctx, r.id)
		if err != nil {
			return nil, err
		}
		input, err := r.submit(ctx, "go")
		if err != nil {
			return nil, err
		}
		watch, done := context.WithCancel(ctx)
		var said time.Time
		for f, err := range r.rt.Follow(watch, r.id, st.Seq+1, true) {
			if err != nil {
				done()
				return nil, err
			}
			if f.Live != nil && f.Live.Kind == api.LiveText {
				said = time.Now()
				break
			}
		}
		done()
		res, err := r.rt.Wait(ctx, r.id, input)
		if err != nil {
			return nil, err
		}
		if *res.Outcome != event.TurnCompleted {
			return nil, fmt.Errorf("the turn ended %s", *res.Outcome)
		}
		out = append(out, time.Since(said))
		if err := r.rt.Release(ctx, r.id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pings has sessions hear nothing but keep-alives for two minutes, with a guard
// that has no limits, and then an answer.
func (l *lab) pings(ctx context.Context) (_ figure, err error) {
	long := time.Duration(float64(pingFor) * l.scale)
	r, err := l.guarded(chat, fmt.Sprintf("answer always\n  (P W(1s)) x %d\n  text done\n  usage 1 1\n  finish stop\n", int(long/time.Second)), guard.StallLimits{First: -1, Idle: -1})
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, r.off(ctx)) }()
	var wg sync.WaitGroup
	alarms := make([]string, pingers)
	for i := range pingers {
		s, err := r.rt.Open(ctx, api.OpenRequest{Cwd: r.dir})
		if err != nil {
			return figure{}, err
		}
		wg.Go(func() {
			res, err := r.rt.Run(ctx, s.ID, "go")
			switch {
			case err != nil:
				alarms[i] = err.Error()
			case *res.Outcome != event.TurnCompleted:
				alarms[i] = string(*res.Outcome)
			}
		})
	}
	wg.Wait()
	n, why := 0, ""
	for _, a := range alarms {
		if a != "" {
			n, why = n+1, a
		}
	}
	return figure{"BEN-10", fmt.Sprintf("false alarms over %s of pings, %d sessions, limits off", long, pingers), "0", fmt.Sprintf("%d %s", n, why), "", n == 0}, nil
}
