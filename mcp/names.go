package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

const (
	longestName = 64 // what every provider takes
	hashLength  = 8
	mostTools   = 512      // of one server
	mostPages   = 100      // of its list
	mostSchema  = 64 << 10 // bytes
	mostWords   = 4 << 10  // bytes of a description
	mostDepth   = 64       // of a schema
)

// offer is a tool as its server describes it, made fit for a model.
type offer struct {
	server, name string // as the server calls itself here, and the tool there
	words        string
	schema       json.RawMessage
	readOnly     bool // the server's own word
}

// plainName is what the tool is called unless somebody else is called that.
func (o offer) plainName() string { return "mcp__" + plain(o.server) + "__" + plain(o.name) }

// hashedName is unlike that of every other tool.
func (o offer) hashedName() string {
	sum := sha256.Sum256([]byte(o.server + "\x00" + o.name))
	name := o.plainName()
	return name[:min(len(name), longestName-hashLength-1)] + "_" + hex.EncodeToString(sum[:])[:hashLength]
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// named gives each offer a name that no other has, the same for the same
// offers in whatever order they come: too long a name, and each of those that
// would share one, gets a hash of its server's and its own true name. left
// names what would still share one. The answer is in the order of servers and
// tools.
func named(offers []offer) (names []string, sorted []offer, left []offer) {
	sorted = slices.Clone(offers)
	slices.SortFunc(sorted, func(a, b offer) int {
		return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.name, b.name))
	})
	count := map[string]int{}
	for _, o := range sorted {
		count[o.plainName()]++
	}
	taken := map[string]bool{}
	kept := sorted[:0:0]
	for _, o := range sorted {
		name := o.plainName()
		if count[name] > 1 || len(name) > longestName {
			name = o.hashedName()
		}
		if taken[name] {
			left = append(left, o)
			continue
		}
		taken[name] = true
		names, kept = append(names, name), append(kept, o)
	}
	return names, kept, left
}

// fitSchema makes a server's schema one that our checks and every provider can
// read: what is of a shape that they do not know is taken out, the rest stays.
func fitSchema(schema any) (json.RawMessage, error) {
	raw, err := json.Marshal(schema)
	if err != nil || len(raw) > mostSchema {
		return nil, fmt.Errorf("its schema has more than %d bytes, or is none", mostSchema)
	}
	var root map[string]any
	if schema == nil || json.Unmarshal(raw, &root) != nil || root == nil {
		root = map[string]any{}
	}
	if _, ok := root["type"]; !ok {
		root["type"] = "object"
	}
	fitNode(root, 0)
	if raw, err = json.Marshal(root); err != nil {
		return nil, err
	}
	return raw, checkSchema(raw)
}

func fitNode(n map[string]any, depth int) {
	if depth > mostDepth {
		clear(n)
		return
	}
	if props, ok := n["properties"].(map[string]any); ok {
		for name, p := range props {
			props[name] = fitChild(p, depth)
		}
	} else {
		delete(n, "properties")
	}
	if items, there := n["items"]; there {
		if _, ok := items.(map[string]any); ok {
			n["items"] = fitChild(items, depth)
		} else {
			delete(n, "items") // a list of schemas, of an old draft, or true
		}
	}
	keep(n, "required", func(v any) bool { return texts(v) })
	keep(n, "type", func(v any) bool { _, ok := v.(string); return ok || texts(v) })
	keep(n, "enum", func(v any) bool { _, ok := v.([]any); return ok })
	for _, k := range []string{"minimum", "maximum"} {
		keep(n, k, func(v any) bool { _, ok := v.(float64); return ok })
	}
}

func fitChild(v any, depth int) any {
	m, ok := v.(map[string]any)
	if !ok {
		return map[string]any{} // true, false, or nonsense: the server checks
	}
	fitNode(m, depth+1)
	return m
}

func keep(n map[string]any, key string, fits func(any) bool) {
	if v, there := n[key]; there && !fits(v) {
		delete(n, key)
	}
}

func texts(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(e any) bool { _, text := e.(string); return !text })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// checkSchema asks the room that will hold the arguments to the schema.
func checkSchema(schema json.RawMessage) error {
	_, err := tool.NewSet(&remote{name: "t", offer: offer{schema: schema}})
	if err != nil {
		return fmt.Errorf("its schema is of no use: %w", err)
	}
	if err := tool.CheckArgs(schema, json.RawMessage(`{}`)); tool.IsFatal(err) {
		return fmt.Errorf("its schema is of no use: %w", err)
	}
	return nil
}
