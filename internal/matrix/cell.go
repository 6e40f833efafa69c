package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/tui"
)

// What the person, or another session, says.
const (
	prepare = "get ready"
	begin   = "please begin"
	part    = "do the part"
	next    = "carry on"
)

// cell is one call on its way to one end, and what was seen of it.
type cell struct {
	ctx context.Context
	k   kind
	column
	s      setting
	server *scripted.Server
	site   *site
	cast   *cast
	id     event.SessionID

	answered bool // a person has answered the call's question
	res      api.Result
	left     int    // processes that were alive once the turn had ended
	body     string // of the next request
	chat     string // what the chat printed
	faults   []string
}

func (c *cell) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *cell) name() string { return c.k.name + "/" + c.String() }

func (c *cell) journal(id event.SessionID) string {
	return filepath.Join(c.s.root(), "sessions", string(id), "journal.jsonl")
}

// records are the session's; before it is known, those of the first one.
func (c *cell) records() []event.Record {
	if c.id == "" {
		c.id = c.first()
	}
	return disk(c.journal(c.id))
}

// first finds the session that was made first: ids are ordered by time.
func (c *cell) first() event.SessionID {
	found, _ := filepath.Glob(filepath.Join(c.s.root(), "sessions", "s_*", "journal.jsonl"))
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return event.SessionID(filepath.Base(filepath.Dir(found[0])))
}

// recorded looks for a record of any session.
func (c *cell) recorded(t event.Type) bool {
	found, _ := filepath.Glob(filepath.Join(c.s.root(), "sessions", "s_*", "journal.jsonl"))
	for _, path := range found {
		if slices.ContainsFunc(disk(path), func(r event.Record) bool { return r.Type == t }) {
			return true
		}
	}
	return false
}

// script is what the model says.
func (c *cell) script(long bool) string {
	say := func(name, id string, args map[string]any) string {
		raw, _ := json.Marshal(args) // of strings and numbers
		return fmt.Sprintf("  call %s %s\n  args %q\n  end\n", name, id, raw)
	}
	args := c.k.args(c.s, long)
	if c.o == event.CallInvalid {
		args = map[string]any{"nonsense": 1}
	}
	first := ""
	if c.o == event.CallSkipped {
		first = say("bash", "c0", map[string]any{"command": "sleep 300"})
	}
	on := func(prompt, calls, text string) string {
		return fmt.Sprintf("answer always if user %q and not result\n  text I begin.\n%s  finish tool\nanswer always if user %q and result\n  text %s\n  finish stop\n", prompt, calls, prompt, text)
	}
	start := map[string]any{"command": work(c.s, true), "wait_ms": 10, "keep": c.o == event.CallUnknown}
	return fmt.Sprintf("answer always if user %q\n  text On we go.\n  finish stop\n", next) +
		on(prepare, say("terminal_start", "p0", start), "I am ready.") +
		on(part, say("bash", "k1", command(c.s, long)), "The part is done.") +
		on(begin, first+say(c.k.tool, string(theCall), args), "All is done.")
}

// settle works out what the cell needs.
func (c *cell) settle() (long bool) {
	c.s.Kind, c.s.Tool, c.s.Ready = c.k.name, c.k.tool, c.k.ready
	switch c.o {
	case event.CallFinishedLate:
		c.s.Mode = late
	case event.CallStopped:
		if long = c.k.under != nil; !long {
			c.s.Mode = door
		}
	case event.CallWasDenied:
		c.s.Deny = true
	case event.CallUnknown:
		if long = c.k.under != nil; !long {
			c.s.Mode = hold
		}
	case event.CallQuarantined:
		if c.s.Mode, c.s.Bound = hold, 200*time.Millisecond; c.before {
			c.s.Mode = before
		}
	case event.CallFatal:
		if c.s.Mode = fatal; len(c.k.name)%2 == 0 {
			c.s.Mode = panics
		}
	case event.CallFinished, event.CallSkipped, event.CallInvalid:
	}
	return long
}

