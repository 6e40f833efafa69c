// Command mutate verifies the verifier: it puts each seeded bug into the tree,
// one at a time, and sees the test that guards against it go red.
//
//	go run ./internal/mutate             all of them
//	go run ./internal/mutate -list       what there is
//	go run ./internal/mutate -run ID     one, or several, comma-separated
//	go run ./internal/mutate -n 10       ten, spread evenly over the list
//
// A bug is a file in bugs/, named after its id:
//
//	file: interrupt/coordinator.go
//	test: ./interrupt TestFirstReasonWins
//	why: a second request must not replace the first one's reason
//	--- find
//	if s.closed || s.cause != nil {
//	--- replace
//	if s.closed {
//
// The text to find must stand in the file exactly once, so that a bug cannot
// rot unseen. The test is a package and a regular expression of test names, one
// of which must go red; with several "test:" lines one of each.
//
// The tree itself is never touched: the changed file is laid over it
// (go test -overlay), also for whatever the tests build. A bug counts as seen
// only if the package still compiles with it, the test passes without it and
// fails with it.
//
// # Concurrency
//
// One goroutine; each bug is one run of go test after another.
package main
