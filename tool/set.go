package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// Set is the tools that a session has, in their order. It does not change
// after [NewSet] and is safe for concurrent use.
type Set struct {
	tools []Tool
	specs []Spec
	index map[string]int
}

// NewSet checks that names are usable by every provider (1 to 64 letters,
// digits, '_' or '-') and unique, and that each schema describes an object.
func NewSet(tools ...Tool) (*Set, error) {
	name := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	s := &Set{index: make(map[string]int, len(tools))}
	for _, t := range tools {
		if isNil(t) {
			return nil, fmt.Errorf("tool %d of the set is nil: leave it out", len(s.tools))
		}
		spec := t.Spec()
		if !name.MatchString(spec.Name) {
			return nil, fmt.Errorf("tool name %q is not usable: give 1 to 64 letters, digits, '_' or '-'", spec.Name)
		}
		if _, taken := s.index[spec.Name]; taken {
			return nil, fmt.Errorf("two tools are named %q: rename one", spec.Name)
		}
		if err := checkSchema(spec.Schema); err != nil {
			return nil, fmt.Errorf("tool %q: %w", spec.Name, err)
		}
		s.index[spec.Name] = len(s.tools)
		s.tools, s.specs = append(s.tools, t), append(s.specs, spec)
	}
	return s, nil
}

// Lookup returns the tool of that name.
func (s *Set) Lookup(name string) (Tool, bool) {
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.tools[i], true
}

// Spec returns the spec of the tool of that name.
func (s *Set) Spec(name string) (Spec, bool) {
	i, ok := s.index[name]
	if !ok {
		return Spec{}, false
	}
	return s.specs[i], true
}

// Names lists the tools in their order.
func (s *Set) Names() []string {
	names := make([]string, len(s.specs))
	for i, spec := range s.specs {
		names[i] = spec.Name
	}
	return names
}

// Schemas describes the tools to a model, in the set's order, so that equal
// sets make equal requests.
func (s *Set) Schemas() []event.ToolSchema {
	out := make([]event.ToolSchema, len(s.specs))
	for i, spec := range s.specs {
		out[i] = event.ToolSchema{Name: spec.Name, Description: spec.Description, Schema: slices.Clone(spec.Schema)}
		if len(out[i].Schema) == 0 {
			out[i].Schema = json.RawMessage(`{"type":"object"}`)
		}
	}
	return out
}

func checkSchema(schema json.RawMessage) error {
	if len(bytes.TrimSpace(schema)) == 0 {
		return nil // any object
	}
	var n node
	if err := json.Unmarshal(schema, &n); err != nil {
		return fmt.Errorf("its schema is not a JSON Schema: %w", err)
	}
	if len(n.Type) > 0 && !slices.Contains(n.Type, "object") {
		return fmt.Errorf("its schema describes %s, not an object", strings.Join(n.Type, " or "))
	}
	return nil
}
