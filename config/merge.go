package config

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/gate"
)

// merge puts layers over each other, the weakest first.
type merge struct {
	*Settings
	o       Options
	values  map[string]Entry // by key
	bounds  map[string]int64 // limits in force; 0 is no bound
	entered []Entry          // lists
	hooked  map[string]Origin
}

// part is one layer while it is merged.
type part struct {
	*merge
	r       *read
	layer   Layer
	trusted bool
}

func (p part) at(key string) Origin { return Origin{p.layer, p.r.path, p.r.line(key)} }

// door reports whether the layer may open a door. where is the key's place in
// the file, key and what are for people.
func (p part) door(key, where, what string) bool {
	if p.layer != Project {
		return true
	}
	i := Ignored{key, what, p.at(where)}
	p.Project.Needs = append(p.Project.Needs, i)
	if !p.trusted {
		p.Ignored = append(p.Ignored, i)
	}
	return p.trusted
}

func (m *merge) set(key, value string, o Origin) { m.values[key] = Entry{key, value, o, ""} }
func (m *merge) add(key, value string, o Origin) {
	m.entered = append(m.entered, Entry{key, value, o, ""})
}

// layer merges one file.
func (m *merge) layer(r *read, l Layer, trusted bool) error {
	if r == nil {
		return nil
	}
	p := part{m, r, l, trusted}
	for _, f := range []func() error{p.model, p.interrupts, p.limits, p.guards, p.permissions, p.environment, p.hooks, p.tools} {
		if err := f(); err != nil {
			return err
		}
	}
	return p.mcp()
}

// model merges who is asked. A project may choose among what the user has, but
// not where requests go nor with which key.
func (p part) model() error {
	f := &p.r.file
	if f.APIKey != "" && f.APIKeyEnv != "" {
		return wrong("take one of them out", "%s:%d: api_key and api_key_env are both set", p.r.path, p.r.line("api_key_env"))
	}
	for _, v := range []struct {
		key, value string
		open       bool
		to         *string
	}{{"provider", f.Provider, false, &p.Provider}, {"model", f.Model, false, &p.Model}, {"base_url", f.BaseURL, true, &p.BaseURL}} {
		if v.value != "" && (!v.open || p.door(v.key, v.key, "requests go to "+plainURL(v.value))) {
			*v.to = v.value
			if v.open {
				v.value = plainURL(v.value)
			}
			p.set(v.key, v.value, p.at(v.key))
		}
	}
	if f.APIKey != "" && p.door("api_key", "api_key", "requests carry a key of the project's") {
		p.APIKey = f.APIKey
		p.set("api_key", f.APIKey.String(), p.at("api_key"))
		delete(p.values, "api_key_env")
	}
	if f.APIKeyEnv != "" && p.door("api_key_env", "api_key_env", "requests carry what "+f.APIKeyEnv+" holds") {
		p.APIKey = Secret(p.o.Env(f.APIKeyEnv))
		p.set("api_key_env", f.APIKeyEnv, p.at("api_key_env"))
		p.set("api_key", p.APIKey.String(), p.at("api_key_env"))
	}
	if f.ParallelHooks != nil && p.door("parallel_hooks", "parallel_hooks", "hooks run side by side") {
		p.ParallelHooks = *f.ParallelHooks
		p.set("parallel_hooks", strconv.FormatBool(*f.ParallelHooks), p.at("parallel_hooks"))
	}
	return nil
}

// interrupts merges what becomes of texts that wait when a turn is stopped. A
// project that is not trusted may not throw them away.
func (p part) interrupts() error {
	switch v := OnInterrupt(p.r.OnInterrupt); v {
	case "":
	case Drop:
		if p.OnInterrupt == Drop || p.door("on_interrupt", "on_interrupt", "an interrupt drops texts that wait") {
			p.OnInterrupt = v
			p.set("on_interrupt", string(v), p.at("on_interrupt"))
		}
	case Restore, Hold:
		p.OnInterrupt = v
		p.set("on_interrupt", string(v), p.at("on_interrupt"))
	default:
		return p.r.must("on_interrupt", "on_interrupt")
	}
	return nil
}

// plainURL is an address without what may be a secret.
func plainURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "an address that cannot be read"
	}
	if u.User != nil {
		u.User = url.User("[set]")
	}
	if u.RawQuery != "" {
		u.RawQuery = "[set]"
	}
	return strings.ReplaceAll(u.String(), "%5Bset%5D", "[set]")
}

