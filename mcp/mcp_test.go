package mcp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/proc/proctest"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// proves TOL-26, TOL-01, INT-40: a server's tool keeps the contract of tools
func TestAServersToolKeepsTheContract(t *testing.T) {
	b := newBench(t)
	s := b.server("own", "plain")
	s.Trusted = true
	m := b.start(mcp.Options{}, s)
	args := func(string, int) string { return `{"text":"hi"}` }
	t.Run("echo", func(t *testing.T) {
		tooltest.Run(t, tooltest.Driver{Args: args, Bound: patience,
			New: func(t *testing.T) (tool.Tool, string) { return b.tool(m, "mcp__own__echo"), t.TempDir() }})
	})
	t.Run("hang", func(t *testing.T) {
		tooltest.Run(t, tooltest.Driver{Args: args, Long: func(string) string { return `{"text":"hang"}` }, Underway: "part 1", Bound: patience,
			New: func(t *testing.T) (tool.Tool, string) {
				return either{b.tool(m, "mcp__own__echo"), b.tool(m, "mcp__own__hang")}, t.TempDir()
			}})
	})
}

// either is echo, and hang for calls whose text is "hang".
type either struct {
	tool.Tool
	hang tool.Tool
}

func (e either) InterruptBehaviour() interrupt.Behaviour { return interrupt.BehaviourOf(e.Tool) }

func (e either) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	if strings.Contains(string(call.Args), `"hang"`) {
		return e.hang.Execute(ctx, call)
	}
	return e.Tool.Execute(ctx, call)
}

// proves TOL-26, TOL-02, TOL-03: three layers, by what the server did
func TestWhatAServerSaysIsAResultAndWhatItDoesNotTakeIsAReply(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.server("own", "plain"))
	call := func(name string) tool.Ended { return b.call(b.tool(m, "mcp__own__"+name), `{"text":"x"}`) }
	b.wants(call("echo"), event.CallFinished, true, "echo: x")
	b.wants(call("fail"), event.CallFinished, true, "the tool reported an error", "the disk is full")
	b.wants(call("fault"), event.CallFinished, true, "answered with an error", "internal trouble", "-32603")
	b.wants(call("badargs"), event.CallFinished, false, "did not take the call", "text must be longer")
	b.wants(call("weird"), event.CallFinished, true, "no answer that can be read", "hologram")
	b.wants(call("progress"), event.CallFinished, true, "all done")
	b.wants(call("echo"), event.CallFinished, true, "echo: x")
	if s := b.status(m, "own"); s.Restarts != 0 || s.State != mcp.Ready || s.Calls != "hostile 6.6.6" {
		t.Errorf("status %+v", s)
	}
}

// proves TOL-26: every kind of content has a form that a model can be given
func TestContentOfEveryKindIsTakenOrNamed(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.server("own", "plain"))
	e := b.call(b.tool(m, "mcp__own__parts"), `{}`)
	b.wants(e, event.CallFinished, true, "words", "[audio, audio/wav, 15 bytes: left out", "[resource x: file:///x, text/plain]",
		"[resource mem://1]\ninside", "[resource mem://2, application/zip, 15 bytes: left out", "[image, image/tiff", `{"sum":3}`)
	images := 0
	for _, p := range e.Result.Content {
		if i, ok := p.(event.Image); ok && i.MediaType == "image/png" && len(i.Data) == 15 {
			images++
		}
	}
	if images != 1 {
		t.Errorf("%d images came", images)
	}
}

