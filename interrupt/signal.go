package interrupt

// Signal tells one execution that it was asked to end. It is read-only and
// single-use: nothing that a tool or a model holds can trip it.
type Signal interface {
	// Done is closed when the signal trips. It is nil for a signal that never
	// will.
	Done() <-chan struct{}
	// Cancelled reports whether the signal has tripped.
	Cancelled() bool
	// Reason is the first request's reason; ok is false before the trip.
	Reason() (r Reason, ok bool)
	// Checkpoint returns an [*InterruptedError] once the signal has tripped.
	Checkpoint() error
	// OnCancel runs f when the signal trips, on the requesting goroutine; at
	// once and on this one if it has tripped. stop removes f and reports
	// whether that kept it from running. f must not block.
	OnCancel(f func()) (stop func() bool)
	// Forced is closed when whoever asked will not wait any longer: every
	// grace that is left is zero.
	Forced() <-chan struct{}
}

// Never returns a signal that never trips: what work without a coordinator has.
func Never() Signal { return never{} }

type never struct{}

func (never) Done() <-chan struct{}       { return nil }
func (never) Cancelled() bool             { return false }
func (never) Reason() (Reason, bool)      { return "", false }
func (never) Checkpoint() error           { return nil }
func (never) OnCancel(func()) func() bool { return func() bool { return true } }
func (never) Forced() <-chan struct{}     { return nil }

// view is the only Signal over a coordinator. It holds functions, not the
// coordinator, so that no type assertion leads from a signal to a trip.
type view struct {
	done, forced <-chan struct{}
	cause        func() (Cause, bool)
	listen       func(func()) func() bool
}

func (v *view) Done() <-chan struct{}   { return v.done }
func (v *view) Forced() <-chan struct{} { return v.forced }

func (v *view) Cancelled() bool { _, ok := v.cause(); return ok }

func (v *view) Reason() (Reason, bool) { c, ok := v.cause(); return c.Reason, ok }

func (v *view) Checkpoint() error {
	if c, ok := v.cause(); ok {
		return &InterruptedError{c}
	}
	return nil
}

func (v *view) OnCancel(f func()) func() bool { return v.listen(f) }
