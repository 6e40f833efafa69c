package config

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// file is what one settings file says. Zero is not set.
type file struct {
	Provider      string                    `toml:"provider"`
	BaseURL       string                    `toml:"base_url"`
	APIKey        Secret                    `toml:"api_key"`
	APIKeyEnv     string                    `toml:"api_key_env"`
	Model         string                    `toml:"model"`
	Timeout       string                    `toml:"timeout"`
	ParallelHooks *bool                     `toml:"parallel_hooks"`
	OnInterrupt   string                    `toml:"on_interrupt"`
	Limits        limitTable                `toml:"limits"`
	Prices        priceTable                `toml:"prices"`
	Guards        guardTables               `toml:"guards"`
	Providers     map[string]providerTable  `toml:"providers"`
	Permissions   permissionTable           `toml:"permissions"`
	Environment   environTable              `toml:"environment"`
	Hooks         []hookTable               `toml:"hooks"`
	MCP           map[string]map[string]any `toml:"mcp"`
	Tools         map[string]bool           `toml:"tools"`
}

// priceTable is what a million tokens cost, US dollars.
type priceTable struct {
	Input  *float64 `toml:"input"`
	Output *float64 `toml:"output"`
}

// budgetTable bounds all turns of a session together.
type budgetTable struct {
	MaxSteps  *int64   `toml:"max_steps"`
	MaxCalls  *int64   `toml:"max_calls"`
	MaxTokens *int64   `toml:"max_tokens"`
	MaxWall   string   `toml:"max_wall"`
	MaxCost   *float64 `toml:"max_cost"`
}

type limitTable struct {
	MaxSteps  *int64 `toml:"max_steps"`
	MaxCalls  *int64 `toml:"max_calls"`
	MaxTokens *int64 `toml:"max_tokens"`
	MaxWall   string `toml:"max_wall"`
	Attempts  *int64 `toml:"attempts"`
	Parallel  *int64 `toml:"parallel"`
	ToolBound string `toml:"tool_bound"`
	Idle      string `toml:"idle"`
	JobGrace  string `toml:"job_grace"`

	MaxCost   *float64    `toml:"max_cost"`
	Context   *int64      `toml:"context"`
	CompactAt *float64    `toml:"compact_at"`
	Session   budgetTable `toml:"session"`

	Agents      *int64 `toml:"agents"`
	AgentsTotal *int64 `toml:"agents_total"`
	AgentDepth  *int64 `toml:"agent_depth"`
}

type permissionTable struct {
	Policy    string      `toml:"policy"`
	Protected []string    `toml:"protected"`
	Network   []string    `toml:"network"`
	Rules     []ruleTable `toml:"rules"`
}

// environTable is which variables commands see.
type environTable struct {
	Deny  []string `toml:"deny"`
	Allow []string `toml:"allow"`
}

type ruleTable struct {
	Name     string `toml:"name"`
	Tool     string `toml:"tool"`
	Command  string `toml:"command"`
	Path     string `toml:"path"`
	Host     string `toml:"host"`
	Decision string `toml:"decision"`
}

type hookTable struct {
	Name     string            `toml:"name"`
	On       []string          `toml:"on"`
	Tool     string            `toml:"tool"`
	Command  []string          `toml:"command"`
	Run      string            `toml:"run"`
	Timeout  string            `toml:"timeout"`
	FailOpen bool              `toml:"fail_open"`
	Env      map[string]Secret `toml:"env"`
}

// key is a setting and what it must be.
type key struct{ name, want string }

// known lists every key; those below a list or a table of any names stand under
// its own name.
func known() []key {
	out := plainKeys()
	for _, d := range dials() {
		out = append(out, key{"guards." + d.key, d.want()})
	}
	out = append(out, key{"providers", "tables: [providers.NAME.guards.stall] and the like"})
	for _, d := range dials() {
		out = append(out, key{"providers.NAME.guards." + d.key, d.want()})
	}
	return out
}

// generic puts NAME in place of a provider's name.
func generic(name string) (key, provider string) {
	rest, ok := strings.CutPrefix(name, "providers.")
	if !ok {
		return name, ""
	}
	if provider, rest, ok = strings.Cut(rest, "."); !ok {
		return name, ""
	}
	return "providers.NAME." + rest, provider
}

