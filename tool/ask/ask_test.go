package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/ask"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people answers as a test wants.
type people func(ctx context.Context, q tool.Question) (tool.Answer, error)

func (p people) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) { return p(ctx, q) }

func says(a tool.Answer, err error) people {
	return func(context.Context, tool.Question) (tool.Answer, error) { return a, err }
}

type mode struct {
	on   bool
	left int
}

func (m *mode) On(event.SessionID, int) bool { return m.on }
func (m *mode) Leave(event.SessionID)        { m.on = false; m.left++ }

// do runs one call; nil people are none.
func do(t *testing.T, c *interrupt.Coordinator, tl tool.Tool, p tool.People, args any) tool.Ended {
	t.Helper()
	raw, _ := json.Marshal(args)
	call := &tool.Call{ID: "c_1", Name: tl.Spec().Name, Args: raw, Session: "s", Turn: 1}
	if p != nil {
		call = tool.WithPeople(call, p)
	}
	e, left := (&tool.Run{Tool: tl, Call: call, Signal: c.Signal(), Book: &tooltest.Book{}}).Do(t.Context())
	if left != nil {
		t.Fatal("quarantined")
	}
	return e
}

type m = map[string]any

// proves TOL-27, TOL-03: an answer, a refusal and an empty chair are three
// replies.
func TestAnAnswerARefusalAndNobodyAreToldApart(t *testing.T) {
	for _, c := range []struct {
		who  tool.People
		ok   bool
		text string
	}{
		{says(tool.Answer{Text: "blue", By: "ada"}, nil), true, "the person answered: blue"},
		{says(tool.Answer{Refused: true}, nil), true, "the person would not answer; do not ask the same again"},
		{says(tool.Answer{Refused: true, Text: "ask Bo"}, nil), true, "the person would not answer and said: ask Bo"},
		{says(tool.Answer{}, tool.ErrNobody), false, "nobody is there to answer; choose yourself"},
		{nil, false, "nobody is there to answer"},
		{says(tool.Answer{}, errors.New("the disk is full")), false, "the disk is full"},
	} {
		e := do(t, interrupt.New(interrupt.Options{}), ask.User(), c.who, m{"question": "which?", "options": []string{"blue", "red"}})
		if text := e.Result.Content.Text() + e.Err; e.Outcome != event.CallFinished || e.Result.Success != c.ok || !strings.Contains(text, c.text) {
			t.Errorf("%s %v %q, want %q", e.Outcome, e.Result.Success, text, c.text)
		}
	}
	for _, args := range []m{{"question": " "}, {"question": strings.Repeat("x", 1<<20)}, {"question": "q", "options": make([]string, 99)}, {}} {
		e := do(t, interrupt.New(interrupt.Options{}), ask.User(), says(tool.Answer{Text: "no"}, nil), args)
		if e.Err == "" || strings.Contains(e.Result.Content.Text(), "answered") {
			t.Errorf("%v was asked", args["options"])
		}
	}
}

// proves TOL-27, HOK-04, TOL-07: a question that an interrupt withdraws is a
// stopped call, and its text is no refusal.
func TestAnInterruptVoidsTheQuestionAndIsNoRefusal(t *testing.T) {
	for name, tl := range map[string]tool.Tool{"ask_user": ask.User(), "exit_plan": ask.ExitPlan(&mode{on: true})} {
		for _, gives := range []error{tool.ErrVoided, context.Canceled} {
			c := interrupt.New(interrupt.Options{})
			waits := people(func(context.Context, tool.Question) (tool.Answer, error) {
				if _, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Unix(1, 0)}); err != nil {
					t.Error(err)
				}
				return tool.Answer{}, gives
			})
			e := do(t, c, tl, waits, m{map[string]string{"ask_user": "question", "exit_plan": "plan"}[name]: "x"})
			text := e.Result.Content.Text() + e.Err
			if e.Outcome != event.CallStopped || !strings.Contains(text, "withdrawn before an answer came") || strings.Contains(text, "not approve") || strings.Contains(text, "would not") {
				t.Errorf("%s, %v: %s %q", name, gives, e.Outcome, text)
			}
		}
	}
}

// proves TOL-27, law 6: an answer that had come stays though the turn was
// stopped as it came.
func TestAnAnswerThatHadComeStays(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	e := do(t, c, ask.User(), people(func(context.Context, tool.Question) (tool.Answer, error) {
		_, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Unix(1, 0)})
		return tool.Answer{Text: "blue"}, err
	}), m{"question": "which?"})
	if e.Outcome != event.CallFinished || e.Result.Content.Text() != "the person answered: blue" {
		t.Errorf("%s %q", e.Outcome, e.Result.Content.Text())
	}
}

// proves TOL-27: only an approval ends plan mode, and only it is a success.
func TestOnlyAnApprovalEndsPlanMode(t *testing.T) {
	for _, c := range []struct {
		who      tool.People
		approved bool
		text     string
	}{
		{says(tool.Answer{Text: "approve"}, nil), true, "carry it out"},
		{says(tool.Answer{Text: " Approve\n"}, nil), true, "carry it out"},
		{says(tool.Answer{Text: "approve", Refused: true}, nil), false, "did not approve the plan and said: approve"},
		{says(tool.Answer{Text: "keep planning"}, nil), false, "did not approve the plan; plan mode stays"},
		{says(tool.Answer{Text: "no tests?"}, nil), false, "and said: no tests?; plan mode stays"},
		{says(tool.Answer{}, nil), false, "did not approve the plan; plan mode stays"},
		{says(tool.Answer{}, tool.ErrNobody), false, "nobody is there to approve the plan; plan mode stays"},
	} {
		mo := &mode{on: true}
		e := do(t, interrupt.New(interrupt.Options{}), ask.ExitPlan(mo), c.who, m{"plan": "1. look"})
		if text := e.Result.Content.Text() + e.Err; e.Outcome != event.CallFinished || e.Result.Success != c.approved || mo.on == c.approved || !strings.Contains(text, c.text) {
			t.Errorf("%s %v, on %v, %q", e.Outcome, e.Result.Success, mo.on, text)
		}
	}
	mo := &mode{}
	if e := do(t, interrupt.New(interrupt.Options{}), ask.ExitPlan(mo), nil, m{"plan": "x"}); !strings.Contains(e.Err, "not in plan mode") || mo.left > 0 {
		t.Errorf("%q", e.Err)
	}
}

// proves TOL-01: they keep the contract of every tool.
func TestTheyKeepTheirWord(t *testing.T) {
	for _, tl := range []tool.Tool{ask.User(), ask.ExitPlan(&mode{on: true})} {
		t.Run(tl.Spec().Name, func(t *testing.T) {
			tooltest.Run(t, tooltest.Driver{
				New: func(t *testing.T) (tool.Tool, string) {
					return tool.Decorate(tl, func(ctx context.Context, call *tool.Call, next tool.Tool) (tool.Result, error) {
						return next.Execute(ctx, tool.WithPeople(call, says(tool.Answer{Text: "approve"}, nil)))
					}), t.TempDir()
				},
				Args: func(string, int) string {
					return map[string]string{"ask_user": `{"question":"q"}`, "exit_plan": `{"plan":"p"}`}[tl.Spec().Name]
				},
			})
		})
	}
}
