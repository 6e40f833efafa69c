package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/builtin"
)

// asVictim in the environment makes this test binary a program that runs one
// turn and kills itself; its value is a [victim].
const asVictim = "RIPCORD_CRASH_VICTIM"

// victim is what a process that is to die does.
type victim struct {
	Root, Cwd, URL string

	// It kills itself at the nth time that a record of type Type passes Point.
	// InTool is not a point of the journal: it is when Line stands in Ledger.
	Point        crashtest.Point
	Type         event.Type
	N            int
	Ledger, Line string

	// Then is what is said meanwhile, or asked for behind the turn: "steer",
	// "now", "retry", "compact"; empty: nothing.
	Then string
}

const inTool crashtest.Point = "in-tool"

// die ends this process as nothing else does, and never returns.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// at is the victim's tap.
func (v *victim) at() func(crashtest.Point, []event.Record) error {
	seen := map[crashtest.Point]int{}
	return func(p crashtest.Point, recs []event.Record) error {
		for i := range recs {
			if recs[i].Type != v.Type {
				continue
			}
			if seen[p]++; seen[p] != v.N {
				continue
			}
			switch {
			case p == v.Point:
				die()
			case v.Point == inTool && p == crashtest.AfterSync:
				go v.watch()
			}
		}
		return nil
	}
}

// watch dies once the tool has done its work.
func (v *victim) watch() {
	for range time.NewTicker(time.Millisecond).C {
		if b, err := os.ReadFile(v.Ledger); err == nil && bytes.Contains(b, []byte(v.Line)) {
			die()
		}
	}
}

// runVictim is main of a victim.
func runVictim(spec string) int {
	var v victim
	if err := json.Unmarshal([]byte(spec), &v); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	r, err := v.rig(v.at())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx := context.Background()
	st, err := r.rt.Open(ctx, api.OpenRequest{Cwd: v.Cwd})
	if err == nil {
		err = v.play(ctx, r.rt, st.ID)
	}
	if err = errors.Join(err, r.close(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// play has one turn done, and what is said besides.
func (v *victim) play(ctx context.Context, rt *ripcord.Runtime, id event.SessionID) error {
	say := func(text string, p event.Priority) (event.InputID, error) {
		sub, err := rt.Submit(ctx, api.SubmitRequest{Session: id, Priority: p, Input: event.UserInput{Content: event.TextOf(text)}})
		return sub.Input, err
	}
	first, err := say("please append", event.PriorityLater)
	if err != nil {
		return err
	}
	more := first
	switch v.Then {
	case "steer":
		more, err = say("and mind what I say", event.PriorityNext)
	case "now":
		if err = begun(ctx, rt, id); err == nil {
			more, err = say("and now this at once", event.PriorityNow)
		}
	case "retry":
		if err = begun(ctx, rt, id); err != nil {
			return err
		}
		if _, err = rt.Interrupt(ctx, api.InterruptRequest{Session: id, Input: first}); err != nil {
			return err
		}
		if _, err = rt.Wait(ctx, id, first); err != nil {
			return err
		}
		var sub api.Submitted
		sub, err = rt.Retry(ctx, api.RetryRequest{Session: id})
		more = sub.Input
	case "compact":
		if _, err = rt.Wait(ctx, id, first); err != nil {
			return err
		}
		var sub api.Submitted
		sub, err = rt.Compact(ctx, id)
		more = sub.Input
	}
	for _, input := range []event.InputID{first, more} {
		if err == nil {
			_, err = rt.Wait(ctx, id, input)
		}
	}
	return err
}

// begun waits until the second call runs.
func begun(ctx context.Context, rt *ripcord.Runtime, id event.SessionID) error {
	for f, err := range rt.Follow(ctx, id, 0, true) {
		if err != nil {
			return err
		}
		if f.Record != nil && f.Record.Type == event.TypeProcessStarted && f.Record.Call == "c2" {
			return nil
		}
	}
	return context.Cause(ctx)
}

// fileRig is a runtime with files, processes and a model elsewhere: what the
// command wires.
type fileRig struct {
	store *file.Store
	host  proc.Host
	model *openai.Model
	rt    *ripcord.Runtime
}

func (v *victim) rig(at func(crashtest.Point, []event.Record) error) (*fileRig, error) {
	r := &fileRig{}
	var err error
	if r.store, err = file.Open(v.Root, file.Options{Check: crashtest.Check}); err != nil {
		return nil, err
	}
	var store journal.Store = r.store
	if at != nil {
		tap := crashtest.NewTap(r.store)
		tap.At = at
		store = tap
	}
	if r.host, err = proc.NewHost(proc.Options{Scratch: v.Root}); err != nil {
		return nil, err
	}
	if r.model, err = openai.New(openai.Config{BaseURL: v.URL, Model: "script"}); err != nil {
		return nil, errors.Join(err, r.host.Close())
	}
	r.rt, err = ripcord.New(ripcord.Config{Store: store, Host: r.host, Model: r.model, Tools: builtin.Tools(builtin.Options{Host: r.host}),
		Gate: gate.Rules{Policy: gate.YesAll}, Limits: ripcord.Limits{Backoff: time.Millisecond}})
	if err != nil {
		return nil, errors.Join(err, r.model.Close(), r.host.Close())
	}
	return r, nil
}

func (r *fileRig) close(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	return errors.Join(r.rt.Close(ctx), r.model.Close(), r.host.Close())
}
