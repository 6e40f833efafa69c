package config

import (
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/guard"
)

// Settings is what is in force in one workspace.
type Settings struct {
	Provider, BaseURL, Model string
	APIKey                   Secret
	Timeout                  time.Duration // of a turn of run and continue; 0 is none
	Limits                   Limits
	Prices                   Prices
	OnInterrupt              OnInterrupt
	Permissions              Permissions
	Hooks                    []Hook
	ParallelHooks            bool
	Servers                  []Servers
	Tools                    map[string]bool // by name or pattern; see [Settings.ToolOn]
	// Hidden are patterns of variables that commands, terminals and servers do
	// not get; a "!" before one lets it through, and the last that names a
	// variable decides. HiddenFromHooks is the same for hooks: what an untrusted
	// project hides is no matter of theirs.
	Hidden, HiddenFromHooks []string
	UserFile                string // whether it is there or not; empty: no place for one
	Project                 ProjectState
	Ignored                 []Ignored // what an untrusted project may not set

	env     func(string) string
	entries []Entry
	guards  guardValues
}

// OnInterrupt is what becomes of texts that wait when a person stops a turn in
// the chat; a closed set.
type OnInterrupt string

const (
	Restore OnInterrupt = "restore" // back to the draft
	Hold    OnInterrupt = "hold"    // they stay and do not run by themselves
	Drop    OnInterrupt = "drop"
)

// Prices are what a million tokens cost, US dollars; zero: no cost is counted.
type Prices struct{ Input, Output float64 }

// Limits bound turns; zero is the runtime's default.
type Limits struct {
	MaxSteps, MaxCalls, Attempts, Parallel int
	Agents, AgentsTotal, AgentDepth        int
	MaxTokens                              int64
	MaxWall, ToolBound, Idle, JobGrace     time.Duration
	MaxCost                                float64      // of a turn, US dollars
	Session                                guard.Budget // of all turns of a session together
	Context                                int          // tokens that the model takes; 0: not known
	CompactAt                              float64      // part of Context from which on a summary is made
}

// Permissions are about which calls run.
type Permissions struct {
	Policy    gate.Policy // AskPerson or DenyAll; no file can say YesAll
	Rules     []gate.Rule
	Protected []gate.Protected
}

// Hook is a command to be run at points; Command's program is absolute or
// without a folder.
type Hook struct {
	Name     string
	Points   []gate.Point
	Tool     string
	Command  []string
	Run      string
	Timeout  time.Duration // 0: the usual one
	FailOpen bool
	Env      []string // NAME=value
	Origin   Origin
}

// Servers are servers of tools from one place, as the JSON of a .mcp.json. Of
// two that have one name the later list's is meant.
type Servers struct {
	JSON   []byte
	Mine   bool // from the person's own file, not a project's
	Origin Origin
}

// ProjectState is the project of the workspace.
type ProjectState struct {
	Folder Folder
	Hash   string
	Trust  Trust
	Why    string // why it cannot be trusted as it is; empty if it can
	Needs  []Ignored
}

// Ignored is a key that opens a door, in a project's file.
type Ignored struct {
	Key    string
	What   string // for people, without secrets
	Origin Origin
}

// Entry is one value in force.
type Entry struct {
	Key    string
	Value  string // secrets masked
	Origin Origin
	Why    string // of a default: where it comes from; may be empty
}

// Entries lists every value in force, in the order of the keys, lists in the
// order in which they count.
func (s *Settings) Entries() []Entry { return s.entries }

// Notice is one sentence about what is ignored; empty if nothing is.
func (s *Settings) Notice() string { return s.Project.sentence(s.Ignored) }

// Value is a setting by its environment name, with the environment before the
// files: what chooses a model reads it.
func (s *Settings) Value(name string) string {
	if v := s.env(name); v != "" {
		return v
	}
	switch name {
	case "RIPCORD_PROVIDER":
		return s.Provider
	case "RIPCORD_BASE_URL":
		return s.BaseURL
	case "RIPCORD_API_KEY":
		return string(s.APIKey)
	case "RIPCORD_MODEL":
		return s.Model
	}
	return ""
}

// ToolOn says whether a tool is offered. Its own name goes before a pattern;
// of patterns, off goes before on.
func (s *Settings) ToolOn(name string) bool {
	if on, ok := s.Tools[name]; ok {
		return on
	}
	for pattern, on := range s.Tools {
		if !on && matches(pattern, name) {
			return false
		}
	}
	return true
}

// startFiles names the files that a shell or one of its helpers runs by itself.
func startFiles() []string {
	return strings.Fields(".profile .bashrc .bash_profile .bash_login .bash_logout .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .envrc")
}

// protectedAlways is what asks in every workspace.
func protectedAlways(root, userFile string) []gate.Protected {
	var out []gate.Protected
	for _, name := range append([]string{".git", ".ripcord", ".ripcord.toml", ".mcp.json"}, startFiles()...) {
		out = append(out, gate.Protected{Path: name})
	}
	for _, path := range []string{root, userFile} {
		if path != "" {
			out = append(out, gate.Protected{Path: path, Reads: true}) // sessions, and keys
		}
	}
	return out
}
