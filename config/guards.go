package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/guard"
)

// Guards judge whether a turn gets anywhere; every number is in force.
type Guards struct {
	Stall                    guard.StallLimits
	Loop                     guard.LoopLimits
	Calls                    guard.CallLimits
	OnStall, OnLoop, OnCalls guard.Mode
	Wake                     bool // a stall in a long argument starts a turn that writes it another way
}

// ShortestIdle is the least limit between two events while a stall wakes: a
// verdict asks for as much silence, and a shorter one is no evidence.
const ShortestIdle = 15 * time.Second

// localProfile is the provider's name for whatever server runs on this machine.
const localProfile = "local"

// profiles lists the names that a table below providers may have.
func profiles() []string {
	return []string{"openai-chat", "openai-responses", "anthropic", "scripted", localProfile}
}

// guardTables are the guards' tables of one profile, or of all.
type guardTables struct {
	Stall stallTable `toml:"stall"`
	Loop  loopTable  `toml:"loop"`
	Calls callTable  `toml:"calls"`
}

type stallTable struct {
	Mode     string `toml:"mode"`
	Wake     *bool  `toml:"wake"`
	First    string `toml:"first"`
	Idle     string `toml:"idle"`
	Argument *int64 `toml:"argument"`
	Silence  string `toml:"silence"`
	InRow    *int64 `toml:"in_row"`
	Cooldown string `toml:"cooldown"`
}

type loopTable struct {
	Mode   string `toml:"mode"`
	Window *int64 `toml:"window"`
	Words  *int64 `toml:"words"`
	Code   *int64 `toml:"code"`
	Markup *int64 `toml:"markup"`
	Layout *int64 `toml:"layout"`
}

type callTable struct {
	Mode    string `toml:"mode"`
	Same    *int64 `toml:"same"`
	Cycle   *int64 `toml:"cycle"`
	Failing *int64 `toml:"failing"`
	Burst   *int64 `toml:"burst"`
	Answer  *int64 `toml:"answer"`
}

// providerTable is what holds for one provider.
type providerTable struct {
	Guards guardTables `toml:"guards"`
}

// dialKind says how a value is written; a closed set.
type dialKind int

const (
	dialMode  dialKind = iota // 0 off, 1 warn, 2 act
	dialFlag                  // 0 false, 1 true
	dialTime                  // nanoseconds
	dialCount                 // a whole number
)

const without = -1 // no limit

// dial is one value of a guard.
type dial struct {
	key   string // below "guards."
	kind  dialKind
	usual int64
	rises bool  // a higher value is the stricter one
	off   bool  // it can be switched off
	least int64 // of a count
	most  int64 // of a count; 0: what fits
	why   string
	get   func(*guardTables) any // string, *int64 or *bool
	put   func(*Guards, int64)
}

// Where the defaults come from (GRD-09).
const (
	fromIncident = "three cuts of one model at one provider, a thin base"
	fromWaiting  = "ours: who thinks out of sight is silent for minutes before the first event, hardly ever after it"
	fromCorpus   = "ours, from the labelled streams that `make guard-eval` scores"
	fromPolling  = "ours: asking again in order to wait gets one answer a few times, hardly ever ten"
	fromOurs     = "ours"
	fromLocal    = "ours: a server on this machine may load its model first"
)

func dials() []dial {
	return slices.Concat(stallDials(), loopDials(), callDials())
}

