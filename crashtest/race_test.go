//go:build race

package crashtest_test

// coarser is by how much sweeps of bytes are thinned out, sparser those of
// records and of disks: the race detector makes them ten times as slow and has
// seen all that they run after a few.
const (
	coarser = 12
	sparser = 6
)
