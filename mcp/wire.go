package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is one connection's way to its server: pipes or HTTP.
type wire interface {
	// transport is what the SDK's session speaks through, once.
	transport() sdk.Transport
	// cancelled tells the server that sent is not needed any more. It waits no
	// longer than ctx.
	cancelled(ctx context.Context, sent *sent) error
	// abandoned says that nobody waits for the answer any more.
	abandoned(sent *sent)
	// heard counts what the server said; two equal numbers mean that it was
	// silent in between.
	heard() int64
	// pids lists the server's processes.
	pids() []int
	// broken is closed when the wire cannot be used any more.
	broken() <-chan struct{}
	// shut says no more to the server and hears no more of it; close waits
	// until nothing of it is left, and says how it ended.
	shut()
	close() (how string)
}

const methodCancelled = "notifications/cancelled"

// cancelReason is the same for every interrupt: who wanted it and why is not
// the server's affair.
const cancelReason = "the request is no longer needed"

func cancelParams(id any) json.RawMessage {
	p, _ := json.Marshal(map[string]any{"requestId": id, "reason": cancelReason}) // numbers and texts
	return p
}

type sentKey struct{}

// sent is one request on its way, known to the wire by the request's context.
type sent struct {
	mu     sync.Mutex
	id     any
	known  bool
	header http.Header   // HTTP: what the request was sent with
	status int           // HTTP: what was answered
	long   chan struct{} // HTTP: closed when the answer is over the bound
}

func newSent() *sent { return &sent{long: make(chan struct{})} }

func (s *sent) tooLong() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !closed(s.long) {
		close(s.long)
	}
}

func withSent(ctx context.Context, s *sent) context.Context {
	return context.WithValue(ctx, sentKey{}, s)
}

func sentOf(ctx context.Context) (*sent, bool) {
	s, ok := ctx.Value(sentKey{}).(*sent)
	return s, ok
}

func (s *sent) as(id any, header http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.known, s.header = id, true, header
}

func (s *sent) answered(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *sent) get() (id any, header http.Header, status int, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, s.header, s.status, s.known
}

// tally counts what a server does that is worth a look. It is shared by the
// wires that follow each other.
type tally struct {
	mu          sync.Mutex
	noise, long int64
	late        int64
	firstNoise  string
	loggedNoise int
}

const (
	mostNoise      = 1000 // lines, after which a server is called noisy
	mostNoiseShown = 200  // bytes of a line
	mostNoiseLogs  = 20   // lines
)

// noiseLine counts a line that was no message; show says whether it is to be
// logged, cut to a bound.
func (t *tally) noiseLine(line []byte) (cut string, show bool) {
	cut = fmt.Sprintf("%q", line[:min(len(line), mostNoiseShown)])
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noise++
	if t.firstNoise == "" {
		t.firstNoise = cut
	}
	t.loggedNoise++
	return cut, t.loggedNoise <= mostNoiseLogs
}

func (t *tally) longLine() { t.mu.Lock(); t.long++; t.mu.Unlock() }
func (t *tally) lateWord() { t.mu.Lock(); t.late++; t.mu.Unlock() }

// ring keeps the last bytes of what a server says to people.
type ring struct {
	mu   sync.Mutex
	max  int
	buf  []byte
	lost int64
}

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p...)
	if over := len(r.buf) - r.max; over > 0 {
		r.lost += int64(over)
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
	return len(p), nil
}

func (r *ring) last(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf[max(0, len(r.buf)-n):])
}

// within waits for c, for d at most.
func within(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