func plainKeys() []key {
	const dollars = "a number that is not negative, US dollars"
	const duration = `a string such as "10m" or "90s"`
	const count = "a whole number that is not negative"
	const variables = `a list of variables' names or patterns such as ["PGSERVICE", "MY_*"]`
	return []key{
		{"provider", `a string: "openai-chat", "openai-responses", "anthropic" or "scripted"`},
		{"base_url", `a string such as "http://127.0.0.1:11434/v1"`},
		{"api_key", "a string"}, {"api_key_env", "a string, the name of a variable"},
		{"model", "a string, the model's name"}, {"timeout", duration}, {"parallel_hooks", "true or false"},
		{"on_interrupt", `a string: "restore", "hold" or "drop"`},
		{"limits", "a table: [limits]"},
		{"limits.max_steps", count}, {"limits.max_calls", count}, {"limits.max_tokens", count}, {"limits.max_wall", duration},
		{"limits.attempts", count}, {"limits.parallel", count}, {"limits.tool_bound", duration}, {"limits.idle", duration}, {"limits.job_grace", duration},
		{"limits.agents", count}, {"limits.agents_total", count}, {"limits.agent_depth", count},
		{"limits.max_cost", dollars}, {"limits.context", count}, {"limits.compact_at", "a number between 0 and 1"},
		{"limits.session", "a table: [limits.session]"}, {"limits.session.max_steps", count}, {"limits.session.max_calls", count},
		{"limits.session.max_tokens", count}, {"limits.session.max_wall", duration}, {"limits.session.max_cost", dollars},
		{"prices", "a table: [prices]"}, {"prices.input", dollars + " a million tokens"}, {"prices.output", dollars + " a million tokens"},
		{"permissions", "a table: [permissions]"},
		{"permissions.policy", `a string: "ask" or "deny"`}, {"permissions.protected", `a list of paths such as ["ci", "/etc"]`},
		{"permissions.network", `a list of hosts such as ["go.dev", "*.example.org"]`}, {"permissions.rules", "a list of tables: [[permissions.rules]]"},
		{"permissions.rules.name", "a string"}, {"permissions.rules.tool", `a string: a tool's name or a pattern such as "mcp__files__*"`},
		{"permissions.rules.command", `a string: the words that a command begins with, such as "go test"`}, {"permissions.rules.path", "a string, a path"},
		{"permissions.rules.host", `a string such as "go.dev" or "*.example.org"`}, {"permissions.rules.decision", `a string: "allow", "ask" or "deny"`},
		{"environment", "a table: [environment]"},
		{"environment.deny", variables}, {"environment.allow", variables},
		{"hooks", "a list of tables: [[hooks]]"},
		{"hooks.name", "a string of letters, digits, dots, dashes and underscores"}, {"hooks.on", `a list of points such as ["pre_tool"]`},
		{"hooks.tool", `a string: a tool's name or a pattern`}, {"hooks.command", `a list of strings: a program and its arguments`},
		{"hooks.run", "a string, a line for sh"}, {"hooks.timeout", `a string such as "30s", at most "10m"`}, {"hooks.fail_open", "true or false"},
		{"hooks.env", "a table of strings"}, {"mcp", "tables: [mcp.NAME]"}, {"tools", "a table of tools that are true or false"},
		{"guards", "tables: [guards.stall], [guards.loop], [guards.calls]"},
	}
}

func wantOf(name string) string {
	name, _ = generic(name)
	for _, k := range known() {
		if k.name == name || (k.name == "tools" || k.name == "hooks.env" || k.name == "mcp") && strings.HasPrefix(name, k.name+".") {
			return k.want
		}
	}
	return ""
}

// read is one file, decoded, with the line of each key.
type read struct {
	file
	path  string
	lines map[string]int
}

// line is where key is set, or the table or list around it.
func (r *read) line(key string) int {
	for {
		if n, ok := r.lines[key]; ok {
			return n
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return 1
		}
		key = key[:i]
	}
}

// below is the first line that sets something in the table key.
func (r *read) below(key string) int {
	first := 0
	for name, n := range r.lines {
		if strings.HasPrefix(name+".", key+".") && (first == 0 || n < first) {
			first = n
		}
	}
	return max(first, 1)
}

// must is the sentence about a value that means nothing.
func (r *read) must(key, where string) error {
	return wrong("correct it", "%s:%d: %s must be %s", r.path, r.line(where), key, wantOf(key))
}

