package session

import (
	"context"

	"github.com/ripcord-go/ripcord/event"
)

// Awaited is the one wait for an answer.
func Awaited(ctx context.Context, gone chan struct{}, ch chan int) (int, error) {
	return awaited(ctx, gone, ch)
}

// Waits is how many wait for an input.
func (l *Live) Waits(id event.InputID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters[id])
}
