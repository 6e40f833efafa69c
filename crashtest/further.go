package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
)

const (
	// work is what a sub-agent does that is told so.
	work = "answer if user \"do the work\" and not result\n  T'I look. ' C(k1,look) A'{}' E C(k2,append) A'{}' E U(3,3) F(tool)\n" +
		"answer if user \"do the work\" and result\n  T'Found it.' U(2,2) F(stop)\n"
	hanging = "answer if user \"do the work\" and not result\n  T'I begin. ' C(k1,append) A'{}' E C(k2,hang) A'{}' E F(tool)\n"
	// employing has a sub-agent started with these arguments.
	employing = "answer if user %s and not result\n  T'Somebody does it. ' C(%s,task) A'%s' E U(5,5) F(tool)\n" +
		"answer if user %[1]s and result\n  T'So it is.' U(6,2) F(stop)\n"
)

func employ(when, call, args string) string { return fmt.Sprintf(employing, when, call, args) }

// further are the scenarios of what was joined to a session besides its model,
// its own tools and its processes.
func further() []Scenario {
	out := []Scenario{
		{Name: "an approval that was given",
			Shows:  []string{`"type":"approval/asked"`, `"decision":"allow"`, `"type":"call/started"`},
			Script: "C(c1,ask) A'{}' E C(c2,append) A'{}' E F(tool)\nT'Thanks.' F(stop)", Play: allow},
		{Name: "an approval that was refused",
			Shows:  []string{`"type":"approval/asked"`, `"decision":"deny"`, `"type":"call/denied"`},
			Script: "C(c1,ask) A'{}' E C(c2,append) A'{}' E F(tool)\nT'Then not.' F(stop)",
			Play:   play(move{at: event.TypeApprovalAsked, do: say(event.Deny, "not today")})},
		{Name: "a question that was answered",
			Shows: []string{`"type":"call/started"`, `"question":true`, `"decision":"allow"`, `"outcome":"finished"`},
			Gear:  withPeople, Script: "C(c1,ask_user) A'{\"question\":\"Which?\",\"options\":[\"a\",\"b\"]}' E F(tool)\nT'The first.' F(stop)",
			Play: play(move{at: event.TypeApprovalAsked, do: say(event.Allow, "a")})},
		{Name: "a question that was withdrawn",
			Shows: []string{`"question":true`, `"type":"approval/void"`, `"outcome":"stopped"`},
			Gear:  withPeople, Script: "C(c1,append) A'{}' E C(c2,ask_user) A'{\"question\":\"Which?\"}' E C(c3,append) A'{}' E F(tool)",
			Play: stopAt(event.TypeApprovalAsked, 1)},
		{Name: "inner calls",
			Shows:  []string{`"type":"inner/started"`, `"type":"inner/ended"`, `"n":2`, `"n":3`, `"outcome":"finished"`},
			Script: "C(c1,script) A'{\"steps\":[\"append\",\"look\",\"forbidden\",\"append\"]}' E F(tool)\nT'All of it.' F(stop)"},
		{Name: "inner calls side by side",
			Shows:  []string{`"type":"inner/started"`, `"type":"inner/ended"`, `"outcome":"finished"`},
			Script: "C(c1,script) A'{\"steps\":[\"look\",\"nothing\",\"look\",\"append\"],\"beside\":true}' E C(c2,append) A'{}' E F(tool)\nT'All of it.' F(stop)"},
		{Name: "inner calls that were stopped",
			Shows:  []string{`"type":"inner/ended"`, `"type":"inner/started"`, `"type":"process/started"`, `"type":"inner/ended"`, `"outcome":"stopped"`, `"type":"marker/aborted"`},
			Script: "C(c1,script) A'{\"steps\":[\"append\",\"hang\",\"append\"]}' E C(c2,append) A'{}' E F(tool)",
			Play:   stopAt(event.TypeProcessStarted, 1)},
		{Name: "an inner call that asks",
			Shows:  []string{`"type":"inner/ended"`, `"type":"approval/asked"`, `"decision":"allow"`, `"type":"inner/started"`},
			Script: "C(c1,script) A'{\"steps\":[\"append\",\"ask\",\"append\"]}' E F(tool)\nT'Thanks.' F(stop)", Play: allow},
		{Name: "an inner call that asks and is stopped",
			Shows:  []string{`"type":"inner/ended"`, `"type":"approval/asked"`, `"type":"approval/void"`, `"outcome":"stopped"`},
			Script: "C(c1,script) A'{\"steps\":[\"append\",\"ask\",\"append\"]}' E F(tool)", Play: stopAt(event.TypeApprovalAsked, 1)},
		{Name: "calls ahead of their answer",
			Shows:  []string{`"type":"call/started"`, `"type":"call/ended"`, `"type":"message/assistant"`},
			Script: "T'I look. ' C(c1,look) A'{\"at\":1}' E C(c2,look) A'{\"at\":2}' E W(1000ms) C(c3,append) A'{}' E U(7,5) F(tool)\nT'Seen.' F(stop)"},
		{Name: "an attempt that failed behind a call",
			Shows:  []string{`"type":"call/started"`, `"type":"model/failed"`, `"type":"message/assistant"`, `"type":"step/end"`, `"type":"model/request"`},
			Script: "T'I look. ' C(c1,look) A'{}' E C(c2,look) A'{\"at' W(1000ms) DROP\nT'Seen.' U(7,5) F(stop)"},
		{Name: "a stop behind a call ahead of its answer",
			Shows:  []string{`"type":"call/started"`, `"partial":true`, `"type":"marker/aborted"`},
			Script: "R'Hm.' S'sig-4' T'I look. ' C(c1,watch) A'{}' E C(c2,append) A'{\"li' HANG", Play: stopAt(event.TypeCallStarted, 1)},
		{Name: "a turn that a hook blocks",
			Shows: []string{`"type":"hook/verdict"`, `"outcome":"blocked"`, `"type":"turn/start"`},
			Gear:  hooked(rules{gate.TurnStart: first, gate.TurnStop: pass}), Script: "default\n  T'Not this time.' F(stop)"},
		{Name: "a call that a hook blocks",
			Shows: []string{`"verdict":"block"`, `"type":"call/denied"`, `"type":"call/started"`, `"on":"post_tool"`},
			Gear:  hooked(rules{gate.PreTool: unlike("look"), gate.PostTool: pass}), Script: "C(c1,append) A'{}' E C(c2,look) A'{}' E F(tool)\nT'Seen.' F(stop)"},
		{Name: "a hook that asks",
			Shows: []string{`"verdict":"ask"`, `"on":"permission_request"`, `"type":"call/started"`},
			Gear:  hooked(rules{gate.PreTool: func(gate.Moment) gate.Decision { return gate.Ask }, gate.Permission: pass}), Script: "C(c1,append) A'{}' E F(tool)\nT'Done.' F(stop)"},
		{Name: "reports of hooks about a stop",
			Shows:  []string{`"type":"process/started"`, `"on":"post_tool"`, `"on":"interrupt"`, `"on":"turn_stop"`},
			Gear:   hooked(rules{gate.PostTool: pass, gate.Interrupted: pass, gate.TurnStop: pass}),
			Script: "C(c1,append) A'{}' E C(c2,hang) A'{}' E F(tool)", Play: stopAt(event.TypeProcessStarted, 1)},
		{Name: "a plan that was approved",
			Shows: []string{`"type":"call/denied"`, `"question":true`, `"type":"approval/decided"`, `"success":true`, `"type":"call/started"`, `"outcome":"finished"`},
			Gear:  withPlans, Script: "C(c1,append) A'{}' E F(tool)\nC(c2,exit_plan) A'{\"plan\":\"append it\"}' E F(tool)\nC(c3,append) A'{}' E F(tool)\nT'Done.' F(stop)",
			Play: planning(move{at: event.TypeApprovalAsked, do: say(event.Allow, "approve")})},
		{Name: "a plan that was not approved",
			Shows: []string{`"question":true`, `"type":"approval/decided"`, `"success":false`, `"type":"call/denied"`},
			Gear:  withPlans, Script: "C(c2,exit_plan) A'{\"plan\":\"append it\"}' E F(tool)\nC(c3,append) A'{}' E F(tool)\nT'Then I plan on.' F(stop)",
			Play: planning(move{at: event.TypeApprovalAsked, do: say(event.Allow, "keep planning")})},
		{Name: "a plan that nobody answered",
			Shows: []string{`"question":true`, `"type":"approval/void"`, `"outcome":"stopped"`},
			Gear:  withPlans, Script: "C(c1,look) A'{}' E C(c2,exit_plan) A'{\"plan\":\"append it\"}' E F(tool)",
			Play: planning(move{at: event.TypeApprovalAsked, do: stop})},
	}
	return append(out, company()...)
}

