// Package remote carries an api.Service over HTTP: [Handler] is the serving
// half, [Dial] the asking half, and a program that holds either cannot tell it
// from the runtime itself.
//
//	remote.Dial(path) ──POST /v1/NAME──▶ Unix socket, 0600, peer uid checked ──▶ remote.Handler(svc)
//	                  ◀──JSON, or one frame a line, flushed one by one──
//
// # The wire
//
// Every method is one POST to /v1/ and its name, its arguments one JSON object
// of at most [MaxBody] bytes. An answer is one JSON object with status 200, or
// {"error":{"code","message","hint","owner"}} with another status. Follow and
// Records answer with lines: {"line":RECORD} with the record's canonical bytes
// untouched, {"live":FRAME}, and last {"end":true} or {"error":…}; a stream
// that stops without either was cut, and the client says so.
//
// # Ownership
//
// [Serve] runs connections on goroutines of its http.Server; it returns only
// when all of them have ended. One more goroutine inside Serve waits for the
// context and is waited for. Clients start none beyond those of their
// http.Transport, which hold idle connections until CloseIdleConnections or
// the peer's end. A connection that goes away ends the one call it carried and
// nothing else: never a turn.
//
// # What it never does
//
// It knows no rule of the product, opens no TCP port, retries nothing, and
// adds nothing to what the Service behind it says.
package remote
