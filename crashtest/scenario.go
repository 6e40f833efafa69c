package crashtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Scenario is a run worth breaking: a first turn, then a second, which is the
// same for all.
type Scenario struct {
	Name   string
	Script string // of the first turn, for the scripted server in strict mode
	// Play does the first turn. It submits "go" and returns once the turn has
	// ended; nil submits and waits.
	Play func(ctx context.Context, s *Stage) error
	// Shows is what its journal has, in this order.
	Shows []string
	// Gear makes what the scenario needs beside the kit's tools; nil: nothing.
	Gear func(ctx context.Context) (*Gear, error)
	// Ends is how the second turn ends; empty means completed.
	Ends event.TurnOutcome
}

// second is the answer of every later turn.
const second = `
default
  text And that was that.
  usage 9 4
  finish stop
`

// few is how many scenarios stand for all of them where there is little time.
const few = 12

// Named returns how many scenarios have a name.
func Named() int { return len(Scenarios(0)) }

// Scenarios returns n of them: first the few that stand for all, then the other
// named ones, then seeded ones made of the same parts; 0 is all named ones.
func Scenarios(n int) []Scenario {
	out := []Scenario{
		{Name: "text", Script: `T'Hello ' T'there, ' T'you.' U(5,3) F(stop)`},
		{Name: "reasoning and text", Script: `R'The user greets. ' R'So greet back.' S'sig-1' T'Hello ☺.' U(5,9) F(stop)`},
		{Name: "one call", Script: "T'I do it. ' C(c1,append) A'{\"line\":' A'1}' E U(7,5) F(tool)\nT'Done.' U(9,2) F(stop)"},
		{Name: "three calls in order", Script: "C(c1,append) A'{\"line\":1}' E C(c2,append) A'{\"line\":2}' E C(c3,append) A'{\"line\":3}' E U(7,5) F(tool)\nT'All three.' F(stop)"},
		{Name: "two calls in parallel", Script: "R'Both at once.' S'sig-2' C(c1,look) A'{\"at\":\"a\"}' E C(c2,look) A'{\"at\":\"b\"}' E U(7,5) F(tool)\nT'Seen.' U(8,2) F(stop)"},
		{Name: "a denied call", Script: "C(c1,forbidden) A'{}' E C(c2,append) A'{}' E F(tool)\nT'Then not.' F(stop)"},
		{Name: "bad arguments", Script: "C(c1,append) A'{\"line\":' E F(tool)\nC(c2,append) A'{\"line\":1}' E F(tool)\nT'Now it worked.' F(stop)"},
		{Name: "an attempt that failed and was retried", Script: "T'This will not ' DROP\nH(503)\nT'This will.' U(5,2) F(stop)"},
		{Name: "a turn stopped in the stream", Script: "R'Hm.' S'sig-3' T'A long ans' C(c1,append) A'{\"li' HANG", Play: stopAt(event.TypeChunk, 3)},
		{Name: "a turn stopped in a tool", Script: "C(c1,append) A'{}' E C(c2,hang) A'{}' E C(c3,append) A'{}' E F(tool)", Play: stopAt(event.TypeProcessStarted, 1)},
		{Name: "an open approval", Script: "C(c1,append) A'{}' E C(c2,ask) A'{}' E F(tool)", Play: stopAt(event.TypeApprovalAsked, 1)},
		{Name: "a kept job", Script: "C(c1,serve) A'{}' E F(tool)\nT'It runs.' F(stop)"},
	}
	out = append(append(out, further()...), steering()...)
	if n == 0 {
		return out
	}
	for seed := few; len(out) < n; seed++ {
		out = append(out, seeded(uint64(seed)))
	}
	return out[:min(n, len(out))]
}