// company are the scenarios with sub-agents, servers of tools and terminals.
func company() []Scenario {
	task := `{"prompt":"do the work"}`
	return []Scenario{
		{Name: "a sub-agent",
			Shows: []string{`"type":"subagent/link"`, `"outcome":"finished"`},
			Gear:  withAgents, Script: work + employ("go", "t1", task)},
		{Name: "a sub-agent that was stopped",
			Shows: []string{`"type":"subagent/link"`, `"outcome":"stopped"`},
			Gear:  withAgents, Script: hanging + employ("go", "t1", task),
			Play: play(move{at: event.TypeSubAgentLinked, do: reaches(event.TypeProcessStarted)}, move{at: event.TypeSubAgentLinked, do: stop})},
		{Name: "a sub-agent that asks",
			Shows: []string{`"type":"subagent/link"`, `"type":"approval/asked"`, `"type":"approval/decided"`, `"outcome":"finished"`},
			Gear:  withAgents, Script: strings.Replace(work, "append", "ask", 1) + employ("go", "t1", task),
			Play: play(move{at: event.TypeApprovalAsked, do: say(event.Allow, "allow")})},
		{Name: "a sub-agent in the background",
			Shows: []string{`"background":true`, `"outcome":"finished"`},
			Gear:  withAgents, Script: work + employ("go", "t1", `{"prompt":"do the work","background":true}`),
			Play: play(move{at: event.TypeSubAgentLinked, do: reaches(event.TypeTurnEnded)})},
		{Name: "a sub-agent of a sub-agent",
			Shows: []string{`"type":"subagent/link"`, `"outcome":"finished"`},
			Gear:  withAgents, Script: work + employ(`"have it done"`, "k0", task) + employ("go", "t1", `{"prompt":"have it done"}`)},
		{Name: "a call of a server",
			Shows: []string{`seen at the server`},
			Gear:  withServer, Script: "C(c1,mcp__site__look) A'{}' E F(tool)\nT'Seen.' F(stop)"},
		{Name: "a server that refuses",
			Shows: []string{`"success":true`, `the server can't`},
			Gear:  withServer, Script: "C(c1,mcp__site__fail) A'{}' E C(c2,append) A'{}' E F(tool)\nT'Then not.' F(stop)"},
		{Name: "a call of a server that was stopped",
			Shows: []string{`"type":"call/started"`, `"outcome":"stopped"`},
			Gear:  withServer, Script: "C(c1,mcp__site__hang) A'{}' E C(c2,append) A'{}' E F(tool)", Play: stopAt(event.TypeCallStarted, 1)},
		{Name: "a terminal that runs",
			Shows: []string{`"type":"process/started"`, `"type":"job/started"`, `"type":"turn/end"`, `"type":"job/ended"`},
			Gear:  withTerminals, Script: "C(c1,terminal_start) A'{\"command\":\"x\",\"tty\":false,\"wait_ms\":1}' E F(tool)\nT'It runs.' F(stop)"},
		{Name: "a terminal that was ended",
			Shows: []string{`"type":"job/started"`, `"type":"job/ended"`, `"type":"turn/end"`},
			Gear:  withTerminals, Script: "C(c1,terminal_start) A'{\"command\":\"x\",\"tty\":false,\"wait_ms\":1}' E F(tool)\nC(c2,terminal_kill) A'{\"id\":\"j1\"}' E F(tool)\nT'It is gone.' F(stop)"},
		{Name: "a terminal that is kept",
			Shows: []string{`"type":"job/started"`, `"keep":true`},
			Gear:  withTerminals, Script: "C(c1,terminal_start) A'{\"command\":\"x\",\"tty\":false,\"wait_ms\":1,\"keep\":true}' E F(tool)\nT'It stays.' F(stop)"},
		{Name: "a terminal that was waited for and stopped",
			Shows: []string{`"type":"process/started"`, `"type":"process/ended"`, `"outcome":"stopped"`},
			Gear:  withTerminals, Script: "C(c1,terminal_start) A'{\"command\":\"x\",\"tty\":false,\"wait_ms\":60000,\"quiet_ms\":0}' E F(tool)", Play: stopAt(event.TypeProcessStarted, 1)},
	}
}

