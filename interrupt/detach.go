package interrupt

import (
	"context"
	"time"
)

// The four functions of this file are the only ones that detach a context from
// its parent's end (TRN-03); values and the parent's cause stay readable. A
// lint rule forbids it elsewhere.

type causeKey struct{}

// CallerCause returns the cause for which the context that ctx was detached
// from had ended by then, nil if it was alive.
func CallerCause(ctx context.Context) error {
	err, _ := ctx.Value(causeKey{}).(error)
	return err
}

func detach(ctx context.Context) context.Context {
	d := context.WithoutCancel(ctx)
	if err := context.Cause(ctx); err != nil {
		d = context.WithValue(d, causeKey{}, err)
	}
	return d
}

// Lifetime detaches what Open returns from the context given to Open: that one
// bounds the opening, not the session's life. cancel ends it.
func Lifetime(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(detach(ctx))
}

// CallContext is for tools that did not opt in to being cut: neither the
// turn's end nor its interrupt reaches them. The stop function releases it.
func CallContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(detach(ctx))
}

// Cleanup is for the final save: it outlives the turn's context, for d at most.
func Cleanup(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(detach(ctx), d)
}

// Report is for hooks that tell of an end: never cut by the interrupt that
// they report, bounded by d.
func Report(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(detach(ctx), d)
}
