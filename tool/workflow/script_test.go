package workflow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// proves TOL-24: a script makes calls one after another and its value is the
// result.
func TestAScriptCallsToolsInOrderAndReturnsAValue(t *testing.T) {
	r := newRig(echo("one"), echo("two"))
	r.args = map[string]any{"names": []string{"a", "b"}}
	e := r.run(t, workflow.Options{}, `
		const out = []
		for (const n of args.names) out.push((await tool("one", {say: n})).text)
		log("so far", out, 3)
		const last = await tool("two")
		return {out, last}`)
	want(t, e, "the script ran to its end", "steps:\n1 one: finished\n2 one: finished\n3 two: finished", `so far ["one a","one b"] 3`,
		`it returned:`+"\n"+`{"out":["one a","one b"],"last":{"n":3,"text":"two ","success":true,"outcome":"finished","exitCode":null,"timedOut":false}}`)
	if got := r.caller.seen(); !slices.Equal(got, []string{"1 one", "2 one", "3 two"}) {
		t.Errorf("%v", got)
	}
	if got := r.kinds(); !slices.Equal(got, []string{"process/started", "process/ended exited"}) {
		t.Errorf("recorded %v", got)
	}
	if !strings.Contains(r.live.Text(), "so far") {
		t.Errorf("live output %q", r.live.Text())
	}
}

// proves TOL-24: what is within its bound reaches the script, and a step, however
// it is written down on its way
func TestArgumentsWithinTheirBoundArriveWhateverIsInThem(t *testing.T) {
	r := newRig(echo("one"))
	r.args = strings.Repeat("<", 1<<20-2)
	e := r.run(t, workflow.Options{}, `const r = await tool("one", {say: args.slice(20)}); return [args.length, r.success]`)
	want(t, e, "the script ran to its end", "[1048574,true]")
}

// proves TOL-24, TOL-09: what a script asks for at the same time is handed on at
// the same time, so many at once; who shares his time with whom the caller says.
func TestStepsAreAskedForAtTheSameTimeUpToABound(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	meet := tooltest.Func{Is: tool.Spec{Name: "meet", Concurrent: true}, Do: func(context.Context, *tool.Call) (tool.Result, error) {
		both.Done()
		both.Wait() // each waits for the other
		return tool.Text("met"), nil
	}}
	r := newRig(meet, echo("one"))
	e := r.run(t, workflow.Options{Side: 2}, `
		const got = await parallel([() => tool("meet"), tool("meet"), () => tool("one", {say: "x"}), ...Array(20).fill(() => tool("one"))])
		return got.slice(0, 3).map(x => x.text)`)
	want(t, e, `["met","met","one x"]`)
	if r.caller.most != 2 {
		t.Errorf("%d at once", r.caller.most)
	}
}

// proves TOL-24, TOL-03: what keeps a step from running is data, or an
// exception if the script asks for one; a failing sibling cancels nobody.
func TestWhatKeepsAStepFromRunningIsDataOrAnException(t *testing.T) {
	bad := tooltest.Func{Is: tool.Spec{Name: "bad"}, Do: func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("it does not fit")
	}}
	r := newRig(bad, echo("one"))
	r.caller.deny = "rm"
	e := r.run(t, workflow.Options{Steps: 6}, `
		const say = r => [r.outcome, r.success, r.denied, r.text].join("|")
		log(say(await tool("rm", {})))
		log(say(await tool("none", {})))
		log(say(await tool("bad", {})))
		try { await tool("rm", {}, {throws: true}) } catch (e) { log("threw", e.message, e.result.outcome, e instanceof Error) }
		try { await parallel([() => tool("bad", {}, {throws: true}), () => tool("one", {say: "x"})]) } catch (e) { log("threw", e.message) }
		for (const f of [() => tool("workflow", {script: "1"}), () => tool("one"), () => tool(7), () => tool("one", [1])])
			try { await f(); log("no") } catch (e) { log("refused", e.message) }
		return "done"`)
	want(t, e, "denied|false|the rules forbid it|the rules forbid it", `invalid|false||there is no tool "none"`, "finished|false||it does not fit",
		"threw rm did not succeed (denied): the rules forbid it denied true", "threw bad did not succeed (finished): it does not fit",
		"refused a script cannot start a script", "refused the script's 6 steps are used up",
		"refused tool() wants the name of a tool", "refused tool() wants the arguments as an object", "one: finished", "- rm: denied")
	if strings.Contains(e.Result.Content.Text(), "\nno\n") {
		t.Error("a step beyond the budget ran")
	}
}

