// Package tooltest holds tools to what they declare and gives those who test
// with tools their counterparts.
//
// [Run] is the suite: a driver's test is the tool, its arguments and what to
// wait for. [Book], [Recorder], [Jobs], [Live], [Blobs] and [Process] stand for
// the session; [Func] is a tool made of a function; [Forwards] holds a
// decorator to passing on what the tool inside declares.
//
// The suite starts goroutines only where it waits for them. The package is for
// tests; it keeps no journal and starts no process.
package tooltest
