package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/guard"
)

const (
	far  = "http://10.0.0.1/v1"
	near = "http://127.0.0.1:8080/v1"
)

// proves GRD-09: without a word in any file the guards have their defaults, and
// each says where it comes from.
func TestEachGuardsDefaultSaysWhereItComesFrom(t *testing.T) {
	p := newPlace(t)
	s := p.load()
	want := config.Guards{Stall: guard.StallLimits{}.Filled(), Loop: guard.LoopLimits{}.Filled(), Calls: guard.CallLimits{}.Filled(),
		OnStall: guard.Act, OnLoop: guard.Act, OnCalls: guard.Act, Wake: true}
	if got := s.GuardsFor("anthropic", far); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	shown := 0
	for _, e := range s.Entries() {
		if strings.Contains(e.Key, "guards.") {
			shown++
			if e.Why == "" || e.Value == "" || e.Origin.Layer != config.Default {
				t.Errorf("%+v", e)
			}
		}
	}
	if shown != 21 { // eight, six and six, and that of the profile local
		t.Errorf("%d values are shown", shown)
	}
	if e := entry(s, "guards.stall.argument"); !strings.Contains(e.Why, "three cuts of one model at one provider, a thin base") || e.Value != "16384" {
		t.Errorf("%+v", e)
	}
}

// proves GRD-09: each value of each guard, for all and for one provider.
func TestEveryGuardIsSetForAllOrForOneProvider(t *testing.T) {
	p := newPlace(t)
	user := p.user(`[guards.stall]
mode = "warn"
wake = false
first = "2m"
idle = "4s"
argument = 100
silence = "3s"
in_row = 2
cooldown = "1m"
[guards.loop]
mode = "off"
window = 131072
words = 1024
code = 4096
markup = 8192
layout = 0
[guards.calls]
same = 4
cycle = 3
failing = 2
burst = -1
answer = 64
[providers.anthropic.guards.stall]
mode = "act"
first = "off"
[providers.local.guards.loop]
mode = "warn"
`)
	s := p.load()
	all := config.Guards{
		Stall: guard.StallLimits{First: 2 * time.Minute, Idle: 4 * time.Second, Argument: 100, Silence: 3 * time.Second, InRow: 2, Cooldown: time.Minute},
		Loop:  guard.LoopLimits{Window: 131072, Words: 1024, Code: 4096, Markup: 8192, Layout: 48 << 10},
		Calls: guard.CallLimits{Same: 4, Cycle: 3, Failing: 2, Burst: -1, Answer: 64}, OnStall: guard.Warn, OnLoop: guard.Off, OnCalls: guard.Act,
	}
	if got := s.GuardsFor("openai-chat", far); got != all {
		t.Errorf("%+v, want %+v", got, all)
	}
	own := all
	own.OnStall, own.Stall.First = guard.Act, -1
	if got := s.GuardsFor("anthropic", far); got != own {
		t.Errorf("%+v, want %+v", got, own)
	}
	own.OnLoop = guard.Warn
	if got := s.GuardsFor("anthropic", "http://localhost:1/v1"); got != own {
		t.Errorf("on this machine: %+v, want %+v", got, own)
	}
	for key, want := range map[string]string{"guards.stall.cooldown": "1m0s 9", "guards.calls.burst": "off 21", "providers.anthropic.guards.stall.first": "off 25",
		"providers.local.guards.loop.mode": "warn 27", "guards.loop.layout": "49152 16"} {
		if e := entry(s, key); e.Value+" "+strings.TrimPrefix(e.Origin.String(), user+":") != want || e.Why != "" {
			t.Errorf("%s: %+v, want %s", key, e, want)
		}
	}
}

// proves B057, GRD-01: a server on this machine may load its model before the
// first event, unless somebody set that limit.
func TestAServerOnThisMachineHasNoLimitUntilItsFirstEvent(t *testing.T) {
	p := newPlace(t)
	first := func(text, provider, url string) time.Duration {
		t.Helper()
		p.user(text)
		return p.load().GuardsFor(provider, url).Stall.First
	}
	for _, url := range []string{near, "http://localhost/v1", "http://[::1]:9/v1", "http://LOCALHOST:9"} {
		if got := first("", "openai-chat", url); got >= 0 {
			t.Errorf("%s: %v, want none", url, got)
		}
	}
	for _, url := range []string{far, "", "http://localhost.example.org/v1", "::"} {
		if got := first("", "openai-chat", url); got != 5*time.Minute {
			t.Errorf("%s: %v", url, got)
		}
	}
	if got := first("guards.stall.first = '30s'\n", "openai-chat", near); got != 30*time.Second {
		t.Errorf("set for all: %v", got)
	}
	if got := first("guards.stall.first = '30s'\nproviders.local.guards.stall.first = 'off'\n", "openai-chat", near); got >= 0 {
		t.Errorf("switched off for this machine: %v", got)
	}
	if got := first("providers.local.guards.stall.first = '20s'\nproviders.openai-chat.guards.stall.first = '9s'\n", "openai-chat", near); got != 9*time.Second {
		t.Errorf("the provider's own: %v", got)
	}
}