// proves TOL-02, TOL-03, TOL-05, TOL-24: a script that is none is a call that
// could not be made; one that fails is a result. Places are the script's own.
func TestErrorsOfAScriptAreRepliesInItsOwnTerms(t *testing.T) {
	for _, c := range []struct {
		script string
		err    string
		parts  []string
	}{
		{"let a = 1;\nlet b = ;", "nothing was run: SyntaxError: Unexpected token ; (and 2 more errors) (line 2, column 9); correct", nil},
		{"return 1 +", "(line 1, column", nil},
		{"import x from 'fs'", "SyntaxError", nil},
		{"})(); (function () {", "SyntaxError", nil},
		{"  ", "the script is empty", nil},
		{"log('before')\nfunction f() { throw new TypeError('boom') }\nf()", "", []string{"ended with an exception", "before\n", "exception: TypeError: boom\n\tat f (line 2, column 22)\n\tat line 3, column 2"}},
		{"await sleep(1)\nnull.x", "", []string{"exception: TypeError: Cannot read property 'x'", "line 2, column"}},
		{"throw {code: 7}", "", []string{`exception: {"code":7}`}},
		{"await new Promise(() => {})", "", []string{"it awaits a promise that nothing will settle"}},
		{"const o = {}; o.o = o; return o", "", []string{"cannot be written as JSON: TypeError"}},
		{"Promise.reject(new Error('lost')); return 1", "", []string{"nothing awaited it: Error: lost", "it returned:\n1"}},
		{"const r = n => r(n + 1); r(0)", "", []string{"deeper than 5000"}},
		{"await tool('one')", "", []string{"exception: Error: no tool can be called from here", "line 1, column 11", "no steps"}},
		{"return typeof require + typeof process + typeof fetch + typeof setTimeout", "", []string{"undefinedundefinedundefinedundefined"}},
		{"", "the script is empty", nil},
	} {
		r := newRig()
		r.bare = true
		e := r.run(t, workflow.Options{}, c.script)
		if c.err == "" {
			want(t, e, c.parts...)
		} else if e.Outcome != event.CallFinished || e.Result.Success || !strings.Contains(e.Err, c.err) {
			t.Errorf("%q: %s %v %q", c.script, e.Outcome, e.Result.Success, e.Err)
		}
		if text := e.Result.Content.Text(); strings.Contains(text+e.Err, "script.js") || strings.Contains(text, "goja") {
			t.Errorf("%q: %q speaks of the engine's inside", c.script, text)
		}
	}
}

// proves TOL-04: a step that ends the turn ends the script and is the call's
// own fatal end.
func TestAFatalStepIsFatalForTheCall(t *testing.T) {
	broken := tooltest.Func{Is: tool.Spec{Name: "broken"}, Do: func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{}, tool.Fatalf("the disk is gone")
	}}
	r := newRig(broken)
	e := r.run(t, workflow.Options{}, `try { await tool("broken") } catch (e) { log("caught") } for (;;);`)
	if e.Outcome != event.CallFatal || e.Err != "Fatal error: the disk is gone" || strings.Contains(e.Result.Content.Text(), "caught") {
		t.Errorf("%s %q %q", e.Outcome, e.Err, e.Result.Content.Text())
	}
}

// proves TOL-24, INT-07: its behaviour is the one that the spec names.
func TestItDeclaresWhatTheSpecSays(t *testing.T) {
	wf := workflow.New(workflow.Options{})
	if b := interrupt.BehaviourOf(wf); b != interrupt.Cooperative {
		t.Errorf("%v", b)
	}
	if tool.Parallel(wf) || wf.Spec().Effect != tool.Unsafe {
		t.Error("a script runs alone and is not to be repeated")
	}
}