// decode reads one file's bytes strictly.
func decode(path string, data []byte) (*read, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // some editors' mark of UTF-8
	r := &read{path: path}
	dec := toml.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r.file); err != nil {
		return nil, describe(path, err)
	}
	r.lines = linesOf(data)
	return r, nil
}

// linesOf finds the line of every key; an element of a list of tables has its
// number in the key, from 0.
func linesOf(data []byte) map[string]int {
	lines, count := map[string]int{}, map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable && e.Kind != unstable.KeyValue {
			continue
		}
		name := ""
		if e.Kind == unstable.KeyValue {
			name = table
		}
		line := 0
		for it := e.Key(); it.Next(); {
			n := it.Node()
			name = strings.TrimPrefix(name+"."+string(n.Data), ".")
			if line == 0 {
				line = 1 + bytes.Count(data[:n.Raw.Offset], []byte("\n"))
			}
			if c := count[name]; c > 0 && (e.Kind != unstable.ArrayTable || !it.IsLast()) {
				name += "." + strconv.Itoa(c-1)
			}
		}
		if e.Kind == unstable.ArrayTable {
			count[name]++
			if count[name] == 1 {
				lines[name] = line
			}
			name += "." + strconv.Itoa(count[name]-1)
		}
		lines[name] = line
		if e.Kind != unstable.KeyValue {
			table = name
		}
	}
	return lines
}

// describe says in one sentence what is wrong in a settings file. It never
// repeats a value: that may be a key.
func describe(path string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := strict.Errors[0]
		row, _ := e.Position()
		name := strings.Join(e.Key(), ".")
		return wrong(nearest(name), "%s:%d: there is no setting %s", path, row, name)
	}
	var d *toml.DecodeError
	if !errors.As(err, &d) {
		return wrong("correct it", "%s: the file is not TOML", path)
	}
	row, col := d.Position()
	name := strings.Join(d.Key(), ".")
	if strings.Contains(d.Error(), "already") {
		return wrong("take one of them out", "%s:%d: %s is set twice", path, row, name)
	}
	if want := wantOf(name); want != "" && !strings.Contains(d.Error(), "expected") {
		return wrong("correct it", "%s:%d: %s must be %s", path, row, name, want)
	}
	return wrong("correct it", "%s:%d:%d: the file is not TOML from here on", path, row, col)
}

// nearest proposes keys in place of one that is not known.
func nearest(name string) (hint string) {
	name, provider := generic(name)
	if provider != "" {
		defer func() { hint = strings.ReplaceAll(hint, "NAME", provider) }()
	}
	parent, _ := cutLast(name)
	var siblings []string
	best, least := "", 1+len(name)/2
	for _, k := range known() {
		if p, leaf := cutLast(k.name); p == parent {
			siblings = append(siblings, leaf)
		}
		if d := distance(name, k.name); d < least {
			best, least = k.name, d
		}
	}
	if len(siblings) == 0 {
		for _, k := range known() {
			if p, leaf := cutLast(k.name); p == "" {
				siblings = append(siblings, leaf)
			}
		}
		parent = ""
	}
	where := "the keys are "
	if parent != "" {
		where = "the keys of " + parent + " are "
	}
	if best != "" {
		return "did you mean " + best + "? " + where + strings.Join(siblings, ", ")
	}
	return where + strings.Join(siblings, ", ")
}

func cutLast(name string) (parent, leaf string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// distance is how many letters must be put in, taken out or changed to make b
// of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// MaxFound bounds a file that a folder happens to hold, bytes.
const MaxFound = 1 << 20

// ReadFound reads a file that nobody named: what comes with a folder may be a
// link to a device or a pipe, which would never end. What is over [MaxFound] is
// cut off by one byte more, so that the caller sees it.
func ReadFound(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFound+1))
}

// open reads a settings file; nil if there is none and none must be.
func open(path string, must bool) ([]byte, error) {
	get := os.ReadFile // a file that was named may be a pipe
	if !must {
		get = ReadFound
	}
	data, err := get(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && !must:
		return nil, nil
	case err != nil:
		return nil, wrong("check RIPCORD_CONFIG and the file's permissions", "the settings file cannot be read: %v", err)
	case len(data) > MaxFound:
		return nil, wrong("make it smaller", "%s: the settings file is over %d bytes", path, MaxFound)
	}
	return slices.Clip(data), nil
}
