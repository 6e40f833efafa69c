package interrupt_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ripcord-go/ripcord/interrupt"
)

// model is the coordinator as a reader of its documentation would write it
// down: no locks, no channels.
type model struct {
	reason                 interrupt.Reason
	tripped, forced, shut  bool
	waiting                []string // what a trip would run, listeners first
	terminators            []string
	ran                    []string
	listeners, registrants int
}

func (m *model) request(r interrupt.Reason) (first, refused bool) {
	switch {
	case r == interrupt.Unknown:
		return false, true
	case m.tripped || m.shut:
		return false, false
	}
	m.tripped, m.reason = true, r
	m.ran = append(append(m.ran, m.waiting...), m.terminators...)
	m.waiting, m.terminators = nil, nil
	return true, false
}

func (m *model) listen(name string) {
	switch {
	case m.tripped:
		m.ran = append(m.ran, name)
	case !m.shut:
		m.waiting = append(m.waiting, name)
	}
}

func (m *model) register(name string) (refused bool) {
	switch {
	case m.shut:
		return true
	case m.tripped:
		m.ran = append(m.ran, name)
	default:
		m.terminators = append(m.terminators, name)
	}
	return false
}

// pair is a coordinator and the model that it is held against.
type pair struct {
	c   *interrupt.Coordinator
	m   model
	ran []string
}

// step does one thing to both and compares the answers.
func (p *pair) step(op string) error {
	switch op {
	case "ask", "lease", "newer":
		r := map[string]interrupt.Reason{"ask": interrupt.UserSIGINT, "lease": interrupt.LeaseLost, "newer": interrupt.Unknown}[op]
		first, err := p.c.Request(interrupt.Cause{Reason: r})
		var refusal *interrupt.RefusedError
		wantFirst, wantRefused := p.m.request(r)
		if first != wantFirst || errors.As(err, &refusal) != wantRefused {
			return fmt.Errorf("Request = %v, %v; want %v, refused %v", first, err, wantFirst, wantRefused)
		}
	case "force":
		want := p.m.tripped && !p.m.forced && !p.m.shut
		p.m.forced = p.m.forced || want
		if got := p.c.Force(); got != want {
			return fmt.Errorf("Force = %v, want %v", got, want)
		}
	case "close":
		p.c.Close()
		p.m.shut, p.m.waiting, p.m.terminators = true, nil, nil
	case "listen":
		p.m.listeners++
		name := fmt.Sprint("listener ", p.m.listeners)
		p.m.listen(name)
		p.c.Signal().OnCancel(func() { p.ran = append(p.ran, name) })
	case "register":
		p.m.registrants++
		name := fmt.Sprint("terminator ", p.m.registrants)
		refused := p.m.register(name)
		reg, err := p.c.Registrar()
		if refused != errors.Is(err, interrupt.ErrClosed) {
			return fmt.Errorf("Registrar = %v, want refused %v", err, refused)
		}
		if err == nil {
			if _, err := reg.Register(func() { p.ran = append(p.ran, name) }); err != nil {
				return fmt.Errorf("Register = %v", err)
			}
		}
	}
	return p.compare()
}

func (p *pair) compare() error {
	sig := p.c.Signal()
	reason, ok := sig.Reason()
	switch {
	case sig.Cancelled() != p.m.tripped, ok != p.m.tripped, isClosed(sig.Done()) != p.m.tripped, (sig.Checkpoint() != nil) != p.m.tripped:
		return fmt.Errorf("tripped: Cancelled %v, Done %v, Checkpoint %v; want %v", sig.Cancelled(), isClosed(sig.Done()), sig.Checkpoint(), p.m.tripped)
	case reason != p.m.reason:
		return fmt.Errorf("reason = %q, want %q", string(reason), string(p.m.reason))
	case isClosed(sig.Forced()) != p.m.forced:
		return fmt.Errorf("forced = %v, want %v", isClosed(sig.Forced()), p.m.forced)
	case p.c.IsClosed() != p.m.shut:
		return fmt.Errorf("IsClosed = %v, want %v", p.c.IsClosed(), p.m.shut)
	case fmt.Sprint(p.ran) != fmt.Sprint(p.m.ran):
		return fmt.Errorf("ran %v, want %v", p.ran, p.m.ran)
	}
	listeners, terminators := p.c.Live()
	if p.m.shut && listeners+terminators > 0 {
		return fmt.Errorf("%d listeners and %d terminators outlive Close", listeners, terminators)
	}
	return nil
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// All histories of up to five steps, each answer and each effect compared.
//
// proves INT-09, INT-11, INT-12, INT-14, INT-16, INT-17, INT-21, INT-51, TRN-02
func TestEveryShortHistoryMatchesTheModel(t *testing.T) {
	ops := []string{"ask", "lease", "newer", "force", "close", "listen", "register"}
	histories := 0
	var walk func(done []string)
	walk = func(done []string) {
		if len(done) == 5 {
			histories++
			p := &pair{c: interrupt.New(interrupt.Options{})}
			for i, op := range done {
				if err := p.step(op); err != nil {
					t.Fatalf("after %v: %v", done[:i+1], err)
				}
			}
			return
		}
		for _, op := range ops {
			walk(append(done[:len(done):len(done)], op))
		}
	}
	walk(nil)
	if histories != 7*7*7*7*7 {
		t.Errorf("%d histories walked", histories)
	}
}
