package tool

import (
	"context"

	"github.com/ripcord-go/ripcord/interrupt"
)

// Decorate returns inner with another Execute, which as a rule calls next's.
// Whatever inner declares is declared by the result: its spec, its approval
// question and its behaviour. A decorator written by hand that embeds a Tool
// loses the behaviour; use this one.
func Decorate(inner Tool, execute func(ctx context.Context, call *Call, next Tool) (Result, error)) Tool {
	return decorated{inner, execute}
}

type decorated struct {
	inner   Tool
	execute func(context.Context, *Call, Tool) (Result, error)
}

func (d decorated) Spec() Spec { return d.inner.Spec() }

func (d decorated) Execute(ctx context.Context, call *Call) (Result, error) {
	return d.execute(ctx, call, d.inner)
}

func (d decorated) InterruptBehaviour() interrupt.Behaviour { return interrupt.BehaviourOf(d.inner) }

// Parallel reports whether a call of t may run beside others: it must say so
// itself and its behaviour must have no stop mechanism that aims at a
// goroutine (INT-08). Dispatcher and runner read the same declaration.
func Parallel(t Tool) bool { return t.Spec().Concurrent && interrupt.BehaviourOf(t).Pooled() }
