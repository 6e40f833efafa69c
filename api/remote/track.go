package remote

import (
	"net"
	"net/http"
	"sync"
)

// tracked makes srv count its connections, so that an end can wait for the
// calls in them: http.Server.Close closes connections and waits for nobody.
// A connection is new on the goroutine of Serve, so that none is added once
// Serve has returned.
func tracked(srv *http.Server) *sync.WaitGroup {
	var conns sync.WaitGroup
	srv.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			conns.Add(1)
		case http.StateClosed, http.StateHijacked:
			conns.Done()
		case http.StateActive, http.StateIdle:
		}
	}
	return &conns
}
