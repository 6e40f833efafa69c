package tui

import (
	"context"
	"sync"
)

// queue hands values from any goroutine to one, in order, without ever making
// the giver wait.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	wake  chan struct{} // holds one
}

func newQueue[T any]() *queue[T] { return &queue[T]{wake: make(chan struct{}, 1)} }

func (q *queue[T]) put(v T) {
	q.mu.Lock()
	q.items = append(q.items, v)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for values and returns all that are there, nil when ctx ended.
func (q *queue[T]) take(ctx context.Context) []T {
	for {
		q.mu.Lock()
		out := q.items
		q.items = nil
		q.mu.Unlock()
		if len(out) > 0 {
			return out
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
	}
}