func stallDials() []dial {
	d := guard.StallLimits{}.Filled()
	return []dial{
		{key: "stall.mode", kind: dialMode, usual: 2, rises: true, why: fromOurs,
			get: func(t *guardTables) any { return t.Stall.Mode }, put: func(g *Guards, n int64) { g.OnStall = modeOf(n) }},
		{key: "stall.wake", kind: dialFlag, usual: 1, rises: true, why: fromIncident,
			get: func(t *guardTables) any { return t.Stall.Wake }, put: func(g *Guards, n int64) { g.Wake = n == 1 }},
		{key: "stall.first", kind: dialTime, usual: int64(d.First), off: true, why: fromWaiting,
			get: func(t *guardTables) any { return t.Stall.First }, put: func(g *Guards, n int64) { g.Stall.First = time.Duration(n) }},
		{key: "stall.idle", kind: dialTime, usual: int64(d.Idle), off: true, why: fromWaiting,
			get: func(t *guardTables) any { return t.Stall.Idle }, put: func(g *Guards, n int64) { g.Stall.Idle = time.Duration(n) }},
		{key: "stall.argument", kind: dialCount, usual: int64(d.Argument), least: 1, why: fromIncident,
			get: func(t *guardTables) any { return t.Stall.Argument }, put: func(g *Guards, n int64) { g.Stall.Argument = int(n) }},
		{key: "stall.silence", kind: dialTime, usual: int64(d.Silence), why: fromIncident,
			get: func(t *guardTables) any { return t.Stall.Silence }, put: func(g *Guards, n int64) { g.Stall.Silence = time.Duration(n) }},
		{key: "stall.in_row", kind: dialCount, usual: int64(d.InRow), least: 1, why: fromIncident,
			get: func(t *guardTables) any { return t.Stall.InRow }, put: func(g *Guards, n int64) { g.Stall.InRow = int(n) }},
		{key: "stall.cooldown", kind: dialTime, usual: int64(d.Cooldown), rises: true, why: fromIncident,
			get: func(t *guardTables) any { return t.Stall.Cooldown }, put: func(g *Guards, n int64) { g.Stall.Cooldown = time.Duration(n) }},
	}
}

func loopDials() []dial {
	d := guard.LoopLimits{}.Filled()
	bytes := func(name string, usual int, get func(*loopTable) *int64, put func(*guard.LoopLimits) *int) dial {
		return dial{key: "loop." + name, kind: dialCount, usual: int64(usual), least: 256, most: 64 << 20, why: fromCorpus,
			get: func(t *guardTables) any { return get(&t.Loop) }, put: func(g *Guards, n int64) { *put(&g.Loop) = int(n) }}
	}
	window := bytes("window", d.Window, func(t *loopTable) *int64 { return t.Window }, func(l *guard.LoopLimits) *int { return &l.Window })
	window.rises, window.least, window.most = true, 4<<10, 512<<10
	return []dial{
		{key: "loop.mode", kind: dialMode, usual: 2, rises: true, why: fromOurs,
			get: func(t *guardTables) any { return t.Loop.Mode }, put: func(g *Guards, n int64) { g.OnLoop = modeOf(n) }},
		window,
		bytes("words", d.Words, func(t *loopTable) *int64 { return t.Words }, func(l *guard.LoopLimits) *int { return &l.Words }),
		bytes("code", d.Code, func(t *loopTable) *int64 { return t.Code }, func(l *guard.LoopLimits) *int { return &l.Code }),
		bytes("markup", d.Markup, func(t *loopTable) *int64 { return t.Markup }, func(l *guard.LoopLimits) *int { return &l.Markup }),
		bytes("layout", d.Layout, func(t *loopTable) *int64 { return t.Layout }, func(l *guard.LoopLimits) *int { return &l.Layout }),
	}
}

func callDials() []dial {
	d := guard.CallLimits{}.Filled()
	count := func(name string, usual int, get func(*callTable) *int64, put func(*guard.CallLimits) *int) dial {
		return dial{key: "calls." + name, kind: dialCount, usual: int64(usual), off: true, least: 2, why: fromPolling,
			get: func(t *guardTables) any { return get(&t.Calls) }, put: func(g *Guards, n int64) { *put(&g.Calls) = int(n) }}
	}
	return []dial{
		{key: "calls.mode", kind: dialMode, usual: 2, rises: true, why: fromOurs,
			get: func(t *guardTables) any { return t.Calls.Mode }, put: func(g *Guards, n int64) { g.OnCalls = modeOf(n) }},
		count("same", d.Same, func(t *callTable) *int64 { return t.Same }, func(l *guard.CallLimits) *int { return &l.Same }),
		count("cycle", d.Cycle, func(t *callTable) *int64 { return t.Cycle }, func(l *guard.CallLimits) *int { return &l.Cycle }),
		count("failing", d.Failing, func(t *callTable) *int64 { return t.Failing }, func(l *guard.CallLimits) *int { return &l.Failing }),
		count("burst", d.Burst, func(t *callTable) *int64 { return t.Burst }, func(l *guard.CallLimits) *int { return &l.Burst }),
		count("answer", d.Answer, func(t *callTable) *int64 { return t.Answer }, func(l *guard.CallLimits) *int { return &l.Answer }),
	}
}

