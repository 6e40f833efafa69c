package session

import (
	"context"
	"errors"
	"slices"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

const resultsKept = 256 // answers that are remembered for who asks late

// expect notes that there will be an answer for each of ids. The driver calls
// it, so that what can be waited for never depends on who submitted it and
// whether they stayed for the acknowledgement.
func (l *Live) expect(ids ...event.InputID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.pending[id] = true
		if _, ended := l.results[id]; ended { // it is asked again: what came of it is no answer any more
			delete(l.results, id)
			l.order = slices.DeleteFunc(l.order, func(o event.InputID) bool { return o == id })
		}
	}
}

// drives notes who drives the turn of an input that is being submitted, if
// somebody does.
func (l *Live) drives(caller context.Context, id event.InputID) {
	if caller == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers[id] = caller
}

// undriven takes it back.
func (l *Live) undriven(id event.InputID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.callers, id)
}

// release answers who waits for input and keeps the answer for who comes late.
func (l *Live) release(id event.InputID, o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ch := range l.waiters[id] {
		ch <- o
	}
	delete(l.waiters, id)
	delete(l.pending, id)
	delete(l.callers, id)
	l.results[id] = o
	if l.order = append(l.order, id); len(l.order) > resultsKept {
		delete(l.results, l.order[0])
		l.order = l.order[1:]
	}
}

// recall gives the answers of turns that ended before this process: who
// submitted with a key asks the next process for them.
func (l *Live) recall(past []turn.Summary) {
	for _, sum := range past {
		for _, id := range sum.Inputs {
			l.release(id, outcome{sum: sum})
		}
	}
}

// Wait returns the summary of the turn that processes input, once its ending
// is durable. The last few hundred are remembered, across processes too; for
// what is forgotten or was never accepted it returns [ErrNoInput].
func (l *Live) Wait(ctx context.Context, input event.InputID) (turn.Summary, error) {
	ch := make(chan outcome, 1)
	l.mu.Lock()
	if o, ok := l.results[input]; ok || !l.pending[input] {
		l.mu.Unlock()
		if !ok {
			o.err = ErrNoInput
		}
		return o.sum, o.err
	}
	l.waiters[input] = append(l.waiters[input], ch)
	l.mu.Unlock()
	o, err := awaited(ctx, l.gone, ch)
	if err != nil {
		l.mu.Lock()
		l.waiters[input] = slices.DeleteFunc(l.waiters[input], func(c chan outcome) bool { return c == ch })
		l.mu.Unlock()
		return turn.Summary{}, err
	}
	return o.sum, o.err
}

// Withdraw takes an input back that waits and is no turn's yet, as a recorded
// act; who waits for it gets [ErrDropped]. Once it is a turn's, or was never
// accepted, it returns [ErrNoInput]: interrupt the turn instead.
func (l *Live) Withdraw(ctx context.Context, input event.InputID, by string) error {
	_, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Remove{ID: input, By: by, Token: t} })
	if errors.Is(err, turn.ErrNotNow) {
		return ErrNoInput
	}
	return err
}