func pass(gate.Moment) gate.Decision { return gate.Allow }

// first blocks the first turn alone.
func first(m gate.Moment) gate.Decision {
	if m.Turn == 1 {
		return gate.Block
	}
	return gate.Allow
}

// unlike blocks all tools but one.
func unlike(name string) func(gate.Moment) gate.Decision {
	return func(m gate.Moment) gate.Decision {
		if m.Tool != name {
			return gate.Block
		}
		return gate.Allow
	}
}

// move is what somebody does once the first record of a type is there.
type move struct {
	at event.Type
	do func(ctx context.Context, s *Stage, input event.InputID, r *event.Record) error
}

// play does the first turn with these moves in it, one after the other.
func play(moves ...move) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		input, err := s.Submit(ctx, "go")
		if err != nil {
			return err
		}
		for _, m := range moves {
			var at event.Record
			if err := s.until(ctx, func(r *event.Record) bool { at = *r; return r.Type == m.at }); err != nil {
				return err
			}
			if err := m.do(ctx, s, input, &at); err != nil {
				return err
			}
		}
		_, err = s.Wait(ctx, input)
		return err
	}
}

// planning is play with an input that puts the session into plan mode.
func planning(moves ...move) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		s.Options.Attributes = map[string]json.RawMessage{gate.ModeAttribute: json.RawMessage(`"` + gate.ModePlan + `"`)}
		return play(moves...)(ctx, s)
	}
}

