package event_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
)

// proves LOG-03, MOD-02
func TestContentComesBackWithEveryPart(t *testing.T) {
	c := event.Content{
		event.Text{Text: "a <b> & c"},
		event.Reasoning{Text: "hm", Signature: "c2ln", Data: "opaque==", Provider: "p"},
		event.Image{MediaType: "image/png", Data: []byte{0, 1, 255}, Name: "x.png"},
		event.Image{MediaType: "image/png", Blob: &event.BlobRef{Digest: "sha256:00", Size: 1 << 60}},
		event.File{MediaType: "text/plain", Name: "x.txt", Data: []byte("hi")},
		event.ToolCall{ID: "c1", Name: "bash", Args: json.RawMessage(`{"n":9007199254740993,"s":"<"}`)},
		event.Text{},
	}
	b, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), `[{"kind":"text","text":"a <b> & c"},{"kind":"reasoning",`) {
		t.Errorf("written as %s", b)
	}
	var back event.Content
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, c) {
		t.Errorf("came back as %#v", back)
	}
	if back.Text() != "a <b> & c" || len(back.Calls()) != 1 || back.Calls()[0].Name != "bash" {
		t.Errorf("text %q, calls %v", back.Text(), back.Calls())
	}
	if (event.UserInput{Content: event.TextOf("x")}).Media() || !(event.UserInput{Content: c}).Media() || event.TextOf("") != nil {
		t.Error("media or blank text are not told apart")
	}
}

// proves LOG-05
func TestContentOfANewerWriterStaysReadable(t *testing.T) {
	var c event.Content
	if err := json.Unmarshal([]byte(`[{"kind":"text","text":"before "},{"kind":"hologram","x":1}]`), &c); err != nil {
		t.Fatal(err)
	}
	if got := c.Text(); !strings.HasPrefix(got, "before ") || !strings.Contains(got, "hologram") {
		t.Errorf("text %q", got)
	}
	for _, bad := range []string{`{}`, `[1]`, `[{"kind":"text","text":1}]`} {
		if err := json.Unmarshal([]byte(bad), &c); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// Every type with a Type method is a row of the table, every constant of a
// type has its payload: a new fact cannot be half there.
//
// proves LOG-03, LOG-04
func TestTheSetOfFactsIsClosed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var payloads, constants []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "Type" {
					payloads = append(payloads, d.Recv.List[0].Type.(*ast.Ident).Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.CONST && strings.HasPrefix(v.Names[0].Name, "Type") {
						constants = append(constants, strings.TrimPrefix(v.Names[0].Name, "Type"))
					}
				}
			}
		}
	}
	var rows []string
	for _, k := range event.Types() {
		r := event.Record{Type: k.Type, Data: json.RawMessage(`{}`)}
		body, err := r.Body()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, reflect.TypeOf(body).Name())
	}
	payloads = slices.DeleteFunc(payloads, func(s string) bool { return s == "Unknown" })
	for _, list := range []*[]string{&payloads, &constants, &rows} {
		slices.Sort(*list)
	}
	if !slices.Equal(payloads, rows) || !slices.Equal(constants, rows) {
		t.Errorf("the table, the payloads and the constants differ:\n%v\n%v\n%v", rows, payloads, constants)
	}
}

// proves TRN-05, IFC-02
func TestTheRetryPointIsKeptByTheseOutcomesAlone(t *testing.T) {
	for outcome, kept := range map[event.TurnOutcome]bool{
		event.TurnAborted: true, event.TurnInterrupted: true, event.TurnFailed: true, event.TurnBudget: true, event.TurnStalled: true,
		event.TurnCompleted: false, event.TurnBlocked: false, event.TurnTruncated: false, event.TurnLooped: false, "": false,
	} {
		if outcome.KeepsRetryPoint() != kept {
			t.Errorf("%q keeps the retry point: %v", outcome, !kept)
		}
	}
}

// proves LOG-08, TOL-07: a part costs memory that its two bytes from outside do
// not show; a bounded number of them is read
func TestPartsAreBoundedBeforeTheyAreRead(t *testing.T) {
	list := func(n int) []byte {
		return []byte("[" + strings.TrimSuffix(strings.Repeat("{},", n), ",") + "]")
	}
	var c event.Content
	if err := json.Unmarshal(list(event.MaxParts), &c); err != nil || len(c) != event.MaxParts {
		t.Errorf("%d parts, %v", len(c), err)
	}
	commas, err := json.Marshal(event.TextOf(strings.Repeat(",", event.MaxParts+1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(commas, &c); err != nil || len(c) != 1 {
		t.Errorf("one part with many commas: %d parts, %v", len(c), err)
	}
	c = nil
	if err := json.Unmarshal(list(event.MaxParts+1), &c); err == nil || !strings.Contains(err.Error(), "65536 parts") || c != nil {
		t.Errorf("%d parts, %v", len(c), err)
	}
}