// proves TOL-26, TOL-07, B159: the notice goes out with the request's id and
// neutral words, the call is stopped, and a late answer reaches nobody
func TestAnInterruptTellsTheServerAndDropsItsLateAnswer(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{Settle: 50 * time.Millisecond}, b.server("own", "plain"))
	f := b.fly(b.tool(m, "mcp__own__late"), "c_1", `{}`)
	if err := f.live.Await(t.Context(), "1/3 part 1"); err != nil {
		t.Fatal(err)
	}
	f.trip(b)
	b.wants(f.landed(b), event.CallStopped, true, "progress so far: 1/3 part 1", "may have finished the work all the same")
	proctest.Until(t, patience, "the server saw the notice", func() bool {
		return strings.Contains(b.saw("own"), "the request is no longer needed")
	})
	id := strings.Fields(b.saw("own")[strings.Index(b.saw("own"), "\ncancelled ")+1:])[1]
	b.wants(b.call(b.tool(m, "mcp__own__echo"), `{"text":"second"}`), event.CallFinished, true, "echo: second")
	if !strings.Contains(b.saw("own"), "late "+id) {
		t.Errorf("the notice named %s, and the server answered late: %s", id, b.saw("own"))
	}
	if n := strings.Count(b.saw("own"), "\ncancelled "); n != 1 {
		t.Errorf("%d notices were sent", n)
	}
	if s := b.status(m, "own"); s.Late != 1 || s.Restarts != 0 || strings.Count(b.saw("own"), "start") != 1 {
		t.Errorf("status %+v", s)
	}
}

// proves TOL-07: a result that exists, or comes in time, is the result
func TestAnAnswerWithinTheGraceIsTheResult(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{Settle: patience}, b.server("own", "plain"))
	f := b.fly(b.tool(m, "mcp__own__echo"), "c_1", `{"text":"finish when told"}`)
	if err := f.live.Await(t.Context(), "part 1"); err != nil {
		t.Fatal(err)
	}
	f.trip(b)
	if e := f.landed(b); e.Outcome != event.CallFinished && e.Outcome != event.CallFinishedLate || said(e) != "done in time" {
		t.Errorf("outcome %s: %s", e.Outcome, said(e))
	}
	f = b.fly(b.tool(m, "mcp__own__gives_up"), "c_2", `{}`)
	if err := f.live.Await(t.Context(), "part 1"); err != nil {
		t.Fatal(err)
	}
	f.trip(b)
	b.wants(f.landed(b), event.CallStopped, true, "it answered: cancelled as asked")
}

// proves TOL-26, B159: a call has its own limit, which progress renews
func TestACallWithoutAnAnswerEndsAtItsLimit(t *testing.T) {
	b := newBench(t)
	s := b.server("own", "plain")
	s.Timeout = 500 * time.Millisecond // the request is out long before
	m := b.start(mcp.Options{Settle: time.Millisecond}, s)
	e := b.call(b.tool(m, "mcp__own__hang"), `{}`)
	b.wants(e, event.CallFinished, true, "timed out", "check before repeating it")
	if e.Result.TimedOut == nil || !*e.Result.TimedOut {
		t.Error("the result does not say that it timed out")
	}
	proctest.Until(t, patience, "the server was told", func() bool { return strings.Contains(b.saw("own"), "\ncancelled ") })
	if s := b.status(m, "own"); s.Restarts != 0 {
		t.Errorf("a server that sent progress was restarted: %+v", s)
	}
}