// say answers a question.
func say(d event.Decision, why string) func(context.Context, *Stage, event.InputID, *event.Record) error {
	return func(ctx context.Context, s *Stage, _ event.InputID, r *event.Record) error {
		p, err := r.Body()
		if err != nil {
			return err
		}
		return s.Service.Decide(ctx, api.DecideRequest{Session: s.ID, Approval: p.(event.ApprovalAsked).ID, Decision: d, Why: why, By: "crashtest"})
	}
}

// stop interrupts the turn.
func stop(ctx context.Context, s *Stage, input event.InputID, _ *event.Record) error {
	_, err := s.Service.Interrupt(ctx, api.InterruptRequest{Session: s.ID, Input: input, Who: "crashtest"})
	return err
}

// reaches waits until the sub-agent that a link names has a record of type t.
func reaches(t event.Type) func(context.Context, *Stage, event.InputID, *event.Record) error {
	return func(ctx context.Context, s *Stage, _ event.InputID, r *event.Record) error {
		p, err := r.Body()
		if err != nil {
			return err
		}
		child := p.(event.SubAgentLinked).Child
		ctx, done := context.WithTimeout(ctx, patience)
		defer done()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			for f, err := range s.Service.Records(ctx, child, 0) { // it may not be there yet
				if err == nil && f.Record != nil && f.Record.Type == t {
					return nil
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("sub-agent %s has no %s: %w", child, t, context.Cause(ctx))
			}
		}
	}
}

// links are the sub-agents that a journal names, in order, each once.
func links(recs []event.Record) (out []event.SubAgentLinked) {
	seen := map[event.SessionID]bool{}
	for i := range recs {
		if recs[i].Type != event.TypeSubAgentLinked {
			continue
		}
		if p, err := recs[i].Body(); err == nil && !seen[p.(event.SubAgentLinked).Child] {
			seen[p.(event.SubAgentLinked).Child] = true
			out = append(out, p.(event.SubAgentLinked))
		}
	}
	return out
}
