package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// judge compares the five accounts.
func (c *cell) judge() {
	recs := c.records()
	got := all[event.CallEnded](recs, theCall)
	if len(got) != 1 {
		c.fault("journal: the call has %d ends", len(got))
		return
	}
	c.book(recs, got[0])
	c.object(recs, got[0])
	c.card()
	c.wire(got[0])
	c.reality(recs)
	for _, l := range all[event.LateResult](recs, theCall) {
		if c.before && c.k.done != nil && l.Ended.Success != nil && *l.Ended.Success {
			c.fault("journal: what came late says that it succeeded, and nothing was to be done: %s", l.Ended.Content.Text())
		}
		if words := c.k.says[event.CallFinished]; !c.before && (l.Ended.Outcome == event.CallStopped || !strings.Contains(l.Ended.Content.Text(), words)) {
			c.fault("journal: what came late is %s and lacks %q: %s", l.Ended.Outcome, words, l.Ended.Content.Text())
		}
	}
}

// book is the journal's own account.
func (c *cell) book(recs []event.Record, e event.CallEnded) {
	r, text := rules[c.o], e.Content.Text()
	if e.Outcome != c.o {
		c.fault("journal: outcome %s: %s", e.Outcome, text)
	}
	success := "null"
	if e.Success != nil {
		success = fmt.Sprint(*e.Success)
	}
	if success != r.success || e.Error != r.isError {
		c.fault("journal: success %s, error %v, want %s, %v", success, e.Error, r.success, r.isError)
	}
	if e.Synthetic != r.made || e.Cause != r.cause {
		c.fault("journal: synthetic %v, cause %q, want %v, %q", e.Synthetic, e.Cause, r.made, r.cause)
	}
	for _, words := range []string{r.text, c.k.says[c.o]} {
		if !strings.Contains(text, words) {
			c.fault("journal: the result lacks %q: %s", words, text)
		}
	}
	for o, other := range rules { // no result speaks of another end
		if o != c.o && len(other.text) > 40 && strings.Contains(text, other.text) {
			c.fault("journal: the result speaks of %s: %s", o, text)
		}
	}
	if n := len(all[event.CallStarted](recs, theCall)); n != r.started {
		c.fault("journal: %d call/started, want %d", n, r.started)
	}
	if end := c.ending(recs); !slices.Contains(r.turns, end) {
		c.fault("journal: the turn ended %s, want one of %v", end, r.turns)
	}
}

// ending is how the turn of the call ended, by its one record.
func (c *cell) ending(recs []event.Record) event.TurnOutcome {
	in := 0
	for _, r := range recs {
		if r.Call == theCall && r.Turn > 0 {
			in = r.Turn
		}
	}
	recs = slices.DeleteFunc(slices.Clone(recs), func(r event.Record) bool { return r.Turn != in })
	ends := all[event.TurnEnded](recs, "")
	if len(ends) != 1 {
		return event.TurnOutcome(fmt.Sprintf("%d times", len(ends)))
	}
	return ends[0].Outcome
}

// object is the result's account.
func (c *cell) object(recs []event.Record, e event.CallEnded) {
	i := slices.IndexFunc(c.res.Calls, func(k api.CallResult) bool { return k.ID == theCall })
	if i < 0 {
		c.fault("result: the call is not in it: %+v", c.res)
		return
	}
	k := c.res.Calls[i]
	signal := ""
	if k.Signal != nil {
		signal = *k.Signal
	}
	if k.Outcome != c.o || k.Name != c.k.tool || signal != e.Signal || !reflect.DeepEqual(k.ExitCode, e.ExitCode) ||
		!reflect.DeepEqual(k.TimedOut, e.TimedOut) || !reflect.DeepEqual(k.RanMS, e.RanMS) {
		c.fault("result: %+v, journal: %+v", k, e)
	}
	if end := c.ending(recs); c.res.Outcome == nil || *c.res.Outcome != end {
		c.fault("result: the turn's outcome is not the journal's %s", end)
	}
	if c.res.UnknownEffects != rules[c.o].unsure {
		c.fault("result: unknown_effects %v", c.res.UnknownEffects)
	}
}

// card is what a person reads.
func (c *cell) card() {
	name := c.k.tool[:min(len(c.k.tool), 10)]
	var about []string
	for l := range strings.Lines(c.chat) {
		if strings.Contains(l, name) {
			about = append(about, strings.TrimSpace(l))
		}
	}
	if !slices.ContainsFunc(about, func(l string) bool { return strings.Contains(l, rules[c.o].card) }) {
		c.fault("chat: no line of the call says %q: %s", rules[c.o].card, c.chat)
	}
	fine := c.o == event.CallFinished || c.o == event.CallFinishedLate
	for _, l := range about {
		if !fine && strings.Contains(l, "· finished") {
			c.fault("chat: it says that the call finished: %s", l)
		}
	}
}

// wire is what the model reads.
func (c *cell) wire(e event.CallEnded) {
	reqs := c.server.Requests()
	var texts []string
	for _, m := range reqs[len(reqs)-1].Chat.Messages {
		if m.ToolCallID == string(theCall) {
			texts = append(texts, m.Text())
		}
	}
	if len(texts) != 1 || texts[0] != e.Content.Text() {
		c.fault("request: the model reads %q, the journal says %q", texts, e.Content.Text())
	}
	if c.s.Wire != "anthropic" {
		return
	}
	var body struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(c.body), &body); err != nil {
		c.fault("request: %v", err)
	}
	for _, m := range body.Messages {
		var blocks []struct {
			ID      string `json:"tool_use_id"`
			IsError bool   `json:"is_error"`
		}
		_ = json.Unmarshal(m.Content, &blocks) // content may be a plain string
		for _, b := range blocks {
			if b.ID == string(theCall) && b.IsError != e.Error {
				c.fault("request: is_error %v, the journal says %v", b.IsError, e.Error)
			}
		}
	}
}

// reality is what was done.
func (c *cell) reality(recs []event.Record) {
	want := rules[c.o].done
	if w := c.k.want[c.o]; w != "" {
		want = w
	}
	if c.before {
		want = none
	}
	if c.k.done != nil {
		if got := c.k.done(c); got != want {
			c.fault("reality: %s was done, want: %s", got, want)
		}
	}
	jobs := map[string]bool{}
	for _, j := range all[event.JobStarted](recs, "") {
		jobs[string(j.Call)] = true
	}
	for _, p := range all[event.ProcessStarted](recs, "") {
		if !jobs[p.ID] && running(p) {
			c.fault("reality: process %d of %s %s runs", p.PID, p.Owner, p.ID)
		}
	}
	if c.k.extra != nil {
		for _, f := range c.k.extra(c, c.o) {
			c.fault("reality: %s", f)
		}
	}
}
