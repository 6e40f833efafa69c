package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// node is the part of JSON Schema that [CheckArgs] looks at. Whatever else a
// schema says is the tool's own to check.
type node struct {
	Type       types           `json:"type"`
	Properties map[string]node `json:"properties"`
	Required   []string        `json:"required"`
	Additional any             `json:"additionalProperties"`
	Items      *node           `json:"items"`
	Enum       []any           `json:"enum"`
	Minimum    *float64        `json:"minimum"`
	Maximum    *float64        `json:"maximum"`
}

// types reads "string" as well as ["string","null"].
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var one string
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		*t = types{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// CheckArgs reports, as an error of kind [Reply], what about args does not fit
// the schema: that they are no object, a required field that is missing, a
// field that is not known, a type, a listed value, a range. An empty schema
// takes any object.
func CheckArgs(schema, args json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return Replyf("the arguments are not valid JSON; send the call again with one complete JSON object")
	}
	if _, ok := v.(map[string]any); !ok {
		return Replyf("the arguments are %s; send the call again with a JSON object", kindOf(v))
	}
	if len(bytes.TrimSpace(schema)) == 0 {
		return nil
	}
	var n node
	if err := json.Unmarshal(schema, &n); err != nil {
		return Fatalf("the tool's schema is not a JSON Schema: %w", err)
	}
	if wrong := n.check("", v); wrong != "" {
		return Replyf("%s; correct the arguments and send the call again", wrong)
	}
	return nil
}

// check returns what is wrong about v, which stands at path, or "".
func (n node) check(path string, v any) string {
	if len(n.Type) > 0 && !slices.ContainsFunc(n.Type, func(want string) bool { return is(want, v) }) {
		return fmt.Sprintf("%s must be %s, not %s", at(path), strings.Join(n.Type, " or "), kindOf(v))
	}
	if len(n.Enum) > 0 && !slices.ContainsFunc(n.Enum, func(e any) bool { return same(e, v) }) {
		list, _ := json.Marshal(n.Enum) // it was decoded from JSON
		return fmt.Sprintf("%s must be one of %s", at(path), list)
	}
	switch v := v.(type) {
	case map[string]any:
		return n.checkObject(path, v)
	case []any:
		if n.Items == nil {
			return ""
		}
		for i, e := range v {
			if wrong := n.Items.check(fmt.Sprintf("%s[%d]", path, i), e); wrong != "" {
				return wrong
			}
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil || n.Minimum != nil && f < *n.Minimum || n.Maximum != nil && f > *n.Maximum {
			return fmt.Sprintf("%s must be a number%s, not %s", at(path), n.rangeText(), v)
		}
	}
	return ""
}

func (n node) checkObject(path string, v map[string]any) string {
	for _, name := range n.Required {
		if _, ok := v[name]; !ok {
			return fmt.Sprintf("the required field %q%s is missing", name, inside(path))
		}
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names) // one set of arguments, one sentence
	for _, name := range names {
		p, known := n.Properties[name]
		if !known {
			if n.Additional == false {
				return fmt.Sprintf("there is no field %q%s; the fields are %s", name, inside(path), n.fields())
			}
			continue
		}
		if wrong := p.check(strings.TrimPrefix(path+"."+name, "."), v[name]); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (n node) fields() string {
	var names []string
	for name := range n.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (n node) rangeText() string {
	switch {
	case n.Minimum != nil && n.Maximum != nil:
		return fmt.Sprintf(" from %v to %v", *n.Minimum, *n.Maximum)
	case n.Minimum != nil:
		return fmt.Sprintf(" of at least %v", *n.Minimum)
	case n.Maximum != nil:
		return fmt.Sprintf(" of at most %v", *n.Maximum)
	}
	return ""
}

func at(path string) string {
	if path == "" {
		return "the arguments"
	}
	return fmt.Sprintf("the field %q", path)
}

func inside(path string) string {
	if path == "" {
		return ""
	}
	return fmt.Sprintf(" of %q", path)
}

func is(want string, v any) bool {
	switch want {
	case "integer":
		n, ok := v.(json.Number)
		if !ok {
			return false
		}
		f, err := n.Float64()
		return err == nil && f == math.Trunc(f)
	case "number":
		_, ok := v.(json.Number)
		return ok
	}
	return want == kindOf(v)
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number, float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func same(a, b any) bool {
	if n, ok := b.(json.Number); ok {
		f, err := n.Float64()
		b = f
		if err != nil {
			return false
		}
	}
	x, _ := json.Marshal(a) // both were decoded from JSON
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}