// proves GRD-01: a limit between two events of less than 15 s is refused while
// a stall wakes the model, wherever it is set.
func TestAShortIdleLimitIsRefusedWhileAStallWakes(t *testing.T) {
	for _, c := range []struct {
		text, env string
		at        string // "": taken
	}{
		{"guards.stall.idle = '15s'\n", "", ""},
		{"\nguards.stall.idle = '14999ms'\n", "", ":2: guards.stall.idle must be at least 15s"},
		{"guards.stall.idle = '2s'\nguards.stall.wake = false\n", "", ""},
		{"guards.stall.idle = '2s'\nguards.stall.mode = 'warn'\n", "", ""},
		{"guards.stall.idle = '2s'\n", "0", ""},
		{"guards.stall.idle = '2s'\n", "off", ""},
		{"guards.stall.idle = '2s'\nguards.stall.wake = false\n", "1", ":1: guards.stall.idle"},
		{"guards.stall.idle = 'off'\n", "", ""},
		{"providers.anthropic.guards.stall.idle = '2s'\n", "", ":1: providers.anthropic.guards.stall.idle must"},
		{"providers.local.guards.stall.idle = '2s'\n", "", ":1: providers.local.guards.stall.idle must"},
		{"providers.local.guards.stall.idle = '2s'\nproviders.local.guards.stall.wake = false\n", "", ""},
		{"guards.stall.idle = '2s'\nguards.stall.wake = false\nproviders.scripted.guards.stall.wake = true\n", "", ":1: guards.stall.idle"},
	} {
		p := newPlace(t)
		p.env["RIPCORD_STALL_GUARD"] = c.env
		path := p.user(c.text)
		_, err := p.try()
		if c.at == "" && err != nil || c.at != "" && (err == nil || !strings.HasPrefix(err.Error(), path+c.at) || !strings.Contains(err.Error(), "RIPCORD_STALL_GUARD=0")) {
			t.Errorf("%q with %q: %v, want %q", c.text, c.env, err, c.at)
		}
	}
}

// proves GRD-03, IFC-09: the variable switches the wake off over every file;
// the flag goes before it.
func TestTheVariableSwitchesTheWakeOff(t *testing.T) {
	p := newPlace(t)
	p.user("guards.stall.wake = true\nproviders.anthropic.guards.stall.wake = true\n")
	if !p.load().GuardsFor("anthropic", far).Wake {
		t.Fatal("it is on")
	}
	p.env["RIPCORD_STALL_GUARD"] = "0"
	s := p.load()
	if g := s.GuardsFor("anthropic", far); g.Wake || g.OnStall != guard.Act {
		t.Errorf("%+v", g)
	}
	if e := entry(s, "guards.stall.wake"); e.Value != "false" || e.Origin.String() != "RIPCORD_STALL_GUARD" || e.Origin.Layer != config.Environment {
		t.Errorf("%+v", e)
	}
	if e := entry(s, "providers.anthropic.guards.stall.wake"); e.Key != "" {
		t.Errorf("what does not hold is shown: %+v", e)
	}
	p.env["RIPCORD_STALL_GUARD"] = "off"
	if g := p.load().GuardsFor("scripted", ""); g.OnStall != guard.Off {
		t.Errorf("%+v", g)
	}
	p.flags["stall_guard"] = "warn"
	s = p.load()
	if e := entry(s, "guards.stall.mode"); s.GuardsFor("scripted", "").OnStall != guard.Warn || e.Origin.String() != "--stall-guard" {
		t.Errorf("%+v", e)
	}
	p.flags["stall_guard"] = "loud"
	if _, err := p.try(); err == nil || !strings.HasPrefix(err.Error(), "--stall-guard is none of") {
		t.Errorf("%v", err)
	}
	p.flags, p.env["RIPCORD_STALL_GUARD"] = nil, "no"
	if _, err := p.try(); err == nil || !strings.HasPrefix(err.Error(), "RIPCORD_STALL_GUARD is none of") {
		t.Errorf("%v", err)
	}
}

