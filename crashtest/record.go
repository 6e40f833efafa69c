package crashtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/turn"
)

// Recording is a whole run: its journal, and what was known outside of it.
type Recording struct {
	Scenario Scenario
	ID       event.SessionID
	Bytes    []byte
	Lines    [][]byte // without newlines
	Records  []event.Record
	Ends     []int // offset behind each record and its newline
	// Acks are the acknowledgements in order: once Bytes bytes were synced the
	// writer was told that Seq is durable.
	Acks []Ack
	Runs map[event.CallID]int       // how often each call had its effect
	Seen map[event.CallID]event.Seq // what was acknowledged at its first
	Told []Told                     // what people were told, in order
	// Children are the sub-agents' own journals, in the order of their links.
	Children []*Recording
}

// Told is an answer that somebody got: that an input was taken, or how its turn
// ended.
type Told struct {
	Type  event.Type // inbox/accepted or turn/end
	Input event.InputID
	Acked event.Seq // what was acknowledged then
}

// Ack is one acknowledgement.
type Ack struct {
	Bytes int
	Seq   event.Seq
}

// Acked returns the last record that had been acknowledged when a crash left
// n bytes, all of which were as they had been written.
func (r *Recording) Acked(n int) event.Seq {
	acked := event.Seq(-1)
	for _, a := range r.Acks {
		if a.Bytes <= n {
			acked = a.Seq
		}
	}
	return acked
}

// Check is the judge of order that the stores of this package use.
func Check() journal.Checker { return turn.Check() }

// Policy is the gate of the scenarios: a rule refuses one tool, a person is
// asked about what asks.
func Policy() gate.Gate {
	return gate.Rules{List: []gate.Rule{{Name: "no-forbidden", Tool: "forbidden", Deny: true}}}
}

// Rig is a runtime over a store and the scripted server in strict mode.
type Rig struct {
	Server  *scripted.Server
	Runtime *ripcord.Runtime
	model   *openai.Model
}

// RigOptions are what a rig is made of besides its store.
type RigOptions struct {
	Script  string
	Effects *Effects
	Acked   func(event.SessionID) event.Seq // what is acknowledged now; nil: not known
	Asked   func()                          // hears of each attempt before its request is sent; nil: nobody
	Gear    *Gear                           // what a scenario adds; nil: nothing
}

// NewRig joins them. Close ends all three but the store.
func NewRig(store journal.Store, o RigOptions) (*Rig, error) {
	sc, err := scripted.Parse(o.Script)
	if err != nil {
		return nil, err
	}
	server, err := scripted.NewServer(sc, scripted.Options{})
	if err != nil {
		return nil, err
	}
	m, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "script"})
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	if o.Acked == nil {
		o.Acked = func(event.SessionID) event.Seq { return -1 }
	}
	cfg := ripcord.Config{Store: store, Model: &watched{m, o.Asked}, Tools: Kit(o.Effects, o.Acked), Gate: Policy(),
		System: "You are a test.", Limits: ripcord.Limits{Backoff: time.Millisecond}}
	if g := o.Gear; g != nil {
		cfg.Tools, cfg.Hooks, cfg.Keepers = append(cfg.Tools, g.Tools...), g.Hooks, g.Keepers
		if cfg.Guards = g.Guards; g.Limits != nil {
			g.Limits(&cfg.Limits)
		}
		if g.Gate != nil {
			cfg.Gate = g.Gate(cfg.Gate)
		}
	}
	rt, err := ripcord.New(cfg)
	if err != nil {
		return nil, errors.Join(err, m.Close(), server.Close())
	}
	return &Rig{Server: server, Runtime: rt, model: m}, nil
}

// watched is a model whose attempts are told of before they begin.
type watched struct {
	model.Model
	asked func()
}

func (w *watched) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	if w.asked != nil {
		w.asked()
	}
	return w.Model.Stream(ctx, req)
}

// Close ends the runtime, the client and the server.
func (r *Rig) Close(ctx context.Context) error {
	return errors.Join(r.Runtime.Close(ctx), r.model.Close(), r.Server.Close())
}

