// Package modeltest is the suite that every model driver passes. It asks the
// driver under test to talk to a scripted server over loopback and holds what
// it yields to the contract in model.
//
//	func TestDriver(t *testing.T) {
//		modeltest.Run(t, modeltest.Driver{New: func(t testing.TB, url string) model.Model { … }})
//	}
//
// [Ask] collects one stream; [Serve] starts a server for one script. Both are
// for other rooms' tests too. Nothing here outlives its test.
package modeltest