// permissions merges who is asked about what. Everybody may narrow.
func (p part) permissions() error {
	t := &p.r.Permissions
	switch t.Policy {
	case "":
	case "deny":
		p.Permissions.Policy = gate.DenyAll
		p.set("permissions.policy", "deny", p.at("permissions.policy"))
	case "ask":
		if p.Permissions.Policy == gate.AskPerson || p.door("permissions.policy", "permissions.policy", "a person may allow what you deny") {
			p.Permissions.Policy = gate.AskPerson
			p.set("permissions.policy", "ask", p.at("permissions.policy"))
		}
	default:
		return p.r.must("permissions.policy", "permissions.policy")
	}
	for _, path := range t.Protected {
		real := home(path, p.o.Env)
		if real == "" || !filepath.IsAbs(real) && !filepath.IsLocal(real) {
			return p.r.must("permissions.protected", "permissions.protected")
		}
		p.Permissions.Protected = append(p.Permissions.Protected, gate.Protected{Path: filepath.Clean(real)})
		p.add("permissions.protected", path, p.at("permissions.protected"))
	}
	for _, host := range t.Network {
		if !isHost(host) {
			return p.r.must("permissions.network", "permissions.network")
		}
		if p.door("permissions.network", "permissions.network", "web_fetch asks "+host+" without approval") {
			p.Permissions.Rules = append(p.Permissions.Rules, gate.Rule{Name: "network " + host, Tool: "web_fetch", Host: host})
			p.add("permissions.network", host, p.at("permissions.network"))
		}
	}
	for i := range t.Rules {
		if err := p.rule(&t.Rules[i], "permissions.rules."+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

// environment merges which variables commands see. Everybody may hide one; who
// shows one that is hidden opens a door. Within a file what is allowed counts
// before what is denied.
func (p part) environment() error {
	for _, v := range []struct {
		key   string
		names []string
		shows bool
	}{{"environment.deny", p.r.Environment.Deny, false}, {"environment.allow", p.r.Environment.Allow, true}} {
		for _, name := range v.names {
			if !isVariable(name) {
				return p.r.must(v.key, v.key)
			}
			pattern := name
			if v.shows {
				if !p.door(v.key, v.key, "commands, hooks and servers see "+name) {
					continue
				}
				pattern = "!" + name
			}
			p.Hidden = append(p.Hidden, pattern)
			if p.layer != Project || p.trusted {
				p.HiddenFromHooks = append(p.HiddenFromHooks, pattern)
			}
			p.add(v.key, name, p.at(v.key))
		}
	}
	return nil
}

// isVariable reports whether s is a variable's name or a pattern of some.
func isVariable(s string) bool {
	_, err := path.Match(s, "")
	return err == nil && s != "" && s[0] != '!' && !strings.ContainsAny(s, "=\x00 \t\n")
}

func isHost(s string) bool {
	u, err := url.Parse("http://" + s)
	return err == nil && s != "" && u.Host == s && u.Hostname() != "" && u.Path == "" && !strings.ContainsAny(strings.TrimPrefix(s, "*."), "* \t")
}

func (p part) rule(t *ruleTable, where string) error {
	const key = "permissions.rules."
	_, badPattern := path.Match(t.Tool, "")
	switch {
	case t.Tool == "" || badPattern != nil:
		return p.r.must(key+"tool", where+".tool")
	case t.Host != "" && !isHost(t.Host):
		return p.r.must(key+"host", where+".host")
	case t.Decision != "allow" && t.Decision != "ask" && t.Decision != "deny":
		return p.r.must(key+"decision", where+".decision")
	}
	r := gate.Rule{Name: t.Name, Tool: t.Tool, Command: t.Command, Path: home(t.Path, p.o.Env), Host: t.Host, Deny: t.Decision == "deny", Ask: t.Decision == "ask"}
	what := strings.Join(strings.Fields(t.Tool+" "+t.Command+" "+t.Path+" "+t.Host), " ")
	if r.Name == "" {
		r.Name = what
	}
	name := "permissions.rules." + r.Name
	if t.Decision == "allow" && !p.door(name, where, "needs no approval: "+what) {
		return nil
	}
	p.Permissions.Rules = append(p.Permissions.Rules, r)
	p.add(name, t.Decision+" "+what, p.at(where))
	return nil
}

// hooks merges commands; a program in a folder is looked for beside the file
// that names it, never in whatever workspace there is.
func (p part) hooks() error {
	for i := range p.r.Hooks {
		t, where := &p.r.Hooks[i], "hooks."+strconv.Itoa(i)
		h, err := p.hook(t, where)
		if err != nil {
			return err
		}
		what := t.Run
		if what == "" {
			what = strings.Join(t.Command, " ")
		}
		what = "at " + strings.Join(t.On, ", ") + " runs " + what
		if t.FailOpen {
			what += " (fails open)"
		}
		if !p.door("hooks."+h.Name, where, what) {
			continue
		}
		if o, twice := p.hooked[h.Name]; twice {
			return wrong("rename one of them", "%s:%d: there is a hook %s at %s already", p.r.path, p.r.line(where), h.Name, o)
		}
		p.hooked[h.Name] = h.Origin
		p.Hooks = append(p.Hooks, h)
		p.add("hooks."+h.Name, what, h.Origin)
	}
	return nil
}

func (p part) hook(t *hookTable, where string) (Hook, error) {
	h := Hook{Name: t.Name, Tool: t.Tool, Command: slices.Clone(t.Command), Run: t.Run, FailOpen: t.FailOpen, Origin: p.at(where)}
	_, badPattern := path.Match(t.Tool, "")
	switch {
	case !isName(t.Name):
		return h, p.r.must("hooks.name", where+".name")
	case len(t.On) == 0:
		return h, p.r.must("hooks.on", where+".on")
	case badPattern != nil:
		return h, p.r.must("hooks.tool", where+".tool")
	case (len(t.Command) == 0) == (t.Run == ""):
		return h, wrong("set one", "%s:%d: the hook %s needs command or run, and not both", p.r.path, p.r.line(where), t.Name)
	case len(t.Command) > 0 && t.Command[0] == "":
		return h, p.r.must("hooks.command", where+".command")
	}
	for _, on := range t.On {
		if !slices.Contains(gate.Points(), gate.Point(on)) {
			return h, wrong("the points are "+joinPoints(), "%s:%d: the hook %s names a point that there is not", p.r.path, p.r.line(where+".on"), t.Name)
		}
		h.Points = append(h.Points, gate.Point(on))
	}
	if t.Timeout != "" {
		d, err := time.ParseDuration(t.Timeout)
		if err != nil || d <= 0 || d > 10*time.Minute {
			return h, p.r.must("hooks.timeout", where+".timeout")
		}
		h.Timeout = d
	}
	if len(h.Command) > 0 && strings.ContainsRune(h.Command[0], filepath.Separator) {
		program := home(h.Command[0], p.o.Env)
		if !filepath.IsAbs(program) {
			base := filepath.Dir(p.r.path)
			if p.layer == Project {
				base = p.Project.Folder.Dir
			}
			program = filepath.Join(base, program)
		}
		h.Command[0] = program
	}
	for _, name := range sortedKeys(t.Env) {
		h.Env = append(h.Env, name+"="+string(t.Env[name]))
	}
	return h, nil
}

func isName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}

func joinPoints() string {
	var names []string
	for _, p := range gate.Points() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// tools merges what is offered; everybody may take away.
func (p part) tools() error {
	for _, name := range sortedKeys(p.r.Tools) {
		on, key := p.r.Tools[name], "tools."+name
		if _, err := path.Match(name, ""); err != nil || name == "" {
			return p.r.must("tools", key)
		}
		if on && !p.ToolOn(name) && !p.door(key, key, "offers a tool that you switched off") {
			continue
		}
		p.Tools[name] = on
		p.set(key, strconv.FormatBool(on), p.at(key))
	}
	return nil
}

// mcp merges servers of a settings file.
func (p part) mcp() error {
	if len(p.r.MCP) == 0 {
		return nil
	}
	open := true
	for _, name := range sortedKeys(p.r.MCP) {
		key := "mcp." + name
		if open = p.door(key, key, serverText(p.r.MCP[name])); open {
			p.add(key, serverText(p.r.MCP[name]), p.at(key))
		}
	}
	if !open {
		return nil
	}
	data, err := json.Marshal(map[string]any{"mcpServers": p.r.MCP})
	if err != nil {
		return wrong("correct it", "%s:%d: the servers below mcp have a value that has no JSON form", p.r.path, p.r.line("mcp"))
	}
	p.Servers = append(p.Servers, Servers{data, p.layer == User, p.at("mcp")})
	return nil
}

// foreign merges a .mcp.json, whose faults its reader finds.
func (m *merge) foreign(data []byte, o Origin, trusted bool) {
	if data == nil {
		return
	}
	var f struct {
		Servers map[string]map[string]any `json:"mcpServers"`
	}
	_ = json.Unmarshal(data, &f) // one that cannot be read is listed as one thing
	list := map[string]string{}
	for name, s := range f.Servers {
		list["mcp."+name] = serverText(s)
	}
	if len(list) == 0 {
		list[".mcp.json"] = "a file of servers without any that can be read"
	}
	for _, key := range sortedKeys(list) {
		i := Ignored{key, list[key], o}
		m.Project.Needs = append(m.Project.Needs, i)
		if trusted {
			m.add(key, list[key], o)
		} else {
			m.Ignored = append(m.Ignored, i)
		}
	}
	if trusted {
		m.Servers = append(m.Servers, Servers{data, false, o})
	}
}

// serverText says how a server is reached, without arguments and secrets.
func serverText(s map[string]any) string {
	if c, ok := s["command"].(string); ok {
		return "starts " + c
	}
	if u, ok := s["url"].(string); ok {
		if parsed, err := url.Parse(u); err == nil {
			return "asks " + parsed.Scheme + "://" + parsed.Host + parsed.Path
		}
	}
	return "a server"
}

// outside puts environment and flags on top.
func (m *merge) outside() error {
	for _, v := range []struct{ key, variable string }{
		{"provider", "RIPCORD_PROVIDER"}, {"base_url", "RIPCORD_BASE_URL"}, {"api_key", "RIPCORD_API_KEY"}, {"model", "RIPCORD_MODEL"},
	} {
		value := m.o.Env(v.variable)
		origin := Origin{Environment, v.variable, 0}
		if f := m.o.Flags[v.key]; f != "" {
			value, origin = f, Origin{Flag, "--" + strings.ReplaceAll(v.key, "_", "-"), 0}
		}
		switch {
		case value == "":
		case v.key == "api_key":
			m.set(v.key, Secret(value).String(), origin)
			delete(m.values, "api_key_env")
		case v.key == "base_url":
			m.set(v.key, plainURL(value), origin)
		default:
			m.set(v.key, value, origin)
		}
	}
	return m.outsideGuards()
}

// finish orders what is in force.
func (m *merge) finish() {
	m.Permissions.Protected = append(m.Permissions.Protected, protectedAlways(m.o.Root, m.UserFile)...)
	shown := map[string]bool{}
	for _, k := range known() {
		if e, ok := m.values[k.name]; ok && !shown[k.name] {
			m.entries, shown[k.name] = append(m.entries, e), true
		}
	}
	m.entries = append(m.entries, m.entered...)
	for _, key := range sortedKeys(m.values) {
		if !shown[key] {
			m.entries = append(m.entries, m.values[key])
		}
	}
	for _, pr := range protectedAlways(m.o.Root, m.UserFile) {
		m.entries = append(m.entries, Entry{"permissions.protected", pr.Path, Origin{}, ""})
	}
	for _, pattern := range m.o.Hidden {
		key, name := "environment.deny", pattern
		if shown, ok := strings.CutPrefix(pattern, "!"); ok {
			key, name = "environment.allow", shown
		}
		m.entries = append(m.entries, Entry{key, name, Origin{}, ""})
	}
}

func (m *merge) defaults() {
	m.bounds, m.hooked = map[string]int64{}, map[string]Origin{}
	m.Hidden, m.HiddenFromHooks = slices.Clone(m.o.Hidden), slices.Clone(m.o.Hidden)
	for _, l := range limitList() {
		m.bounds[l.key] = l.usual
		m.set(l.key, l.show(l.usual), Origin{})
	}
	m.set("permissions.policy", "ask", Origin{})
	m.set("parallel_hooks", "false", Origin{})
	m.OnInterrupt = Restore
	m.set("on_interrupt", string(Restore), Origin{})
	m.usualGuards()
	for _, k := range []string{"provider", "base_url", "api_key", "model"} {
		m.set(k, "", Origin{})
	}
}
