package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

// Rules is the gate of settings. The zero value lets pass what asks for
// nothing and asks a person about the rest.
type Rules struct {
	Policy Policy
	// List is looked at in order; the first rule that matches decides.
	List []Rule
}

// Rule decides about calls of one tool. All fields that are set must match.
type Rule struct {
	Name string // for people: Verdict.By is "rule:" and it
	Tool string // the tool's name; "*" is every tool
	// Command is a prefix of the argument "command", by words: "go test"
	// matches "go test ./..." and not "go testify". An allowing rule matches
	// only a command that is nothing but words: one that could run a second
	// command, write to a file or expand anything has no prefix to trust.
	Command string
	// Path is a file, or a folder with all that is below it; relative to the
	// workspace. Every file that the call names must be there, where its links
	// lead. A tool that does not say which files it touches does not match.
	Path string
	// Deny blocks instead of allowing. With a command it is a reminder, not a
	// wall: the same command can be written in other words.
	Deny bool
}

var _ Gate = Rules{}

// Judge implements [Gate].
func (r Rules) Judge(_ context.Context, call *tool.Call, spec tool.Spec) (Verdict, error) {
	for _, rule := range r.List {
		if rule.Deny && rule.matches(call, spec) {
			return Verdict{Decision: Block, By: "rule:" + rule.Name, Why: "a rule of the settings forbids it"}, nil
		}
	}
	prompt, ask := spec.Asking(call)
	if !ask {
		if spec.Effect == tool.Pure {
			return Verdict{Decision: Allow, By: "rule:read-only"}, nil
		}
		return Verdict{Decision: Allow, By: "rule:no-approval-needed"}, nil
	}
	if prompt == "" {
		prompt = "run " + call.Name
	}
	for _, rule := range r.List {
		if !rule.Deny && rule.matches(call, spec) {
			return Verdict{Decision: Allow, By: "rule:" + rule.Name, Prompt: prompt}, nil
		}
	}
	switch r.Policy {
	case AskPerson:
		return Verdict{Decision: Ask, By: "policy:ask", Prompt: prompt}, nil
	case DenyAll:
		return Verdict{Decision: Block, By: "policy:headless", Prompt: prompt, Final: true,
			Why: "it needs approval and nobody is there to give it"}, nil
	case YesAll:
		return Verdict{Decision: Allow, By: "yes", Prompt: prompt}, nil
	}
	return Verdict{}, fmt.Errorf("approval policy %d does not exist: use ask, deny or yes", int(r.Policy))
}

func (rule Rule) matches(call *tool.Call, spec tool.Spec) bool {
	if rule.Tool != "*" && rule.Tool != call.Name || rule.Path != "" && !rule.covers(call, spec) {
		return false
	}
	if rule.Command == "" {
		return true
	}
	var args struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(call.Args, &args) != nil {
		return rule.Deny // what can't be read is forbidden, never allowed
	}
	return hasWords(args.Command, rule.Command) && (rule.Deny || onlyWords(args.Command))
}

// covers reports whether all that the call touches is below the rule's path. A
// denying rule is content with one file, or with not knowing.
func (rule Rule) covers(call *tool.Call, spec tool.Spec) bool {
	if spec.Touches == nil {
		return false
	}
	paths, ok := spec.Touches(call)
	if !ok || len(paths) == 0 {
		return rule.Deny
	}
	root := rule.Path
	if !filepath.IsAbs(root) {
		root = filepath.Join(call.Dir, root)
	}
	below := func(path string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsAbs(root) && filepath.IsAbs(path) && filepath.IsLocal(rel)
	}
	if rule.Deny {
		return slices.ContainsFunc(paths, below)
	}
	return !slices.ContainsFunc(paths, func(path string) bool { return !below(path) })
}

// hasWords reports whether command begins with the words of prefix.
func hasWords(command, prefix string) bool {
	have, want := strings.Fields(command), strings.Fields(prefix)
	if len(have) < len(want) || len(want) == 0 {
		return false
	}
	for i, w := range want {
		if have[i] != w {
			return false
		}
	}
	return true
}

// onlyWords reports whether a shell would read command as one simple command:
// it holds no character that a shell gives a meaning to.
func onlyWords(command string) bool {
	for _, r := range command {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case strings.ContainsRune(" _-./:@%+,", r): // '=' would set a variable
		default:
			return false
		}
	}
	return true
}
