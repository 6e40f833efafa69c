package tool

import (
	"context"
	"maps"
	"reflect"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Key names a typed value that travels with a call. Two keys are the same if
// name and type are; a name begins with its package's.
type Key[T any] string

const (
	signalKey    Key[interrupt.Signal]    = "tool.signal"
	registrarKey Key[interrupt.Registrar] = "tool.registrar"
	recorderKey  Key[Recorder]            = "tool.recorder"
	jobsKey      Key[Jobs]                = "tool.jobs"
	liveKey      Key[Live]                = "tool.live"
	fenceKey     Key[Fence]               = "tool.fence"

	optionsKey Key[event.SubmitOptions] = "tool.options"
)

// WithValue returns a copy of call that carries v under key. The call given is
// not changed.
func WithValue[T any](call *Call, key Key[T], v T) *Call {
	c := *call
	c.values = maps.Clone(call.values)
	if c.values == nil {
		c.values = map[any]any{}
	}
	c.values[key] = v
	return &c
}

// ValueOf returns what call carries under key. ok is false for a missing
// value, a nil one included, however it is wrapped.
func ValueOf[T any](call *Call, key Key[T]) (v T, ok bool) {
	if call == nil {
		return v, false
	}
	got, ok := call.values[key]
	if !ok || isNil(got) {
		return v, false
	}
	return got.(T), true
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.Slice, reflect.Interface:
		return r.IsNil()
	default:
		return false
	}
}

// SignalOf returns the signal of the call's turn; one that never trips if the
// call carries none. It is never nil.
func SignalOf(call *Call) interrupt.Signal {
	if s, ok := ValueOf(call, signalKey); ok {
		return s
	}
	return interrupt.Never()
}

// RegistrarOf returns the call's registrar; ok is false for behaviours that
// have none.
func RegistrarOf(call *Call) (interrupt.Registrar, bool) { return ValueOf(call, registrarKey) }

// RecorderOf returns the call's way into the journal, one that keeps nothing
// if the call carries none. It is never nil.
func RecorderOf(call *Call) Recorder {
	if r, ok := ValueOf(call, recorderKey); ok {
		return r
	}
	return nowhere{}
}

// JobsOf returns who takes over what outlives the call. Without one every
// Adopt is refused with [ErrNoJobs]. It is never nil.
func JobsOf(call *Call) Jobs {
	if j, ok := ValueOf(call, jobsKey); ok {
		return j
	}
	return nowhere{}
}

// LiveOf returns where running output goes, nowhere if the call carries
// nothing. It is never nil.
func LiveOf(call *Call) Live {
	if l, ok := ValueOf(call, liveKey); ok {
		return l
	}
	return nowhere{}
}

// FenceOf returns the call's fence, an open one if the call carries none. It
// is never nil.
func FenceOf(call *Call) Fence {
	if f, ok := ValueOf(call, fenceKey); ok {
		return f
	}
	return nowhere{}
}

// WithOptions returns call with the options of its turn; a session does.
func WithOptions(call *Call, o event.SubmitOptions) *Call { return WithValue(call, optionsKey, o) }

// OptionsOf returns what the first input of the call's turn was submitted with:
// who asked, in which context (INT-75). A turn that is asked again has those of
// the first time unless it was given others. It is to be read, not changed; zero
// if the call carries none.
func OptionsOf(call *Call) event.SubmitOptions {
	o, _ := ValueOf(call, optionsKey)
	return o
}

// nowhere is what a call without company has.
type nowhere struct{}

func (nowhere) Record(context.Context, event.Payload) error     { return nil }
func (nowhere) Adopt(context.Context, Job) (event.JobID, error) { return "", ErrNoJobs }
func (nowhere) Output(string)                                   {}
func (nowhere) Check() error                                    { return nil }
func (nowhere) Pass(effect func() error) error                  { return effect() }
