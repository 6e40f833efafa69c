package gate

import (
	"context"
	"encoding/json"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

// Point names a moment of a session at which hooks run (HOK-01). The set is
// closed; [Points] lists it.
type Point string

const (
	SessionStart  Point = "session_start"
	SessionEnd    Point = "session_end"
	TurnStart     Point = "turn_start"         // gate
	PreTool       Point = "pre_tool"           // gate
	Permission    Point = "permission_request" // gate
	PreCompact    Point = "pre_compact"        // gate
	PostTool      Point = "post_tool"
	Interrupted   Point = "interrupt"
	TurnStop      Point = "turn_stop"
	SubAgentStart Point = "subagent_start"
	SubAgentStop  Point = "subagent_stop"
)

// Points lists every point, in the order of a session's life.
func Points() []Point {
	return []Point{SessionStart, TurnStart, PreTool, Permission, PostTool, SubAgentStart, SubAgentStop, PreCompact, Interrupted, TurnStop, SessionEnd}
}

// Gates reports whether a hook at p decides: whatever keeps it from a verdict
// is a block (HOK-02). All other points are reports, which no interrupt cuts
// (HOK-03).
func (p Point) Gates() bool {
	switch p {
	case TurnStart, PreTool, Permission, PreCompact:
		return true
	case SessionStart, SessionEnd, PostTool, Interrupted, TurnStop, SubAgentStart, SubAgentStop:
	}
	return false
}

// Moment is what a hook is told, as facts. Fields that say nothing at a point
// are zero there.
type Moment struct {
	Point   Point
	Session event.SessionID
	Dir     string // workspace
	Turn    int
	Step    int
	Call    event.CallID
	Tool    string
	Args    json.RawMessage
	Ended   *event.CallEnded // post_tool
	Prompt  string           // turn_start: what the person said; permission_request: the question
	Outcome event.TurnOutcome
	Reason  string // interrupt, turn_stop: why; session_start: "new", "opened", "recovered"
	Child   event.SessionID
	Options event.SubmitOptions // of the turn; see [tool.OptionsOf]
}

// Hooks run whatever is set up at a point. Implementations are safe for
// concurrent use.
type Hooks interface {
	// Any reports whether something is set up at p for that tool ("" at points
	// without one); where nothing is, neither record nor goroutine is made.
	Any(p Point, tool string) bool
	// Judge runs the hooks of a gate point in their order and returns the
	// strongest verdict: block before ask before allow. It never returns a
	// verdict that is none: what keeps a hook from its verdict blocks. When
	// ctx ends, what has not answered blocks at once; what had is kept. The
	// Ran list names every hook that was begun, for the journal.
	Judge(ctx context.Context, m Moment) (Verdict, []Ran)
	// Report runs the hooks of a report point. ctx is never cut by an
	// interrupt; each hook's own time limit bounds it.
	Report(ctx context.Context, m Moment) []Ran
}

// Recorder puts what hooks start and end, as processes, into the journal of the
// session that they run for. An error means that what was started must not run.
type Recorder func(ctx context.Context, p event.Payload) error

type recorderKey struct{}

// WithRecorder gives what runs under ctx a recorder; a session does.
func WithRecorder(ctx context.Context, r Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// RecorderOf returns ctx's recorder, one that keeps nothing if there is none.
func RecorderOf(ctx context.Context) Recorder {
	if r, ok := ctx.Value(recorderKey{}).(Recorder); ok {
		return r
	}
	return func(context.Context, event.Payload) error { return nil }
}

// Ran is what became of one hook.
type Ran struct {
	Hook    string // its name in the settings
	Verdict string // "allow", "ask", "block", "report", "no-answer"
	Why     string
}

// WithHooks puts pre-tool hooks in front of g and permission hooks behind it:
// a pre-tool block is final for the call whatever g says; a pre-tool allow is
// no approval; where g asks, permission hooks may allow or block in a person's
// stead, and what they do not decide is still asked. note hears of every hook
// that ran, before the verdict is returned.
//
// A g that knows what becomes of a question (it has the method Settle of
// [Rules]) is asked that about a hook's ask too, so that nobody is waited for
// who is not there; and where it blocks only because nobody is there, permission
// hooks are asked first.
func WithHooks(g Gate, h Hooks, note func(ctx context.Context, m Moment, ran []Ran)) Gate {
	return hooked{g, h, note}
}

type hooked struct {
	gate  Gate
	hooks Hooks
	note  func(context.Context, Moment, []Ran)
}

// Judge implements [Gate].
func (g hooked) Judge(ctx context.Context, call *tool.Call, spec tool.Spec) (Verdict, error) {
	m := Moment{Point: PreTool, Session: call.Session, Dir: call.Dir, Turn: call.Turn, Step: call.Step,
		Call: call.ID, Tool: call.Name, Args: call.Args, Options: tool.OptionsOf(call)}
	first := g.run(ctx, m)
	if first.Decision == Block {
		return first, nil
	}
	v, err := g.gate.Judge(ctx, call, spec)
	if err != nil || v.Decision == Block && v.By != headless {
		return v, err
	}
	if first.Decision == Ask && v.Decision == Allow {
		v = settled(g.gate, first, call, spec)
	}
	if v.Decision == Allow {
		return v, nil
	}
	m.Point, m.Prompt = Permission, v.Prompt
	switch p := g.run(ctx, m); p.Decision {
	case Block:
		return p, nil
	case Allow:
		if p.By != "" {
			return p, nil
		}
	case Ask:
	}
	return v, nil
}

// settler is a gate that knows what becomes of a question.
type settler interface{ Settle(prompt string) Verdict }

// Settle hands the question on to the gate behind plan mode.
func (g planned) Settle(prompt string) Verdict { return closed{g.gate}.Settle(prompt) }

// settled is what becomes of a hook's ask about a call that g lets pass.
func settled(g Gate, asked Verdict, call *tool.Call, spec tool.Spec) Verdict {
	prompt, _ := spec.Asking(call)
	if prompt == "" {
		prompt = "run " + call.Name
	}
	if asked.Why != "" {
		prompt += " (" + asked.By + ": " + asked.Why + ")"
	}
	asked.Prompt = prompt
	if s, ok := g.(settler); ok {
		if v := s.Settle(prompt); v.Decision != Ask {
			return v
		}
	}
	return asked
}

// run returns the verdict of the hooks at m's point; one without a By when
// there are none.
func (g hooked) run(ctx context.Context, m Moment) Verdict {
	if !g.hooks.Any(m.Point, m.Tool) {
		return Verdict{Decision: Allow}
	}
	v, ran := g.hooks.Judge(ctx, m)
	if g.note != nil {
		g.note(ctx, m, ran)
	}
	return v
}
