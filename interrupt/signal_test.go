package interrupt_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

// handed lists everything of this package that a tool or a model gets to hold.
func handed(t *testing.T, c *interrupt.Coordinator) map[string]any {
	tripped := interrupt.New(interrupt.Options{})
	ask(t, tripped)
	ctx, stop := c.Context(t.Context())
	t.Cleanup(stop)
	return map[string]any{
		"signal":       c.Signal(),
		"never":        interrupt.Never(),
		"registrar":    registrar(t, c),
		"context":      ctx,
		"checkpoint":   tripped.Signal().Checkpoint(),
		"done":         c.Signal().Done(),
		"registration": c.Signal().OnCancel(func() {}),
	}
}

// Neither a type assertion, nor a method, nor an exported field leads from
// what a tool holds to a coordinator.
//
// proves INT-10
func TestNothingThatAToolHoldsLeadsToATrip(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	forbidden := reflect.TypeFor[*interrupt.Coordinator]()
	trips := []reflect.Type{
		reflect.TypeFor[interface {
			Request(interrupt.Cause) (bool, error)
		}](),
		reflect.TypeFor[interface{ Request(interrupt.Reason) }](),
		reflect.TypeFor[interface{ Force() bool }](),
		reflect.TypeFor[interface{ Cancel() }](),
		reflect.TypeFor[interface{ Trip() }](),
	}
	for name, v := range handed(t, c) {
		typ := reflect.TypeOf(v)
		for _, trip := range trips {
			if typ.Implements(trip) {
				t.Errorf("%s: %v implements %v", name, typ, trip)
			}
		}
		seen := map[reflect.Type]bool{}
		if path := reaches(typ, forbidden, seen); path != "" {
			t.Errorf("%s leads to the coordinator: %s", name, path)
		}
	}
	if reaches(reflect.TypeFor[struct{ C *interrupt.Coordinator }](), forbidden, map[reflect.Type]bool{}) == "" {
		t.Error("the search does not see a field that holds a coordinator")
	}
	if reaches(reflect.TypeFor[func() *interrupt.Coordinator](), forbidden, map[reflect.Type]bool{}) == "" {
		t.Error("the search does not see a function that returns one")
	}
}

// reaches returns a path of exported fields, results and elements from typ to
// want, "" if there is none.
func reaches(typ, want reflect.Type, seen map[reflect.Type]bool) string {
	if typ == want {
		return typ.String()
	}
	if seen[typ] {
		return ""
	}
	seen[typ] = true
	var next []reflect.Type
	for m := range typ.Methods() {
		next = append(next, slices.Collect(m.Type.Outs())...)
	}
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan, reflect.Map:
		next = append(next, typ.Elem())
	case reflect.Func:
		next = append(next, slices.Collect(typ.Outs())...)
	case reflect.Struct:
		for f := range typ.Fields() {
			if f.IsExported() {
				next = append(next, f.Type)
			}
		}
	}
	for _, n := range next {
		if path := reaches(n, want, seen); path != "" {
			return typ.String() + " → " + path
		}
	}
	return ""
}

// Every method of what a tool holds is called: none trips the signal.
//
// proves INT-10
func TestNoMethodThatAToolCanCallTrips(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	called := 0
	for name, v := range handed(t, c) {
		val := reflect.ValueOf(v)
		for i := range val.NumMethod() {
			method := val.Method(i)
			var args []reflect.Value
			for in := range method.Type().Ins() {
				if in.Kind() == reflect.Func {
					args = append(args, reflect.MakeFunc(in, func([]reflect.Value) []reflect.Value { return nil }))
				} else {
					args = append(args, reflect.Zero(in))
				}
			}
			method.Call(args)
			called++
			if c.Signal().Cancelled() || c.IsClosed() || isClosed(c.Signal().Forced()) {
				t.Fatalf("%s.%s trips, forces or closes", name, val.Type().Method(i).Name)
			}
		}
	}
	if called < 20 {
		t.Errorf("only %d methods were called", called)
	}
}

// The functions of this package that take a signal or a coordinator are known
// by name; none of those with a signal trips it.
//
// proves INT-10, INT-34
func TestNoFunctionTakesASignalAndTripsIt(t *testing.T) {
	takes := map[string][]string{"Signal": {"ContextOf", "Wait"}, "Coordinator": {"Tripped"}}
	got := map[string][]string{}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() {
				continue
			}
			for _, p := range fn.Type.Params.List {
				typ := p.Type
				if star, ok := typ.(*ast.StarExpr); ok {
					typ = star.X
				}
				if id, ok := typ.(*ast.Ident); ok && takes[id.Name] != nil {
					got[id.Name] = append(got[id.Name], fn.Name.Name)
				}
			}
		}
	}
	for typ, want := range takes {
		slices.Sort(got[typ])
		if !slices.Equal(got[typ], want) {
			t.Errorf("exported functions that take a %s: %v, want %v: judge the new one and add it here", typ, got[typ], want)
		}
	}
	c := interrupt.New(interrupt.Options{})
	ctx, stop := interrupt.ContextOf(t.Context(), c.Signal())
	stop()
	<-ctx.Done()
	full := make(chan int, 1)
	full <- 1
	if _, _, err := interrupt.Wait(c.Signal(), full); err != nil {
		t.Error(err)
	}
	if c.Signal().Cancelled() {
		t.Error("a function that takes a signal tripped it")
	}
}

// proves INT-09, INT-11
func TestASignalSaysTheSameInEveryWay(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	sig := c.Signal()
	if sig != c.Signal() {
		t.Error("an execution has more than one signal")
	}
	if _, ok := sig.Reason(); ok || sig.Cancelled() || sig.Checkpoint() != nil || isClosed(sig.Done()) {
		t.Error("an untripped signal says otherwise")
	}
	at := time.Now()
	if _, err := c.Request(interrupt.Cause{Reason: interrupt.BudgetExceeded, Who: "timeout", At: at}); err != nil {
		t.Fatal(err)
	}
	var asked *interrupt.InterruptedError
	if err := sig.Checkpoint(); !errors.As(err, &asked) {
		t.Fatalf("Checkpoint = %v", err)
	}
	if asked.Cause != (interrupt.Cause{Reason: interrupt.BudgetExceeded, Who: "timeout", At: at}) {
		t.Errorf("the cause arrives as %+v", asked.Cause)
	}
	if reason, ok := sig.Reason(); !ok || reason != interrupt.BudgetExceeded || !sig.Cancelled() || !isClosed(sig.Done()) {
		t.Error("a tripped signal says otherwise")
	}
	if isClosed(sig.Forced()) {
		t.Error("forced by a request alone")
	}
	c.Close()
	if !sig.Cancelled() || sig.Checkpoint() == nil {
		t.Error("Close cleared the signal")
	}
}

// proves INT-18
func TestTheSignalOfWorkWithoutATurnNeverTrips(t *testing.T) {
	sig := interrupt.Never()
	if reason, ok := sig.Reason(); ok || reason != "" || sig.Cancelled() || sig.Checkpoint() != nil {
		t.Error("it says that it tripped")
	}
	if sig.Done() != nil || sig.Forced() != nil {
		t.Error("a channel that is never closed must be nil: a select ignores it")
	}
	if !sig.OnCancel(func() { t.Error("ran") })() {
		t.Error("stop did not keep the listener from running")
	}
	ctx, stop := interrupt.ContextOf(t.Context(), sig)
	if ctx.Err() != nil {
		t.Error("its context is cut")
	}
	stop()
}
