package session

import "github.com/ripcord-go/ripcord/event"

// Waits is how many wait for an input.
func (l *Live) Waits(id event.InputID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters[id])
}
