//go:build race

package crashtest_test

// coarser is by how much sweeps are thinned out: the race detector makes them
// ten times as slow and has seen all that they run after a few.
const coarser = 12
