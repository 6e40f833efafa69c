package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// proves INT-18: a missing key is a signal that never trips, never nil, and so
// is a nil however it is wrapped.
func TestACallWithoutCompanyHasWorkingCompany(t *testing.T) {
	const key tool.Key[interrupt.Signal] = "tool.signal"
	for name, c := range map[string]*tool.Call{
		"nil call": nil, "bare call": {},
		"nil value":         tool.WithValue(&tool.Call{}, key, nil),
		"typed nil pointer": tool.WithValue[interrupt.Signal](&tool.Call{}, key, (*nilSignal)(nil)),
	} {
		if s := tool.SignalOf(c); s == nil || s.Cancelled() || s.Done() != nil || s.Checkpoint() != nil {
			t.Errorf("%s: signal %v", name, s)
		}
		if _, ok := tool.RegistrarOf(c); ok {
			t.Errorf("%s has a registrar", name)
		}
		tool.LiveOf(c).Output("x")
		if err := tool.RecorderOf(c).Record(t.Context(), event.CallOutput{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := tool.JobsOf(c).Adopt(t.Context(), tool.Job{}); !errors.Is(err, tool.ErrNoJobs) {
			t.Errorf("%s: a job was taken over by nobody: %v", name, err)
		}
		ran := false
		if err := tool.FenceOf(c).Pass(func() error { ran = true; return nil }); err != nil || !ran || tool.FenceOf(c).Check() != nil {
			t.Errorf("%s: fence %v", name, err)
		}
	}
}

type nilSignal struct{ interrupt.Signal }

// proves INT-18: keys are typed and a call is not changed by what is added.
func TestKeysAreTypedAndACallIsNeverChanged(t *testing.T) {
	const a tool.Key[string] = "test.k"
	const b tool.Key[int] = "test.k"
	one := tool.WithValue(&tool.Call{ID: "c"}, a, "x")
	two := tool.WithValue(one, b, 7)
	if _, ok := tool.ValueOf(one, b); ok {
		t.Error("adding to a copy changed the call")
	}
	s, _ := tool.ValueOf(two, a)
	n, _ := tool.ValueOf(two, b)
	if s != "x" || n != 7 || two.ID != "c" {
		t.Errorf("%q %d %q", s, n, two.ID)
	}
}

// proves INT-10 for what a tool is handed: nothing in a call leads to a trip.
func TestNothingThatACallCarriesCanTrip(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	r := does(c, &tooltest.Book{}, interrupt.ExternallyTerminated, func(_ context.Context, call *tool.Call) (tool.Result, error) {
		reg, _ := tool.RegistrarOf(call)
		for _, v := range []any{tool.SignalOf(call), reg, tool.FenceOf(call), tool.RecorderOf(call), tool.JobsOf(call), tool.LiveOf(call)} {
			typ := reflect.TypeOf(v)
			for i := range typ.NumMethod() {
				if name := typ.Method(i).Name; name == "Request" || name == "Force" || name == "Signal" {
					t.Errorf("%v has %s", typ, name)
				}
			}
		}
		return tool.Text("ok"), nil
	})
	r.Registrar, _ = c.Registrar()
	r.Recorder, r.Jobs, r.Live = &tooltest.Recorder{}, &tooltest.Jobs{}, &tooltest.Live{}
	r.Do(t.Context())
}

// proves INT-01: every in-tree decorator forwards what the tool inside declares.
func TestADecoratorForwardsWhatTheToolInsideDeclares(t *testing.T) {
	tooltest.Forwards(t, func(inner tool.Tool) tool.Tool {
		return tool.Decorate(inner, func(ctx context.Context, c *tool.Call, next tool.Tool) (tool.Result, error) {
			return next.Execute(ctx, c)
		})
	})
	if got := interrupt.BehaviourOf(tool.Decorate(plain{}, nil)); got != interrupt.NonInterruptible {
		t.Errorf("a tool that declares nothing is decorated into %v", got)
	}
}

// proves INT-08: only pooled behaviours run beside others, whatever the trait says.
func TestParallelNeedsTheTraitAndThePooledBehaviour(t *testing.T) {
	for b, want := range map[interrupt.Behaviour]bool{interrupt.NonInterruptible: true, interrupt.Cooperative: true,
		interrupt.ContextInterruptible: false, interrupt.ExternallyTerminated: false} {
		if got := tool.Parallel(tooltest.Func{Declared: b, Is: tool.Spec{Name: "x", Concurrent: true}}); got != want {
			t.Errorf("%v: %v", b, got)
		}
		if tool.Parallel(tooltest.Func{Declared: b}) {
			t.Errorf("%v without the trait runs beside others", b)
		}
	}
}

// proves TOL-01
func TestASetRefusesNamesAndSchemasThatNoProviderTakes(t *testing.T) {
	named := func(name, schema string) tool.Tool {
		return tooltest.Func{Is: tool.Spec{Name: name, Schema: json.RawMessage(schema)}}
	}
	for _, c := range []struct {
		tools []tool.Tool
		want  string
	}{
		{[]tool.Tool{named("a b", `{}`)}, "not usable"},
		{[]tool.Tool{named(strings.Repeat("a", 65), `{}`)}, "not usable"},
		{[]tool.Tool{named("a", `{}`), named("a", `{}`)}, "rename one"},
		{[]tool.Tool{named("a", `{`)}, "not a JSON Schema"},
		{[]tool.Tool{named("a", `{"type":"array"}`)}, "not an object"},
		{[]tool.Tool{nil}, "is nil"},
	} {
		if _, err := tool.NewSet(c.tools...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	s, err := tool.NewSet(named("z", `{"type":"object"}`), named("a", `{"type":["object","null"]}`), plain{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Names(); !slices.Equal(got, []string{"z", "a", "plain"}) {
		t.Errorf("order %v", got)
	}
	if sc := s.Schemas(); len(sc) != 3 || sc[0].Name != "z" || string(sc[2].Schema) != `{"type":"object"}` {
		t.Errorf("schemas %+v", sc)
	}
	if tl, ok := s.Lookup("a"); !ok || tl.Spec().Name != "a" {
		t.Error("lookup")
	}
	if _, ok := s.Lookup("b"); ok {
		t.Error("lookup finds what is not there")
	}
	if spec, ok := s.Spec("z"); !ok || spec.Name != "z" {
		t.Error("spec")
	}
}

// proves TOL-03: the sentence says what to correct.
func TestArgumentsAreCheckedAgainstTheSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{
		"path":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":9},"mode":{"enum":["a","b"]},
		"list":{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":["string","null"]}}}}}}`)
	for args, want := range map[string]string{
		`{"path":"x","limit":3,"mode":"a","list":[{"k":null},{"k":"v"}]}`: "",
		`{"path":"x","limit":3.0}`:                                        "",
		`{}`:                                                              `the required field "path" is missing`,
		`{"path":5}`:                                                      `the field "path" must be string, not number`,
		`{"path":null}`:                                                   `must be string, not null`,
		`{"path":"x","limit":2.5}`:                                        `must be integer`,
		`{"path":"x","limit":10}`:                                         `from 1 to 9`,
		`{"path":"x","mode":"c"}`:                                         `must be one of ["a","b"]`,
		`{"path":"x","pth":1}`:                                            `there is no field "pth"; the fields are limit, list, mode, path`,
		`{"path":"x","list":[{"k":"v"},{}]}`:                              `the required field "k" of "list[1]" is missing`,
		`{"path":"x","list":[{"k":true}]}`:                                `"list[0].k" must be string or null, not boolean`,
		`null`:                                                            `are null`,
		``:                                                                `not valid JSON`,
	} {
		err := tool.CheckArgs(schema, json.RawMessage(args))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || tool.IsFatal(err)) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// proves TOL-21, PRC-06: over the bound head and tail stay, what is between is
// counted and the whole is kept; all of it is UTF-8.
func TestAResultIsBoundedAndTheWholeIsKept(t *testing.T) {
	whole := "HEAD" + strings.Repeat("é\xff", 40_000) + "TAIL"
	run := func(blobs tool.Blobs, res tool.Result) tool.Ended {
		r := does(nil, &tooltest.Book{}, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return res, nil })
		r.Blobs, r.Inline = blobs, 1000
		e, _ := r.Do(t.Context())
		return e
	}
	blobs := &tooltest.Blobs{}
	img := event.Image{MediaType: "image/png", Data: []byte{1}}
	e := run(blobs, tool.Result{Success: true, Content: event.Content{event.Text{Text: whole}, img, event.Text{Text: "END"}}, Diff: whole})
	text := e.Result.Content.Text()
	if len(text) > 1000 || !strings.HasPrefix(text, "HEADé") || !strings.HasSuffix(text, "TAILEND") || !strings.Contains(text, "bytes are left out here") || !utf8.ValidString(text) {
		t.Errorf("%d bytes: %.40q … %.40q", len(text), text, text[max(0, len(text)-40):])
	}
	if len(e.Result.Diff) > 1000 || !utf8.ValidString(e.Result.Diff) || len(e.Result.Content) != 2 || !reflect.DeepEqual(e.Result.Content[1], event.Part(img)) {
		t.Errorf("diff or image: %v", e.Result.Content)
	}
	out := e.Result.Output
	if out == nil || !out.Truncated || out.Blob == nil || out.Dropped != 0 {
		t.Fatalf("output %+v", out)
	}
	kept, _ := blobs.Get(*out.Blob)
	if want := strings.ToValidUTF8(whole, "\uFFFD") + "END"; string(kept) != want || out.Bytes != int64(len(want)) {
		t.Errorf("kept %d bytes of %d", len(kept), len(want))
	}
	// A tool that printed 5 MB and gives head and tail of 1 MiB, under a line of its own.
	const head, mark = "exit code 0\noutput:\n", "\n[… 3951424 bytes omitted …]\n"
	given := strings.Repeat("0123456789abcdef", 32<<10)
	e = run(blobs, tool.Result{Success: true, Content: event.TextOf(head + given + mark + given), Lacks: 5_000_000 - int64(2*len(given)+len(mark)),
		Output: &event.Output{Bytes: 5_000_000, Truncated: true}})
	text, said := e.Result.Content.Text(), fmt.Sprintf("\n[… %d bytes are left out here, of 5000000 in all …]\n", 0)
	var left int
	if at := strings.Index(text, "\n[…"); at >= 0 {
		_, _ = fmt.Sscanf(text[at:], "\n[… %d bytes", &left)
		said = fmt.Sprintf("\n[… %d bytes are left out here, of 5000000 in all …]\n", left)
	}
	if !strings.Contains(text, said) || len(text)-len(head)-len(said)+left != 5_000_000 {
		t.Errorf("of 5000000 bytes %d are shown and %d are said to be left out: %q", len(text)-len(head)-len(said), left, text)
	}
	if kept, _ = blobs.Get(*e.Result.Output.Blob); !strings.Contains(string(kept), mark) || e.Result.Output.Bytes != 5_000_000 {
		t.Errorf("%d bytes are kept, without the line that says what is missing", len(kept))
	}
	for _, none := range []tool.Blobs{nil, (*tooltest.Blobs)(nil), &tooltest.Blobs{Err: errors.New("disk is full")}} {
		e = run(none, tool.Result{Success: true, Content: event.TextOf(whole), Output: &event.Output{Bytes: 1 << 30, Dropped: 5}})
		if o := e.Result.Output; o.Blob != nil || o.Dropped <= 5 || o.Bytes != 1<<30 || !strings.Contains(e.Result.Content.Text(), "kept nowhere") {
			t.Errorf("what is dropped is not said: %+v", o)
		}
	}
	if e = run(nil, tool.Text("a\xffb")); e.Result.Content.Text() != "a\uFFFDb" || e.Result.Output != nil {
		t.Errorf("%q %+v", e.Result.Content.Text(), e.Result.Output)
	}
	many := make(event.Content, event.MaxParts+5)
	for i := range many {
		many[i] = event.Text{}
	}
	c := run(nil, tool.Result{Success: true, Content: many}).Result.Content
	if line, err := json.Marshal(c); err != nil || json.Unmarshal(line, &event.Content{}) != nil || !strings.HasSuffix(c.Text(), "[32773 more parts are left out]") {
		t.Errorf("a result of %d parts: %v, %q", len(c), err, c.Text())
	}
}

// proves TOL-21: the bound holds for every cut point of multi-byte text.
func TestBoundedNeverSplitsARune(t *testing.T) {
	for n := 250; n < 400; n++ {
		s := strings.Repeat("日", n)
		got, left := tool.Bounded(s, 300)
		if len(got) > 300 || !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") || left == 0 {
			t.Fatalf("%d: %d bytes, %d left out", n, len(got), left)
		}
	}
	if got, left := tool.Bounded("short", 0); got != "short" || left != 0 {
		t.Error("a short text is changed")
	}
}
