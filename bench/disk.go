package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

const lineBytes = 300 // of a typical record

// floor is the time of n bare appends, each with an fdatasync.
func (l *lab) floor(n int) (time.Duration, error) {
	f, err := os.OpenFile(filepath.Join(l.dir, "floor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := bytes.Repeat([]byte{'x'}, lineBytes)
	began := time.Now()
	for range n {
		if _, err := f.Write(b); err != nil {
			return 0, err
		}
		if err := syncData(f); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// durable measures one durable record, and an intent with its result, through
// the file store against as many bare fdatasyncs.
func (l *lab) durable(ctx context.Context) (_ []figure, err error) {
	store, err := file.Open(filepath.Join(l.dir, "durable"), file.Options{Check: func() journal.Checker { return turn.Check() }, CheckFrom: session.CheckFrom})
	if err != nil {
		return nil, err
	}
	w, err := store.Create(ctx, "s_bench")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	last := event.Seq(-1)
	put := func(p event.Payload) error {
		r, err := event.New(p, time.Now())
		if err != nil {
			return err
		}
		if last, err = w.Append(ctx, last, 1, []event.Record{r}); err != nil {
			return err
		}
		_, err = w.Sync(ctx)
		return err
	}
	if err := put(event.SessionOpened{ID: "s_bench"}); err != nil {
		return nil, err
	}
	var one, floor sample
	fact := event.GuardVerdict{Guard: "bench", Verdict: string(bytes.Repeat([]byte{'x'}, lineBytes-160))}
	ours := func() error {
		began := time.Now()
		err := put(fact)
		one = append(one, time.Since(began))
		return err
	}
	theirs := func() error {
		d, err := l.floor(1)
		floor = append(floor, d)
		return err
	}
	for range l.rounds(1500) {
		for _, f := range []func() error{ours, theirs, theirs, ours} {
			if err := f(); err != nil {
				return nil, err
			}
		}
	}
	x := ratio(one.at(.5), floor.at(.5))
	return []figure{{"BEN-04", "durable event", "≤ 1.3 × bare fdatasync, p50", fmt.Sprintf("%s = %.2f ×", one, x), floor.String(), x <= 1.3}}, nil
}

// noop is a tool that does nothing; how long its runner was in between start
// and end is the cost of a durable call.
type noop struct{ runs atomic.Int64 }

func (n *noop) Spec() tool.Spec {
	return tool.Spec{Name: "noop", Description: "nothing", Schema: json.RawMessage(`{"type":"object"}`), Effect: tool.Pure, Concurrent: true}
}

func (n *noop) Execute(context.Context, *tool.Call) (tool.Result, error) {
	n.runs.Add(1)
	return tool.Text("ok"), nil
}

// calls measures whole calls of a real session, intent and result durable:
// the time of a turn of two steps less that of a turn of one.
func (l *lab) calls(ctx context.Context) (_ []figure, err error) {
	n := &noop{}
	r, err := l.rig(ctx, "answer always if user call and not result\n  call noop -\n  args {}\n  end\n  finish tool\nanswer always\n  text ok\n  finish stop\n", 0, n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	var ours, floor sample
	var sessions []event.SessionID
	for i := range l.rounds(400) {
		if i%50 == 0 { // a long history is not what is measured
			if err := r.fresh(ctx); err != nil {
				return nil, err
			}
			sessions = append(sessions, r.id)
		}
		if _, err := r.rt.Run(ctx, r.id, "call"); err != nil {
			return nil, err
		}
		f, err := l.floor(1)
		if err != nil {
			return nil, err
		}
		floor = append(floor, f)
	}
	for _, id := range sessions {
		took, err := r.between(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, d := range took {
			ours = append(ours, d+floor.at(.5)) // and the checkpoint that makes the result durable
		}
	}
	if int(n.runs.Load()) != len(ours) {
		return nil, fmt.Errorf("%d calls ran and %d were measured", n.runs.Load(), len(ours))
	}
	x := ratio(ours.at(.5), floor.at(.5))
	return []figure{{"BEN-04", "durable call (intent, run, result), in a session", "≤ 2.5 × bare fdatasync, p50", fmt.Sprintf("%s = %.2f ×", ours, x), floor.String(), x <= 2.5}}, nil
}

// between lists how long each call of a session took, from its approval to the
// request that its result goes out with.
func (r *rig) between(ctx context.Context, id event.SessionID) (out sample, err error) {
	var begun time.Time
	for f, err := range r.rt.Records(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		switch f.Record.Type {
		case event.TypeCallApproved:
			begun = f.Record.Time
		case event.TypeModelRequest:
			if !begun.IsZero() {
				out = append(out, f.Record.Time.Sub(begun))
				begun = time.Time{}
			}
		}
	}
	return out, nil
}

// cold measures a whole start of the program, from exec to the first byte of
// its request, and the program's size.
func (l *lab) cold(ctx context.Context) ([]figure, error) {
	exe, err := build(ctx, l.dir)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	arrived := make(chan time.Time, 1)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})}
	go func() { _ = srv.Serve(ln) }() // ends with Close
	defer srv.Close()
	var s sample
	for range l.rounds(60) {
		cmd := exec.CommandContext(ctx, exe, "run", "hello")
		cmd.Dir = l.dir
		cmd.Env = append(os.Environ(), "RIPCORD_HOME="+filepath.Join(l.dir, "cold"), "RIPCORD_BASE_URL=http://"+ln.Addr().String()+"/v1",
			"RIPCORD_MODEL=x", "RIPCORD_PROVIDER=openai-chat", "RIPCORD_CONFIG="+os.DevNull)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		s = append(s, (<-arrived).Sub(began))
	}
	mb := float64(size(exe)) / (1 << 20)
	return []figure{
		{"BEN-12", "cold start of `ripcord run` to the request", "≤ 50 ms", s.String(), "", s.at(.5) <= 50*time.Millisecond},
		{"BEN-12", "the program, stripped", "≤ 40 MB", fmt.Sprintf("%.1f MB", mb), "", mb <= 40},
	}, nil
}