// seeded makes a scenario of random parts.
func seeded(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	calls := 0
	for range 1 + r.IntN(3) {
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "T'lost words %d ' DROP\n", r.IntN(100))
		}
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "R'thought %d' S'sig-%d' ", r.IntN(100), r.IntN(1000))
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "T'some words é%d ' ", r.IntN(100))
		}
		for range 1 + r.IntN(3) {
			calls++
			name := []string{"append", "look", "look", "forbidden", "unknown"}[r.IntN(5)]
			args := []string{`{}`, `{"a":"ü"}`, `{"a":`, `{"deep":{"b":[1,2,3]}}`}[r.IntN(4)]
			fmt.Fprintf(&b, "C(c%d,%s) A'%s' E ", calls, name, args)
		}
		b.WriteString("U(5,5) F(tool)\n")
	}
	s := Scenario{Name: fmt.Sprintf("seed %d", seed)}
	switch r.IntN(5) {
	case 0:
		b.WriteString("T'the last wo' HANG\n")
		s.Play = stopAt(event.TypeChunk, 0)
	case 1:
		fmt.Fprintf(&b, "C(c%d,hang) A'{}' E C(c%d,append) A'{}' E F(tool)\n", calls+1, calls+2)
		s.Play = stopAt(event.TypeProcessStarted, 1)
	case 2:
		fmt.Fprintf(&b, "C(c%d,ask) A'{}' E C(c%d,append) A'{}' E F(tool)\nT'Thanks.' F(stop)\n", calls+1, calls+2)
		s.Play = allow
	case 3:
		b.WriteString("T'cut off' U(1,1) F(length)\n")
	default:
		b.WriteString("T'the end' U(1,1) F(stop)\n")
	}
	s.Script = b.String()
	return s
}

// stopAt interrupts the turn once its nth record of type t is there; n 0 is
// the first one after which nothing more comes for a while.
func stopAt(t event.Type, n int) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		input, err := s.Submit(ctx, "go")
		if err != nil {
			return err
		}
		if n == 0 {
			err = s.until(ctx, func(r *event.Record) bool { return r.Type == t && bytes.Contains(r.Data, []byte("the last wo")) })
		} else {
			seen := 0
			err = s.until(ctx, func(r *event.Record) bool {
				if r.Type == t {
					seen++
				}
				return seen == n
			})
		}
		if err != nil {
			return err
		}
		if _, err := s.Service.Interrupt(ctx, api.InterruptRequest{Session: s.ID, Input: input, Who: "crashtest"}); err != nil {
			return err
		}
		_, err = s.Wait(ctx, input)
		return err
	}
}

// allow answers the turn's one question with yes.
func allow(ctx context.Context, s *Stage) error {
	input, err := s.Submit(ctx, "go")
	if err != nil {
		return err
	}
	var asked event.ApprovalID
	err = s.until(ctx, func(r *event.Record) bool {
		if p, err := r.Body(); err == nil {
			if a, ok := p.(event.ApprovalAsked); ok {
				asked = a.ID
			}
		}
		return asked != ""
	})
	if err != nil {
		return err
	}
	if err := s.Service.Decide(ctx, api.DecideRequest{Session: s.ID, Approval: asked, Decision: event.Allow, By: "crashtest"}); err != nil {
		return err
	}
	_, err = s.Wait(ctx, input)
	return err
}

// Stage is where a scenario is played: one session of a live runtime.
type Stage struct {
	Service api.Service
	ID      event.SessionID
	// Told, if set, hears at once of each input that was acknowledged and of
	// each turn whose end was told.
	Told func(r event.Type, input event.InputID)
	// Options are those of the next input.
	Options event.SubmitOptions
}

// Submit offers text and returns the address of its turn.
func (s *Stage) Submit(ctx context.Context, text string) (event.InputID, error) {
	req := api.SubmitRequest{Session: s.ID, Input: event.UserInput{Content: event.TextOf(text)}, Options: s.Options}
	s.Options = event.SubmitOptions{}
	return s.Offer(ctx, req)
}

// Offer submits what req says.
func (s *Stage) Offer(ctx context.Context, req api.SubmitRequest) (event.InputID, error) {
	sub, err := s.Service.Submit(ctx, req)
	if err == nil && s.Told != nil {
		s.Told(event.TypeInboxAccepted, sub.Input)
	}
	return sub.Input, err
}

// Wait waits for the end of the turn of input.
func (s *Stage) Wait(ctx context.Context, input event.InputID) (api.Result, error) {
	res, err := s.Service.Wait(ctx, s.ID, input)
	if err == nil && s.Told != nil {
		s.Told(event.TypeTurnEnded, input)
	}
	return res, err
}

// Run submits text and waits for the end of its turn.
func (s *Stage) Run(ctx context.Context, text string) (api.Result, error) {
	input, err := s.Submit(ctx, text)
	if err != nil {
		return api.Result{}, err
	}
	return s.Wait(ctx, input)
}

const patience = time.Minute // for something that is bound to come

// until follows the session until ok says so of a record.
func (s *Stage) until(ctx context.Context, ok func(*event.Record) bool) error {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	for f, err := range s.Service.Follow(ctx, s.ID, 0, true) {
		if err != nil {
			return err
		}
		if f.Record != nil && ok(f.Record) {
			return nil
		}
	}
	return fmt.Errorf("the record that the scenario waits for did not come: %w", context.Cause(ctx))
}
