package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/ripcord-go/ripcord/tool"
)

// grace is how long a judgement may go on once nobody waits for it.
const grace = 100 * time.Millisecond

// Closed makes g fail closed. Its Judge never returns an error: whatever keeps
// g from a verdict is a block whose By begins with "gate:". A nil g blocks
// everything.
func Closed(g Gate) Gate {
	if c, ok := g.(closed); ok {
		return c
	}
	return closed{g}
}

type closed struct{ gate Gate }

// Settle hands the question on; without a gate that knows, a person is asked.
func (c closed) Settle(prompt string) Verdict {
	if s, ok := c.gate.(settler); ok {
		return s.Settle(prompt)
	}
	return Verdict{Decision: Ask, By: "policy:ask", Prompt: prompt}
}

type answer struct {
	verdict  Verdict
	err      error
	panicked any
	came     bool // false: the goroutine ended without an answer
}

// Judge implements [Gate].
func (c closed) Judge(ctx context.Context, call *tool.Call, spec tool.Spec) (Verdict, error) {
	if c.gate == nil {
		return blocked("gate:none", "no gate is set up; set one up to let calls run"), nil
	}
	if ctx.Err() != nil {
		return interrupted(ctx), nil // nobody would wait for a verdict
	}
	ch := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if !a.came {
				a.panicked = recover()
			}
			ch <- a
		}()
		a.verdict, a.err = c.gate.Judge(ctx, call, spec)
		a.came = true
	}()
	select {
	case a := <-ch:
		return a.sure(ctx), nil
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case a := <-ch:
		return a.sure(ctx), nil
	case <-late.C:
	}
	select {
	case a := <-ch: // what has arrived is kept
		return a.sure(ctx), nil
	default:
		return interrupted(ctx), nil
	}
}

// sure turns an answer into a verdict that can be acted on.
func (a answer) sure(ctx context.Context) Verdict {
	switch {
	case !a.came:
		return blocked("gate:panic", fmt.Sprintf("the gate broke down: %v", a.panicked))
	case a.err != nil && ctx.Err() != nil:
		return interrupted(ctx)
	case a.err != nil:
		return blocked("gate:error", "the gate gave no verdict: "+a.err.Error())
	}
	switch v := a.verdict; v.Decision {
	case Allow, Block, Ask:
		return v
	default:
		return blocked("gate:error", fmt.Sprintf("the gate gave a verdict that is none: %d", int(v.Decision)))
	}
}

func interrupted(ctx context.Context) Verdict {
	return blocked("gate:interrupted", fmt.Sprintf("the gate was cut off before its verdict: %v", context.Cause(ctx)))
}

func blocked(by, why string) Verdict { return Verdict{Decision: Block, By: by, Why: why} }