func modes() []guard.Mode { return []guard.Mode{guard.Off, guard.Warn, guard.Act} }

func modeOf(n int64) guard.Mode { return modes()[n] }

// want says what a value must be.
func (d dial) want() string {
	switch d.kind {
	case dialMode:
		return `a string: "off", "warn" or "act"`
	case dialFlag:
		return "true or false"
	case dialTime:
		if d.off {
			return `a string such as "90s", or "off"`
		}
		return `a string such as "10m" or "90s"`
	case dialCount:
		w := "a whole number of at least " + strconv.FormatInt(d.least, 10)
		if d.most > 0 {
			w += " and at most " + strconv.FormatInt(d.most, 10)
		}
		if d.off {
			w += "; -1 switches the rule off"
		}
		return w + "; 0 is the default"
	}
	panic("config: no such kind of value")
}

func (d dial) show(n int64) string {
	switch {
	case d.kind == dialMode:
		return string(modeOf(n))
	case d.kind == dialFlag:
		return strconv.FormatBool(n == 1)
	case n == without:
		return "off"
	case d.kind == dialTime:
		return time.Duration(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// read is a value as it was written; given is false if it was not, ok if it
// means nothing.
func (d dial) read(v any) (n int64, given, ok bool) {
	switch v := v.(type) {
	case *bool:
		if v == nil {
			return 0, false, true
		}
		if *v {
			n = 1
		}
		return n, true, true
	case *int64:
		if v == nil {
			return 0, false, true
		}
		switch n = *v; {
		case n == 0:
			return d.usual, true, true
		case n == without && d.off:
			return n, true, true
		}
		return n, true, n >= d.least && n <= 1<<31 && (d.most == 0 || n <= d.most)
	case string:
		return d.word(v)
	}
	return 0, false, false
}

func (d dial) word(s string) (n int64, given, ok bool) {
	switch {
	case s == "":
		return 0, false, true
	case d.kind == dialMode:
		i := slices.Index(modes(), guard.Mode(s))
		return int64(i), true, i >= 0
	case s == "off" && d.off:
		return without, true, true
	}
	t, err := time.ParseDuration(s)
	return int64(t), true, err == nil && t > 0
}

// looser says whether n lets pass what now does not, or switches something: a
// wake spends, and without it a stall is not mended.
func (d dial) looser(n, now int64) bool {
	switch {
	case n == now:
		return false
	case d.kind == dialFlag:
		return true
	case d.rises:
		return n < now
	}
	return n == without || now != without && n > now
}

// guardValues are what was set, by profile ("" for all) and key.
type guardValues map[string]map[string]int64

func (g guardValues) put(profile, key string, n int64) {
	if g[profile] == nil {
		g[profile] = map[string]int64{}
	}
	g[profile][key] = n
}

// in is what is in force: the provider's own value goes before that of what
// runs on this machine, that before what is set for all.
func (g guardValues) in(d dial, provider string, local bool) int64 {
	order := []string{provider, localProfile, ""}
	if !local {
		order = []string{provider, ""}
	}
	for _, profile := range order {
		if n, ok := g[profile][d.key]; ok {
			return n
		}
	}
	if local && d.key == "stall.first" {
		return without // [fromLocal]
	}
	return d.usual
}

// GuardsFor returns the guards for a provider that is asked at a base URL; the
// profile "local" counts where that is this machine.
func (s *Settings) GuardsFor(provider, baseURL string) Guards {
	return s.guards.all(provider, onThisMachine(baseURL))
}

func (g guardValues) all(provider string, local bool) (out Guards) {
	for _, d := range dials() {
		d.put(&out, g.in(d, provider, local))
	}
	return out
}

func onThisMachine(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// guards merges the tables of one file. A project that is not trusted may only
// make a guard stricter.
func (p part) guards() error {
	if err := p.guardTables(&p.r.Guards, ""); err != nil {
		return err
	}
	for _, name := range sortedKeys(p.r.Providers) {
		if !slices.Contains(profiles(), name) {
			return wrong("they are "+strings.Join(profiles(), ", "), "%s:%d: there is no provider %s", p.r.path, p.r.below("providers."+name), name)
		}
		t := p.r.Providers[name]
		if err := p.guardTables(&t.Guards, name); err != nil {
			return err
		}
	}
	return nil
}

func (p part) guardTables(t *guardTables, profile string) error {
	prefix := "guards."
	if profile != "" {
		prefix = "providers." + profile + ".guards."
	}
	for _, d := range dials() {
		key := prefix + d.key
		n, given, ok := d.read(d.get(t))
		switch {
		case !ok:
			return p.r.must(key, key)
		case !given:
			continue
		}
		// A provider of that name may be on this machine or not.
		one, other := p.Settings.guards.in(d, profile, false), p.Settings.guards.in(d, profile, true)
		if profile == "" {
			other = one // what is set for this machine stays in force there
		}
		if profile == localProfile {
			one = other
		}
		now := one
		if !d.looser(n, one) {
			now = other
		}
		if d.looser(n, now) && !p.door(key, key, d.show(n)+" instead of "+d.show(now)) {
			continue
		}
		p.Settings.guards.put(profile, d.key, n)
		p.set(key, d.show(n), p.at(key))
	}
	return nil
}

// usualGuards notes the defaults with where they come from.
func (m *merge) usualGuards() {
	m.Settings.guards = guardValues{}
	for _, d := range dials() {
		m.values["guards."+d.key] = Entry{Key: "guards." + d.key, Value: d.show(d.usual), Why: d.why}
	}
}

// outsideGuards puts the variable and the flag of the stall guard on top.
func (m *merge) outsideGuards() error {
	say := func(key string, n int64, o Origin) {
		for _, d := range stallDials() {
			if d.key != key {
				continue
			}
			for profile, values := range m.Settings.guards {
				if _, set := values[key]; set && profile != "" {
					delete(values, key)
					delete(m.values, "providers."+profile+".guards."+key)
				}
			}
			m.Settings.guards.put("", key, n)
			m.set("guards."+key, d.show(n), o)
		}
	}
	variable, flag := m.o.Env("RIPCORD_STALL_GUARD"), m.o.Flags["stall_guard"]
	switch i := slices.Index(modes(), guard.Mode(variable)); {
	case variable == "":
	case variable == "0", variable == "1":
		say("stall.wake", int64(variable[0]-'0'), Origin{Environment, "RIPCORD_STALL_GUARD", 0})
	case i >= 0:
		say("stall.mode", int64(i), Origin{Environment, "RIPCORD_STALL_GUARD", 0})
	default:
		return wrong("0 keeps a stall from waking the model, 1 lets it; off, warn and act are what the guard does", "RIPCORD_STALL_GUARD is none of 0, 1, off, warn and act")
	}
	if flag != "" {
		i := slices.Index(modes(), guard.Mode(flag))
		if i < 0 {
			return wrong("off, warn and act are what the guard does about a stall", "--stall-guard is none of off, warn and act")
		}
		say("stall.mode", int64(i), Origin{Flag, "--stall-guard", 0})
	}
	return nil
}

// checkGuards refuses what cannot hold together, and notes what the profile of
// this machine has by itself.
func (m *merge) checkGuards() error {
	for _, profile := range append([]string{""}, profiles()...) {
		for _, local := range []bool{false, true} {
			g := m.Settings.guards.all(profile, local)
			if g.OnStall != guard.Act || !g.Wake || g.Stall.Idle < 0 || g.Stall.Idle >= ShortestIdle {
				continue
			}
			e := m.values["guards.stall.idle"]
			for _, name := range []string{localProfile, profile} {
				if own, ok := m.values["providers."+name+".guards.stall.idle"]; ok && (local || name == profile) {
					e = own
				}
			}
			return wrong("raise it, or keep a stall from waking the model: wake = false in [guards.stall], or RIPCORD_STALL_GUARD=0",
				"%s: %s must be at least %v while a stall wakes the model: less silence than that is no evidence of one", e.Origin, e.Key, ShortestIdle)
		}
	}
	const key = "providers." + localProfile + ".guards.stall.first"
	_, all := m.Settings.guards[""]["stall.first"]
	_, own := m.Settings.guards[localProfile]["stall.first"]
	if !all && !own {
		m.values[key] = Entry{Key: key, Value: "off", Why: fromLocal}
	}
	return nil
}
