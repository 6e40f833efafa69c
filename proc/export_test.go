package proc

import "os"

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
