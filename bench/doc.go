// Command bench measures what docs/performance.md reports and prints the
// table: for each figure the target, what was measured, the floor it is
// measured against in the same run, and the spread.
//
//	go run ./bench            # the usual number of rounds
//	go run ./bench -quick     # a tenth of them, to see that it works
//	go run ./bench -only agents,mcp   # by name, or by id: BEN-01
//
// A figure and its floor take turns (A B B A) on the same disk and the same
// processors, so that a machine whose speed drifts does not favour either.
// Nothing here passes or fails: a figure that misses its target says so.
//
// # Goroutines
//
// Those of the runtimes and servers it measures; each has ended when its figure
// is printed. Started by itself as a server of tools, it has those of the
// protocol's library.
package main