// proves GRD-09, IFC-09: a project that is not trusted makes a guard stricter;
// it switches none off, raises no limit, and neither starts nor ends a wake.
func TestAnUntrustedProjectMakesGuardsStricterOnly(t *testing.T) {
	p := newPlace(t)
	p.user("[guards.stall]\nfirst = '1m'\ncooldown = '1m'\n[guards.loop]\nmode = 'warn'\n[providers.local.guards.calls]\nsame = 20\n")
	p.project(`[guards.stall]
mode = "off"
wake = false
first = "2m"
idle = "20s"
argument = 99999
silence = "1m"
in_row = 9
cooldown = "1s"
[guards.loop]
mode = "act"
window = 4096
words = 512
code = 99999
[guards.calls]
mode = "warn"
same = 4
cycle = -1
failing = 9
[providers.anthropic.guards.stall]
first = "off"
idle = "30s"
[providers.local.guards.stall]
mode = "warn"
[providers.openai-chat.guards.calls]
same = 15
`)
	s := p.load()
	want := config.Guards{Stall: guard.StallLimits{}.Filled(), Loop: guard.LoopLimits{Words: 512}.Filled(), Calls: guard.CallLimits{Same: 4}.Filled(),
		OnStall: guard.Act, OnLoop: guard.Act, OnCalls: guard.Act, Wake: true}
	want.Stall.First, want.Stall.Cooldown, want.Stall.Idle = time.Minute, time.Minute, 20*time.Second
	if got := s.GuardsFor("openai-responses", far); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := s.GuardsFor("openai-chat", near); got.Calls.Same != 20 || got.OnStall != guard.Act {
		t.Errorf("%+v", got)
	}
	ours := "guards.stall.mode:2 guards.stall.wake:3 guards.stall.first:4 guards.stall.argument:6 guards.stall.silence:7 guards.stall.in_row:8 guards.stall.cooldown:9 " +
		"guards.loop.window:12 guards.loop.code:14 guards.calls.mode:16 guards.calls.cycle:18 guards.calls.failing:19 " +
		"providers.anthropic.guards.stall.first:21 providers.anthropic.guards.stall.idle:22 providers.local.guards.stall.mode:24 providers.openai-chat.guards.calls.same:26"
	if got := ignored(s); got != ours {
		t.Errorf("ignored %s\nwant    %s", got, ours)
	}
	p.trust()
	if g := p.load().GuardsFor("anthropic", far); g.OnStall != guard.Off || g.Wake || g.Stall.First >= 0 || g.Calls.Cycle != -1 || g.Stall.Idle != 30*time.Second {
		t.Errorf("trusted: %+v", g)
	}
	p = newPlace(t)
	p.user("guards.stall.wake = false\n")
	p.project("guards.stall.wake = true\n")
	if s := p.load(); s.GuardsFor("anthropic", far).Wake || ignored(s) != "guards.stall.wake:1" {
		t.Errorf("a project has turns started: %s", ignored(s))
	}
}

