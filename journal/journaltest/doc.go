// Package journaltest holds every store of journals to what package journal
// promises. A back end's own test is a few lines:
//
//	func TestStore(t *testing.T) {
//		journaltest.Run(t, journaltest.Driver{Open: …, Crash: …, Bytes: …, Put: …, Fail: …})
//	}
//
// Each case is named by the sentence of the contract that it checks. The cases
// need nothing of a store but the functions of its [Driver]; goroutines are
// started only by the cases about concurrency, which wait for them.
//
// The package also has the records the cases are made of ([Turn], [Open]), for
// tests that want a journal of a given shape.
//
// # What it never does
//
// It does not test how a store finds its folder, its lock or its peers: real
// processes, disks and servers are a back end's own to test.
package journaltest
