package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// Name is the tool's name.
const Name = "workflow"

// Options set the tool up. All but Host have useful zero values.
type Options struct {
	Host proc.Host // starts the engine; it must be able to re-execute this binary, see [Role]
	Side int       // steps that are asked for at the same time; 0 means 8

	Steps   int           // that a script may take; 0 means 200
	Timeout time.Duration // of its own, while no step runs, where the call names none; 0 means 120 s
	Longest time.Duration // that a call may name; 0 means 600 s
	Memory  int64         // bytes that the engine may use; 0 means 256 MiB
	Output  int64         // bytes kept of what it prints and returns, head and tail; 0 means 1 MiB

	Grace time.Duration // for the engine to end once it was interrupted; 0 means 500 ms, negative none
	Reap  time.Duration // between KILL and giving up; 0 means 5 s
}

// New makes the tool.
func New(o Options) tool.Tool {
	for p, d := range map[*time.Duration]time.Duration{&o.Timeout: 120 * time.Second, &o.Longest: 600 * time.Second,
		&o.Grace: 500 * time.Millisecond, &o.Reap: 5 * time.Second} {
		if *p == 0 {
			*p = d
		}
	}
	o.Grace = max(o.Grace, 0)
	if o.Side <= 0 {
		o.Side = 8
	}
	if o.Steps <= 0 {
		o.Steps = 200
	}
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Output <= 0 {
		o.Output = 1 << 20
	}
	return &workflow{o}
}

type workflow struct{ o Options }

const mostScript = 256 << 10

// forced is what the engine's KILL and the last rung of a step's own ladder may
// take once every grace is gone.
const forced = 3 * time.Second

// Spec implements [tool.Tool]. A script by itself changes nothing, but running
// it twice is making its calls twice.
func (w *workflow) Spec() tool.Spec {
	return tool.Spec{Name: Name, Effect: tool.Unsafe, Forced: forced,
		Description: fmt.Sprintf("Run a JavaScript script that calls your other tools, and get what it returns: one call for many steps, loops and conditions. "+
			"It is the body of an async function: use await and return at the top level. In it: "+
			"await tool(name, args) makes a call and gives {text, success, exitCode, outcome, timedOut, denied}; with {throws: true} as third argument it throws unless success. "+
			"await parallel([() => tool(…), …]) waits for several; those that may run side by side do. "+
			"log(…) adds a line to the result, await sleep(ms) waits, args is the input. There are no files, no network, no modules, no require. "+
			"Limits: %d steps, %d seconds of its own time unless timeout_seconds says otherwise, %d MiB of memory.",
			w.o.Steps, int(w.o.Timeout.Seconds()), w.o.Memory>>20),
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["script"],"properties":{`+
			`"script":{"type":"string","description":"the body of an async function"},`+
			`"args":{"description":"what the script finds in args, any JSON"},`+
			`"timeout_seconds":{"type":"number","minimum":0.1,"maximum":%d,"description":"limit of the time in which no call of the script runs"},`+
			`"description":{"type":"string","description":"what it is for, in a few words"}}}`, int(w.o.Longest.Seconds())))}
}

// InterruptBehaviour implements [interrupt.Behaviourer]: the signal is read
// between steps and while one runs.
func (w *workflow) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

type arguments struct {
	Script  string          `json:"script"`
	Args    json.RawMessage `json:"args"`
	Timeout float64         `json:"timeout_seconds"`
	What    string          `json:"description"`
}

// Execute implements [tool.Tool].
func (w *workflow) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a arguments
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, tool.Replyf("the arguments can't be read; send the call again with a JSON object that fits the schema: %w", err)
	}
	limit := w.o.Timeout
	if a.Timeout != 0 {
		limit = time.Duration(a.Timeout * float64(time.Second))
	}
	switch {
	case strings.TrimSpace(a.Script) == "":
		return tool.Result{}, tool.Replyf("the script is empty; give one")
	case len(a.Script) > mostScript:
		return tool.Result{}, tool.Replyf("the script is %d bytes long, at most %d are run; shorten it or pass data in args", len(a.Script), mostScript)
	case len(a.Args) > mostFrame/4:
		return tool.Result{}, tool.Replyf("args are %d bytes long, at most %d are passed; let the script read them with a tool", len(a.Args), mostFrame/4)
	case limit <= 0 || limit > w.o.Longest:
		return tool.Result{}, tool.Replyf("timeout_seconds must be more than 0 and at most %d", int(w.o.Longest.Seconds()))
	case w.o.Host == nil:
		return tool.Result{}, tool.Replyf("no process can be started here, so no script can; use the tools one by one")
	}
	if err := tool.SignalOf(call).Checkpoint(); err != nil {
		return tool.Result{}, err
	}
	r := newRun(w.o, call, limit)
	if err := r.begin(ctx, a); err != nil {
		if interrupted := tool.SignalOf(call).Checkpoint(); interrupted != nil && !tool.IsFatal(err) {
			return tool.Result{Survivors: r.survivors}, interrupted
		}
		if errors.Is(err, proc.ErrUncertain) {
			return tool.Result{}, tool.Replyf("%w. Check what it may have done before repeating it", err)
		}
		return tool.Result{Survivors: r.survivors}, err
	}
	defer r.release()
	r.follow(ctx)
	return r.result()
}