// proves GRD-09, CLI-03: a wrong word about a guard is one sentence with file,
// line, key and what would be right.
func TestAWrongWordAboutAGuardIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want, hint string }{
		{"[guards.stall]\nmode = 'loud'\n", ":2: guards.stall.mode must be a string: \"off\", \"warn\" or \"act\"", ""},
		{"[guards.stall]\nmode = true\n", ":2: guards.stall.mode must be a string", ""},
		{"[guards.stall]\nwake = 'yes'\n", ":2: guards.stall.wake must be true or false", ""},
		{"[guards.stall]\nsilence = 'off'\n", ":2: guards.stall.silence must be a string such as", ""},
		{"[guards.stall]\nfirst = '-1s'\n", ":2: guards.stall.first must be a string such as \"90s\", or \"off\"", ""},
		{"[guards.stall]\nargument = -1\n", ":2: guards.stall.argument must be a whole number of at least 1", ""},
		{"[guards.loop]\nwindow = 1000\n", ":2: guards.loop.window must be a whole number of at least 4096 and at most 524288", ""},
		{"[guards.calls]\nsame = 1\n", ":2: guards.calls.same must be a whole number of at least 2; -1 switches the rule off", ""},
		{"[guards.calls]\nsame = 'off'\n", ":2: guards.calls.same must be", ""},
		{"[guards.stall]\nidel = '20s'\n", ":2: there is no setting guards.stall.idel", "did you mean guards.stall.idle?"},
		{"[guards.stahl]\nidle = '20s'\n", "there is no setting guards.stahl", ""},
		{"[providers.anthropic.guards.stall]\nfrist = '20s'\n", ":2: there is no setting providers.anthropic.guards.stall.frist", "did you mean providers.anthropic.guards.stall.first?"},
		{"[providers.local.guards.calls]\nsame = -3\n", ":2: providers.local.guards.calls.same must be", ""},
		{"\n[providers.antropic.guards.stall]\nfirst = '20s'\n", ":2: there is no provider antropic", "openai-chat, openai-responses, anthropic, scripted, local"},
		{"[providers.local]\nmodel = 'x'\n", ":2: there is no setting providers.local.model", ""},
		{"on_interrupt = 'forget'\n", ":1: on_interrupt must be a string: \"restore\", \"hold\" or \"drop\"", ""},
		{"[limits]\nmax_cost = -0.5\n", ":2: limits.max_cost must be a number", ""},
		{"[limits]\nmax_cost = nan\n", ":2: limits.max_cost must be a number", ""},
		{"[limits]\nmax_cost = 'cheap'\n", ":2: limits.max_cost must be a number", ""},
		{"[limits]\ncompact_at = 1.5\n", ":2: limits.compact_at must be a number between 0 and 1", ""},
		{"[limits.session]\nmax_wall = '0s'\n", ":2: limits.session.max_wall must be", ""},
		{"[limits.session]\nmax_step = 2\n", ":2: there is no setting limits.session.max_step", "did you mean limits.session.max_steps?"},
		{"[prices]\ninput = inf\n", ":2: prices.input must be", ""},
	} {
		p := newPlace(t)
		path := p.user(c.text)
		_, err := p.try()
		if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.hint) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q %q", c.text, err, c.want, c.hint)
		}
	}
}

// proves TRN-11, TRN-14, IFC-09: budgets of a turn and of a session, what tokens
// cost, when a summary is made, and what becomes of waiting texts; an untrusted
// project makes none of it wider.
func TestBudgetsOfTurnAndSessionAreSettings(t *testing.T) {
	p := newPlace(t)
	if s := p.load(); s.OnInterrupt != config.Restore || entry(s, "on_interrupt").Value != "restore" || entry(s, "limits.compact_at").Value != "0.8" || entry(s, "limits.session.max_cost").Value != "none" {
		t.Errorf("%+v", s.Entries())
	}
	p.user(`on_interrupt = "hold"
[limits]
max_cost = 2
context = 200000
compact_at = 0.7
[limits.session]
max_steps = 100
max_calls = 200
max_tokens = 5000000000
max_wall = "8h"
max_cost = 12.5
[prices]
input = 3
output = 15.25
`)
	s := p.load()
	want := guard.Budget{Steps: 100, Calls: 200, Tokens: 5_000_000_000, Wall: 8 * time.Hour, Cost: 12.5}
	if s.OnInterrupt != config.Hold || s.Limits.Session != want || s.Limits.MaxCost != 2 || s.Limits.Context != 200000 || s.Limits.CompactAt != 0.7 || s.Prices != (config.Prices{Input: 3, Output: 15.25}) {
		t.Errorf("%+v", s)
	}
	p.project("on_interrupt = 'drop'\n[limits]\nmax_cost = 3.5\ncontext = 300000\ncompact_at = 0.9\n[limits.session]\nmax_steps = 101\nmax_cost = 0.0\nmax_wall = '1h'\n[prices]\ninput = 0.1\noutput = 20\n")
	s = p.load()
	want.Wall = time.Hour
	if s.OnInterrupt != config.Hold || s.Limits.Session != want || s.Limits.MaxCost != 2 || s.Limits.Context != 200000 || s.Limits.CompactAt != 0.7 || s.Prices != (config.Prices{Input: 3, Output: 20}) {
		t.Errorf("%+v", s)
	}
	if got := ignored(s); got != "on_interrupt:1 limits.max_cost:3 limits.context:4 limits.compact_at:5 limits.session.max_steps:7 limits.session.max_cost:8 prices.input:11" {
		t.Errorf("ignored %s", got)
	}
}
