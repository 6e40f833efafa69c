//go:build !race

package crashtest_test

const (
	coarser = 1
	sparser = 1
)