// Record plays s and returns what it left.
func Record(ctx context.Context, s Scenario) (_ *Recording, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}()
	rec := &Recording{Scenario: s, ID: "s_" + event.SessionID(strings.ReplaceAll(s.Name, " ", "-"))}
	store := mem.New(mem.Options{Check: Check})
	tap := NewTap(store)
	var mu sync.Mutex
	acks := map[event.SessionID][]Ack{}
	tap.Told = func(id event.SessionID, acked event.Seq) {
		mu.Lock()
		defer mu.Unlock()
		acks[id] = append(acks[id], Ack{int(store.Synced(id)), acked})
	}
	effects, gear := NewEffects(), &Gear{}
	if s.Gear != nil {
		if gear, err = s.Gear(ctx); err != nil {
			return nil, err
		}
		tap.Folder = gear.Folder
	}
	rig, err := NewRig(tap, RigOptions{Script: s.Script + second, Effects: effects, Acked: tap.Acked, Gear: gear})
	bound, done := interrupt.Cleanup(ctx, patience)
	defer done()
	if err != nil {
		return nil, errors.Join(err, gear.close(bound))
	}
	err = rec.play(ctx, rig, store, tap)
	if err = errors.Join(err, rig.Close(bound), gear.close(bound)); err != nil {
		return nil, err
	}
	return rec, rec.keep(store, acks, effects)
}

// keep takes the journal of r over, and those of the sub-agents that it names.
func (r *Recording) keep(store *mem.Store, acks map[event.SessionID][]Ack, effects *Effects) error {
	r.Bytes, r.Acks = store.Bytes(r.ID), acks[r.ID]
	r.Runs, r.Seen = effects.Of(r.ID)
	if err := r.index(); err != nil {
		return err
	}
	for _, link := range links(r.Records) {
		child := &Recording{Scenario: Scenario{Name: fmt.Sprintf("%s, sub-agent %d", r.Scenario.Name, len(r.Children)+1)}, ID: link.Child}
		if err := child.keep(store, acks, effects); err != nil {
			return err
		}
		r.Children = append(r.Children, child)
	}
	return nil
}

func (r *Recording) play(ctx context.Context, rig *Rig, store *mem.Store, tap *Tap) error {
	// An empty journal is a session that was created and died at once; opening
	// it is what gives the session a name of our choice.
	store.Put(r.ID, nil)
	if _, err := rig.Runtime.Open(ctx, api.OpenRequest{ID: r.ID}); err != nil {
		return err
	}
	stage := &Stage{Service: rig.Runtime, ID: r.ID, Told: func(typ event.Type, input event.InputID) {
		r.Told = append(r.Told, Told{typ, input, tap.Acked(r.ID)})
	}}
	if r.Scenario.Play == nil {
		if _, err := stage.Run(ctx, "go"); err != nil {
			return err
		}
	} else if err := r.Scenario.Play(ctx, stage); err != nil {
		return err
	}
	res, err := stage.Run(ctx, "and now?")
	if err != nil {
		return err
	}
	if *res.Outcome != cmp.Or(r.Scenario.Ends, event.TurnCompleted) {
		return fmt.Errorf("the second turn ended %s: %v", *res.Outcome, res.Error)
	}
	for _, q := range rig.Server.Requests() {
		if q.Refuse != nil {
			return fmt.Errorf("request %d was refused: %w", q.N, q.Refuse)
		}
	}
	return nil
}

// Family lists the recordings of r's sub-agents, at whatever depth.
func (r *Recording) Family() (out []*Recording) {
	for _, c := range r.Children {
		out = append(append(out, c), c.Family()...)
	}
	return out
}

func (r *Recording) index() error {
	at := 0
	for line := range bytes.Lines(r.Bytes) {
		at += len(line)
		line = bytes.TrimSuffix(line, []byte("\n"))
		rec, err := event.Parse(line)
		if err != nil {
			return err
		}
		if _, err := rec.Body(); err != nil {
			return err
		}
		r.Lines, r.Records, r.Ends = append(r.Lines, line), append(r.Records, rec), append(r.Ends, at)
	}
	return nil
}

// Whole returns how many records stand whole in the first n bytes; one that
// lacks only its newline is whole.
func (r *Recording) Whole(n int) int {
	k := 0
	for k < len(r.Ends) && r.Ends[k]-1 <= n {
		k++
	}
	return k
}
