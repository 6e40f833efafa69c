package proc

import (
	"io"
	"os"
)

// NewSpool makes the writer of a spool file for tests of the layout.
func NewSpool(f *os.File, limit int64) (write func([]byte), dropped func() int64) {
	s := newSpool(f, limit)
	return s.write, s.dropped
}

// ReadSince reads a spool file from a position on; whole says that nothing is
// to come.
func ReadSince(f *os.File, from int64, limit int, whole bool) (Output, int64, error) {
	return readSince(f, from, limit, whole)
}

// AwaitFeed waits for a feed that hands n pieces on to w, as the end of a tree
// does.
func AwaitFeed(w io.Writer, n int) (fed <-chan struct{}) {
	var c writes
	end := make(chan struct{})
	go func() {
		defer close(end)
		for range n {
			_ = c.write(w, []byte("x"))
		}
	}()
	awaitFeed(end, &c)
	return end
}