// run drives the cell and judges it. The error says that it could not be driven.
func (c *cell) run() (err error) {
	if err := os.MkdirAll(c.s.cwd(), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.s.cwd(), "hay"), []byte("there is\na needle in it\n"), 0o600); err != nil {
		return err
	}
	if c.site, err = newSite(); err != nil {
		return err
	}
	defer c.site.close()
	c.s.Site = c.site.url
	c.s.Mark = "RIPCORD_MATRIX_MARK=" + filepath.Base(c.s.Dir)
	sc, err := scripted.Parse(c.script(c.settle()))
	if err != nil {
		return err
	}
	if c.server, err = scripted.NewServer(sc, scripted.Options{}); err != nil {
		return err
	}
	defer c.server.Close()
	c.s.URL = c.server.URL()
	if err = c.play(); err == nil {
		c.judge()
	}
	if c.cast != nil {
		if c.k.ready && c.o == event.CallUnknown && err == nil { // it is kept: nobody else ends it
			err = c.cast.rt.KillJob(c.ctx, c.id, "j1")
		}
		err = errors.Join(err, c.cast.close(c.ctx))
	}
	if now := len(alive(c.s.Mark)) + len(alive(c.s.mcpMark())); now > 0 {
		c.fault("%d processes outlive their runtime", now)
	}
	return err
}

// play brings the call to its end and the session through one more turn.
func (c *cell) play() (err error) {
	if c.o == event.CallUnknown {
		if err := c.die(); err != nil {
			return err
		}
	}
	if c.cast, err = hire(c.ctx, c.s); err != nil {
		return err
	}
	st, err := c.cast.rt.Open(c.ctx, api.OpenRequest{ID: c.id, Cwd: c.s.cwd()})
	if err != nil {
		return err
	}
	c.id = st.ID
	if c.o == event.CallUnknown {
		if st.Last == nil {
			return errors.New("the session that was opened again has no last turn")
		}
		c.res = *st.Last
	} else if err := c.live(); err != nil {
		return err
	}
	if err := c.look(); err != nil {
		return err
	}
	if _, err := c.cast.rt.Run(c.ctx, c.id, next); err != nil {
		return fmt.Errorf("the next turn: %w", err)
	}
	reqs := c.server.Requests()
	for _, r := range reqs {
		if r.Refuse != nil {
			c.fault("a strict model refuses request %d: %v", r.N, r.Refuse)
		}
	}
	c.body = string(reqs[len(reqs)-1].Body)
	return c.show()
}

// live runs the turn of the call here.
func (c *cell) live() error {
	rt := c.cast.rt
	if c.s.Ready {
		if _, err := rt.Run(c.ctx, c.id, prepare); err != nil {
			return err
		}
	}
	sub, err := rt.Submit(c.ctx, api.SubmitRequest{Session: c.id, Input: event.UserInput{Content: event.TextOf(begin)}})
	if err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { // ends with the turn, whose end is waited for below
		var err error
		c.res, err = rt.Wait(c.ctx, c.id, sub.Input)
		over <- err
	}()
	if err := c.steer(sub.Input); err != nil {
		return err
	}
	select {
	case err = <-over:
	case <-time.After(bound):
		err = errors.New("the turn does not end")
	}
	return err
}

// steer answers what is asked, and stops what is to be stopped.
func (c *cell) steer(input event.InputID) error {
	person := c.k.name == "ask_user" && c.ran() > 0 && c.o != event.CallStopped
	if person {
		if err := c.answer(); err != nil {
			return err
		}
	}
	stop := func() bool { return true }
	switch c.o {
	case event.CallFinished, event.CallWasDenied, event.CallInvalid, event.CallFatal, event.CallUnknown:
		return nil
	case event.CallSkipped:
		stop = func() bool { return len(all[event.ProcessStarted](c.records(), "c0")) == 1 }
	case event.CallStopped, event.CallFinishedLate, event.CallQuarantined:
		stop = c.working
	}
	if err := until(c.ctx, "it is under way", stop); err != nil {
		return err
	}
	_, err := c.cast.rt.Interrupt(c.ctx, api.InterruptRequest{Session: c.id, Input: input, Who: "matrix"})
	return err
}

