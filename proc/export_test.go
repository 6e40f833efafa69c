package proc

import "os"

// NewSpool makes the writer of a spool file for tests of the layout.
func NewSpool(f *os.File, limit int64) (write func([]byte), dropped func() int64) {
	s := newSpool(f, limit)
	return s.write, s.dropped
}
