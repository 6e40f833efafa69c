package mem

import "github.com/ripcord-go/ripcord/journal"

// Owning is how a writer of this store changes its journal.
func Owning(w journal.Writer, do func()) error { return w.(*writer).owning(do) }

// Locked reports whether the journals are kept from changing now.
func Locked(s *Store) bool {
	if s.mu.TryLock() {
		s.mu.Unlock()
		return false
	}
	return true
}