// working says that the call is where it is to be stopped, or to die.
func (c *cell) working() bool {
	if c.s.Mode != asItIs {
		return len(lines(c.s.held())) > 0
	}
	return c.k.under(c)
}

// answer is a person's.
func (c *cell) answer() error {
	var q api.Approval
	err := until(c.ctx, "the question can be seen", func() bool {
		st, err := c.cast.rt.Status(c.ctx, c.id)
		if err == nil && len(st.Approvals) > 0 {
			q = st.Approvals[0]
		}
		return q.ID != ""
	})
	if err != nil {
		return err
	}
	c.answered = true
	return c.cast.rt.Decide(c.ctx, api.DecideRequest{Session: c.id, Approval: q.ID, Decision: event.Allow, By: "matrix", Why: "green"})
}

// die has a runtime of its own run the turns, and kills it.
func (c *cell) die() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	spec, err := json.Marshal(c.s)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(c.ctx, exe)
	cmd.Env = append(os.Environ(), asVictim+"="+string(spec))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	err = until(c.ctx, "the victim is where it is to die", c.working)
	c.id = c.first()
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err != nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	c.s.Mode = asItIs // what is held in the dead is held by nobody here
	if !c.s.Ready {
		if err := until(c.ctx, "nothing of the dead runtime runs", func() bool { return len(alive(c.s.Mark))+len(alive(c.s.mcpMark())) == 0 }); err != nil {
			c.fault("%v", err)
		}
	}
	return nil
}

// look sees what the world is like once the turn has ended, and lets go what
// is held.
func (c *cell) look() error {
	c.left = len(alive(c.s.Mark))
	if !c.k.ready && c.left > 0 {
		c.fault("%d processes are alive after the end of the turn", c.left)
	}
	st, err := c.cast.rt.Status(c.ctx, c.id)
	if err != nil {
		return err
	}
	if len(st.Approvals) > 0 {
		c.fault("a question is open after the end of the turn: %+v", st.Approvals)
	}
	if out := c.o == event.CallQuarantined; (len(st.Unwinding) == 1) != out {
		c.fault("said to be still unwinding: %v", st.Unwinding)
	}
	if c.o != event.CallQuarantined {
		return nil
	}
	close(c.cast.release)
	return until(c.ctx, "what was held comes back and is recorded", func() bool { return len(all[event.LateResult](c.records(), theCall)) == 1 })
}

// still is a service whose session the chat may not release.
type still struct{ api.Service }

func (still) Release(context.Context, event.SessionID) error { return nil }

// show has the chat print the session from its first record on.
func (c *cell) show() error {
	in, feed, err := os.Pipe()
	if err != nil {
		return err
	}
	read, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), feed.Close())
	}
	printed := make(chan string, 1)
	go func() { // ends when out is closed
		var all strings.Builder
		buf, fed := make([]byte, 4096), false
		for {
			n, err := read.Read(buf)
			all.Write(buf[:n])
			if !fed && strings.Contains(all.String(), "On we go.") {
				fed = true
				_ = feed.Close()
			}
			if err != nil {
				break
			}
		}
		printed <- all.String()
	}()
	ctx, cancel := context.WithTimeout(c.ctx, bound)
	defer cancel()
	_, err = tui.Run(ctx, tui.Options{Service: still{c.cast.rt}, Session: c.id, State: api.SessionState{ID: c.id}, In: in, Out: out, NoColor: true, Plain: true, Environ: []string{}})
	_ = feed.Close()
	err = errors.Join(err, out.Close(), in.Close())
	c.chat = <-printed
	_, c.chat, _ = strings.Cut(c.chat, begin)
	c.chat, _, _ = strings.Cut(c.chat, next)
	return errors.Join(err, read.Close())
}
