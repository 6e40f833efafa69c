package gate

import (
	"context"
	"fmt"
	"slices"

	"github.com/ripcord-go/ripcord/tool"
)

// Rules is the gate of settings. The zero value lets pass what asks for
// nothing and asks a person about the rest. Denying rules come before asking
// ones, those before allowing ones, whatever their order in the list.
type Rules struct {
	Policy Policy
	// List is looked at in order; of the rules of one kind the first that
	// matches gives its name.
	List []Rule
	// Protected lists what always asks, in the workspace too, unless an
	// allowing rule names it.
	Protected []Protected
	// Boundary makes every call that names a file outside the workspace ask,
	// and keeps allowing rules without a path inside it.
	Boundary bool
}

// Protected is a place that a call may touch only if somebody said so.
type Protected struct {
	// Path is the name of a file or folder at any depth (".git"), a path below
	// the workspace ("ci/deploy"), or an absolute one; all that is below it is
	// protected too. Names are compared without case.
	Path string
	// Reads protects against being read, too; with an absolute path also a
	// folder above it, as a search goes through all of it.
	Reads bool
}

// Rule decides about calls of one tool. All fields that are set must match. An
// argument that a rule is about is looked for by its exact name; a call that
// gives it twice, or in other letters ("URL"), can be read in two ways: rules that
// deny or ask match it, allowing ones do not.
type Rule struct {
	Name string // for people: Verdict.By is "rule:" and it
	// Tool is the tool's name or a pattern of [path.Match]: "*" is every tool,
	// "mcp__files__*" all of one server.
	Tool string
	// Command is a prefix of the argument "command", by words: "go test"
	// matches "go test ./..." and not "go testify". An allowing rule matches
	// only a command that is nothing but words: one that could run a second
	// command, write to a file or expand anything has no prefix to trust.
	Command string
	// Path is a file, or a folder with all that is below it; relative to the
	// workspace. Every file that the call names must be there, where its links
	// lead. A tool that does not say which files it touches does not match. A
	// rule that denies or asks matches if one of the files is there, and a folder
	// above it too: a search goes through all of it.
	Path string
	// Host is the host of the argument "url": "example.com", or "*.example.com"
	// for all below it; with ":8080" only there. Only http and https match.
	Host string
	// Deny blocks instead of allowing. With a command it is a reminder, not a
	// wall: the same command can be written in other words.
	Deny bool
	// Ask has a person asked, also about what would ask for nothing. Deny goes
	// before it.
	Ask bool
}

var _ Gate = Rules{}

// headless is who blocks what nobody is there to allow.
const headless = "policy:headless"

// Judge implements [Gate].
func (r Rules) Judge(_ context.Context, call *tool.Call, spec tool.Spec) (Verdict, error) {
	if r.Policy != AskPerson && r.Policy != DenyAll && r.Policy != YesAll {
		if _, ask := spec.Asking(call); ask {
			return Verdict{}, fmt.Errorf("approval policy %d does not exist: use ask, deny or yes", int(r.Policy))
		}
	}
	t := touchOf(call, spec)
	for _, rule := range r.List {
		if rule.Deny && rule.matches(call, t) {
			return Verdict{Decision: Block, By: "rule:" + rule.Name, Why: rule.why()}, nil
		}
	}
	prompt, ask := spec.Asking(call)
	if prompt == "" {
		prompt = "run " + call.Name
	}
	for _, rule := range r.List {
		if rule.Ask && !rule.Deny && rule.matches(call, t) {
			return r.Settle(prompt + " (rule " + rule.Name + ")"), nil
		}
	}
	guarded, why := r.guarded(call, spec, t)
	switch {
	case !ask && !guarded && spec.Effect == tool.Pure:
		return Verdict{Decision: Allow, By: "rule:read-only"}, nil
	case !ask && !guarded:
		return Verdict{Decision: Allow, By: "rule:no-approval-needed"}, nil
	case guarded:
		prompt += " (" + why + ")"
	}
	for _, rule := range r.List {
		if !rule.Deny && !rule.Ask && rule.matches(call, t) && r.reaches(rule, call, spec, t) {
			return Verdict{Decision: Allow, By: "rule:" + rule.Name, Prompt: prompt}, nil
		}
	}
	return r.Settle(prompt), nil
}

// why is what a model is told of a denying rule.
func (rule Rule) why() string {
	if rule.Path != "" {
		return "a rule of the settings forbids it for " + rule.Path + " and for folders that hold it"
	}
	return "a rule of the settings forbids it"
}

// Settle is what the policy makes of a call that asks. A policy that is none
// blocks.
func (r Rules) Settle(prompt string) Verdict {
	switch r.Policy {
	case AskPerson:
		return Verdict{Decision: Ask, By: "policy:ask", Prompt: prompt}
	case DenyAll:
		return Verdict{Decision: Block, By: headless, Prompt: prompt, Final: true,
			Why: "it needs approval and nobody is there to give it"}
	case YesAll:
		return Verdict{Decision: Allow, By: "yes", Prompt: prompt}
	}
	return Verdict{Decision: Block, By: "gate:error", Why: fmt.Sprintf("approval policy %d does not exist", int(r.Policy))}
}

// guarded reports whether the call asks because of where it goes, whatever its
// tool says, with a few words why.
func (r Rules) guarded(call *tool.Call, spec tool.Spec, t touch) (bool, string) {
	for _, p := range t.paths {
		if name := r.protectedBy(p, call.Dir, spec.Effect == tool.Pure); name != "" {
			return true, name + " is protected"
		}
	}
	if r.Boundary && call.Dir != "" && slices.ContainsFunc(t.paths, func(p string) bool { return !below(call.Dir, p) }) {
		return true, "it is outside the workspace"
	}
	return false, ""
}

// reaches reports whether an allowing rule that matches goes as far as the
// call does: to protected places only if it names them, out of the workspace
// only if it has a path.
func (r Rules) reaches(rule Rule, call *tool.Call, spec tool.Spec, t touch) bool {
	named := func(p Protected) bool { return rule.Path != "" && p.holds(rule.root(call.Dir), call.Dir) }
	for _, p := range r.Protected {
		if !p.Reads && spec.Effect == tool.Pure || named(p) {
			continue
		}
		if slices.ContainsFunc(t.paths, func(path string) bool { return p.holds(path, call.Dir) }) {
			return false
		}
		if command, _ := argument(call, "command"); rule.Command != "" && p.inWords(command, call.Dir) {
			return false // it matches: its command can be read
		}
	}
	return !r.Boundary || rule.Path != "" || call.Dir == "" ||
		!slices.ContainsFunc(t.paths, func(p string) bool { return !below(call.Dir, p) })
}

// protectedBy names what protects path, empty if nothing does.
func (r Rules) protectedBy(path, dir string, reading bool) string {
	for _, p := range r.Protected {
		if (p.Reads || !reading) && p.holds(path, dir) {
			return p.Path
		}
	}
	return ""
}