// proves TOL-26: a hanging server fails its own calls only, and is restarted
func TestAServerThatIsSilentForTwoCallsIsRestarted(t *testing.T) {
	b := newBench(t)
	s := b.server("own", "plain")
	s.Timeout = 200 * time.Millisecond
	m := b.start(mcp.Options{Settle: time.Millisecond, Call: patience}, s, b.server("other", "plain"))
	for range 2 {
		b.wants(b.call(b.tool(m, "mcp__own__silent"), `{}`), event.CallFinished, true, "timed out")
	}
	proctest.Until(t, patience, "it was restarted", func() bool { return b.status(m, "own").Restarts == 1 })
	b.wants(b.call(b.tool(m, "mcp__other__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
	if s := b.status(m, "other"); s.Restarts != 0 {
		t.Errorf("the other server: %+v", s)
	}
}

// proves TOL-26: a dead server fails its own calls only and comes back
func TestAServerThatDiesInACallIsRestarted(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.server("own", "plain"), b.server("other", "plain"))
	die, echo := b.tool(m, "mcp__own__die"), b.tool(m, "mcp__own__echo")
	b.wants(b.call(die, `{}`), event.CallFinished, true, `the server "own" exited with code 3`, "being restarted")
	b.wants(b.call(echo, `{"text":"again"}`), event.CallFinished, true, "echo: again")
	s := b.status(m, "own")
	if s.Restarts != 1 || s.State != mcp.Ready || !strings.Contains(s.Stderr, "dying now") || strings.ContainsAny(s.Stderr, "\x1b\x07") {
		t.Errorf("status %+v", s)
	}
	if b.status(m, "other").Restarts != 0 {
		t.Error("the other server was restarted too")
	}
}

// proves TOL-26: restarts are bounded, and a person can ask for another one
func TestAServerThatKeepsDyingStaysDownUntilAsked(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{Restart: mcp.Restart{First: time.Millisecond, Most: 2 * time.Millisecond, Times: 3, Window: time.Hour}}, b.server("own", "dies"))
	echo := b.tool(m, "mcp__own__echo")
	for range 3 {
		b.wants(b.call(echo, `{}`), event.CallFinished, true, "exited with code 7")
	}
	s := b.until(m, "own", mcp.Down)
	if !strings.Contains(s.Why, "3 times") || !strings.Contains(s.Why, "code 7") || s.Restarts != 2 || len(s.PIDs) != 0 {
		t.Errorf("status %+v", s)
	}
	b.wants(b.call(echo, `{}`), event.CallFinished, false, "is not there", "when a person asks for it")
	if len(m.Tools()) != 0 {
		t.Error("a server that is down offers tools to the next session")
	}
	if err := m.Restart(t.Context(), "own"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.saw("own"), "start"); got != 4 {
		t.Errorf("it was started %d times", got)
	}
}

// proves TOL-26, B161: what is no message on standard output is skipped
func TestNoiseOnStandardOutputIsNoProtocolError(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.server("chatty", "chatty"), b.server("noisy", "noisy"))
	for range 3 {
		b.wants(b.call(b.tool(m, "mcp__chatty__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
		b.wants(b.call(b.tool(m, "mcp__noisy__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
	}
	if s := b.status(m, "chatty"); s.Noise < 7 || s.Noisy || s.Restarts != 0 {
		t.Errorf("status %+v", s)
	}
	if s := b.status(m, "noisy"); s.Noise != 1500 || !s.Noisy || s.State != mcp.Ready {
		t.Errorf("status %+v", s)
	}
	if log := b.log.String(); len(log) > 64<<10 || !strings.Contains(log, "Welcome") {
		t.Errorf("the log has %d bytes", len(log))
	}
}

// proves TOL-26: a message of 100 MB costs its own call only
func TestAMessageOverTheBoundIsRefusedAndTheConnectionKept(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{Call: patience, MaxMessage: 1 << 20}, b.server("own", "plain"))
	for i, name := range []string{"huge", "huge_last"} {
		b.wants(b.call(b.tool(m, "mcp__own__"+name), `{}`), event.CallFinished, true, "the answer has 1048", "ask for less")
		b.wants(b.call(b.tool(m, "mcp__own__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
		if s := b.status(m, "own"); s.TooLong != int64(i+1) || s.Restarts != 0 {
			t.Errorf("status %+v", s)
		}
	}
}

// proves TOL-26: a server that cannot begin fails only itself, and says why
func TestAServerThatDoesNotBeginFailsOnlyItself(t *testing.T) {
	b := newBench(t)
	gone := b.server("gone", "plain")
	gone.Command = "/no/such/program"
	off := b.server("off", "plain")
	off.Disabled = true
	mute := b.start(mcp.Options{Connect: 200 * time.Millisecond}, b.server("mute", "mute"))
	if s := b.status(mute, "mute"); s.State != mcp.Failed || s.Why != "it was not ready within 200ms" || len(s.Tools) != 0 || len(s.PIDs) != 0 {
		t.Errorf("status %+v", s)
	}
	m := b.start(mcp.Options{}, b.server("exits", "exits"), b.server("refuses", "refuses"), gone, off, b.server("own", "plain"))
	b.wants(b.call(b.tool(m, "mcp__own__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
	for name, why := range map[string]string{"exits": "it exited with code 3 before it was ready",
		"refuses": "not today", "gone": "it did not start"} {
		if s := b.status(m, name); s.State != mcp.Failed || !strings.Contains(s.Why, why) || len(s.Tools) != 0 || len(s.PIDs) != 0 {
			t.Errorf("%s: status %+v", name, s)
		}
	}
	if s := b.status(m, "off"); s.State != mcp.Disabled || b.saw("off") != "" {
		t.Errorf("status %+v", s)
	}
	if err := m.Restart(t.Context(), "exits"); err == nil || !strings.Contains(err.Error(), "exited with code 3") {
		t.Errorf("a restart in vain: %v", err)
	}
	if err := m.Restart(t.Context(), "off"); err == nil {
		t.Error("a disabled server was started")
	}
}

// proves TOL-26: lists are read page by page, bounded, and names are made fit
func TestToolsAreListedNamedAndBounded(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.server("pages", "pages"), b.server("endless", "endless"), b.server("odd", "odd"),
		b.server("a.b", "endless"), b.server("a b", "endless"))
	set, err := tool.NewSet(m.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Join(set.Names(), " ")
	for _, want := range []string{"mcp__pages__page_", "mcp__pages__page_two", "mcp__pages__page_three", "mcp__endless__again", "mcp__odd__twin",
		"mcp__odd__weird_name_with_spaces_"} {
		if !strings.Contains(names, want) {
			t.Errorf("no tool %s in %s", want, names)
		}
	}
	if n := strings.Count(names, "mcp__a_b__again_"); n != 2 {
		t.Errorf("two servers with one plain name have %d tools in %s", n, names)
	}
	odd := strings.Join(b.status(m, "odd").LeftOut, "\n")
	for _, want := range []string{`"list": its schema`, `"huge": its schema has more than`, `"twin": it is listed twice`} {
		if !strings.Contains(odd, want) {
			t.Errorf("%q is not in %q", want, odd)
		}
	}
	if left := b.status(m, "endless").LeftOut; len(left) == 0 {
		t.Error("a list without an end is not named")
	}
	for _, name := range set.Names() {
		tl, _ := set.Lookup(name)
		if err := tool.CheckArgs(tl.Spec().Schema, []byte(`{"a":1,"b":["x"],"c":2,"d":3}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, _ := tool.NewSet(m.Tools()...)
	if strings.Join(again.Names(), " ") != names {
		t.Error("names change from look to look")
	}
}

// proves TOL-26: a hint is believed only of a server that the person trusts
func TestAHintIsBelievedOnlyOfATrustedServer(t *testing.T) {
	b := newBench(t)
	trusted := b.server("trusted", "plain")
	trusted.Trusted = true
	m := b.start(mcp.Options{}, trusted, b.server("stranger", "plain"))
	for _, c := range []struct {
		name string
		pure bool
	}{{"mcp__trusted__echo", true}, {"mcp__trusted__fail", false}, {"mcp__stranger__echo", false}, {"mcp__stranger__fail", false}} {
		tl := b.tool(m, c.name)
		prompt, ask := tl.Spec().Asking(&tool.Call{Args: []byte(`{"text": "x"}`)})
		if ask == c.pure || (tl.Spec().Effect == tool.Pure) != c.pure || tool.Parallel(tl) != c.pure || !strings.Contains(prompt, `{"text": "x"}`) {
			t.Errorf("%s: asks %v (%s), effect %s, parallel %v", c.name, ask, prompt, tl.Spec().Effect, tool.Parallel(tl))
		}
	}
}

// proves TOL-26: a changed list is the next session's
func TestAChangedListIsForTheNextSession(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.server("own", "plain"))
	before := m.Tools()
	b.wants(b.call(b.tool(m, "mcp__own__change"), `{}`), event.CallFinished, true, "changed")
	proctest.Until(t, patience, "the change is seen", func() bool { return b.status(m, "own").Changed })
	if after := m.Tools(); len(after) != len(before)+1 {
		t.Errorf("%d tools before, %d after", len(before), len(after))
	}
	b.tool(m, "mcp__own__fresh")
}

// proves PRC-01, PRC-02, PRC-03, PRC-07, B163: a server is a tree with an
// owner, gets no secrets that it was not given, and ends whole
func TestAServerIsATreeThatEndsWhole(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{}, b.server("stubborn", "stubborn"), b.server("own", "plain"))
	// A shell that is about to go is counted too: both looks have to agree at one moment.
	proctest.Until(t, patience, "its daemons stand, and are listed", func() bool {
		return len(b.mark.Alive()) == 6 && len(b.status(m, "stubborn").PIDs) == 5
	})
	echo := b.tool(m, "mcp__own__echo")
	env := said(b.call(b.tool(m, "mcp__own__env"), `{}`))
	if strings.Contains(env, "MCPTEST_API_KEY") || !strings.Contains(env, serverVar+"=plain") || !strings.Contains(env, "PATH=") {
		t.Errorf("environment %s", env)
	}
	b.close(m)
	if alive := b.mark.Alive(); len(alive) > 0 {
		t.Errorf("pids %v outlived the close", alive)
	}
	b.wants(b.call(echo, `{}`), event.CallFinished, false, "it was closed with its session")
	b.mu.Lock()
	defer b.mu.Unlock()
	started, ended := 0, 0
	for _, p := range b.facts {
		switch p := p.(type) {
		case event.ProcessStarted:
			if started++; p.Owner != "mcp" || p.ID != "stubborn" && p.ID != "own" {
				t.Errorf("started %+v", p)
			}
		case event.ProcessEnded:
			if ended++; p.Owner != "mcp" {
				t.Errorf("ended %+v", p)
			}
		}
	}
	if started != 2 || ended != 2 {
		t.Errorf("%d starts and %d ends were recorded", started, ended)
	}
}

// proves TOL-26: a server that does not read holds its own call only, as long
// as its limit, and is started anew because nobody knows what it got
func TestAServerThatDoesNotReadIsRestarted(t *testing.T) {
	b := newBench(t)
	s := b.server("deaf", "deaf")
	s.Timeout = 2 * time.Second
	m := b.start(mcp.Options{Settle: time.Millisecond}, s, b.server("other", "plain"))
	long := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	b.wants(b.call(b.tool(m, "mcp__deaf__echo"), long), event.CallFinished, true, "timed out")
	proctest.Until(t, patience, "it was restarted", func() bool { return b.status(m, "deaf").Restarts == 1 })
	b.wants(b.call(b.tool(m, "mcp__other__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
}

// proves TOL-26, PRC-03: a second press waits for nothing
func TestAForcedStopDoesNotWaitForTheServer(t *testing.T) {
	b := newBench(t)
	m := b.start(mcp.Options{Settle: time.Hour}, b.server("own", "plain"))
	f := b.fly(b.tool(m, "mcp__own__hang"), "c_1", `{}`)
	if err := f.live.Await(t.Context(), "part 1"); err != nil {
		t.Fatal(err)
	}
	f.trip(b)
	proctest.Until(t, patience, "the server was told", func() bool { return strings.Contains(b.saw("own"), "\ncancelled ") })
	f.c.Force()
	b.wants(f.landed(b), event.CallStopped, true, "no longer needed")
}

// proves TOL-26: where nothing can be re-executed, servers are process groups
func TestServersWorkWithoutGuardians(t *testing.T) {
	b := newBench(t)
	h, err := proc.NewHost(proc.Options{Scratch: t.TempDir(), Group: true})
	if err != nil {
		t.Fatal(err)
	}
	guardians := b.host
	b.host = h
	t.Cleanup(func() {
		if err := guardians.Close(); err != nil {
			t.Error(err)
		}
	})
	m := b.start(mcp.Options{}, b.server("own", "plain"))
	b.wants(b.call(b.tool(m, "mcp__own__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
	b.wants(b.call(b.tool(m, "mcp__own__die"), `{}`), event.CallFinished, true, "exited with code 3")
	b.wants(b.call(b.tool(m, "mcp__own__echo"), `{"text":"y"}`), event.CallFinished, true, "echo: y")
}
