package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options of a server; the zero value is a strict server on a free port.
type Options struct {
	Addr    string // host:port, empty means 127.0.0.1:0
	Lenient bool   // accept any history
}

// Server plays a script. It is an [http.Handler] too.
type Server struct {
	script   *Script
	lenient  bool
	listener net.Listener
	http     *http.Server
	closing  chan struct{}
	shut     sync.Once
	stop     func() bool // forgets the context given to Start
	serve    sync.WaitGroup

	mu       sync.Mutex
	requests []*Request
	used     map[*block]int
	signed   map[ReasoningBlock]bool // what was signed here
	active   int
	idle     *sync.Cond
}

// Request is one recorded request. Its fields do not change.
type Request struct {
	N      int    // from 1
	Wire   string // openai-chat, openai-responses or anthropic
	At     time.Time
	Header http.Header
	Body   []byte
	Chat   ChatRequest // in the words of chat completions on every wire; zero if the body could not be read
	Refuse error       // why it was answered with 400

	done chan struct{}
	gone time.Time // under Server.mu until done
}

// Done is closed when the answer has ended, whoever ended it.
func (r *Request) Done() <-chan struct{} { return r.done }

// Gone says when the server saw the client leave before the answer's end; ok
// is false if it did not. It waits for Done.
func (r *Request) Gone() (at time.Time, ok bool) {
	<-r.done
	return r.gone, !r.gone.IsZero()
}

// NewServer listens and serves until Close. Without Addr it listens on
// loopback.
func NewServer(script *Script, o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("the scripted model cannot listen: %w", err)
	}
	s := &Server{script: script, lenient: o.Lenient || script.lenient, listener: l,
		closing: make(chan struct{}), used: map[*block]int{}, signed: map[ReasoningBlock]bool{}}
	s.idle = sync.NewCond(&s.mu)
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second}
	s.serve.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// Start is NewServer with default options; the server also closes when ctx
// ends.
func Start(ctx context.Context, script *Script) (*Server, error) {
	s, err := NewServer(script, Options{})
	if err == nil {
		s.stop = context.AfterFunc(ctx, s.end)
	}
	return s, err
}

// URL is the base URL, with /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Requests returns what was asked so far, in order.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Close cuts every connection and returns when all that the server started has
// ended. Later calls do nothing.
func (s *Server) Close() error {
	if s.stop != nil {
		s.stop()
	}
	s.end()
	s.serve.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.active > 0 {
		s.idle.Wait()
	}
	return nil
}

func (s *Server) end() {
	s.shut.Do(func() {
		close(s.closing)
		_ = s.http.Close()
	})
}

// ServeHTTP answers chat completions, responses, messages and the list of
// models, with or without /v1 before the path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	if path == "/models" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model","owned_by":"ripcord"}]}`)
		return
	}
	at := slices.IndexFunc(Wires(), func(w WirePath) bool { return w.Path == path })
	if at < 0 {
		refuse(w, wireChat, http.StatusNotFound, "not_found",
			"the scripted model answers /v1/chat/completions, /v1/responses, /v1/messages and /v1/models only")
		return
	}
	wire := Wires()[at].Provider
	if r.Method != http.MethodPost {
		refuse(w, wire, http.StatusMethodNotAllowed, "invalid_request_error", "use POST")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return // the client left
	}
	req, b := s.admit(wire, r.Header, body)
	unwatch := context.AfterFunc(r.Context(), func() { s.left(req) })
	defer s.release(req)
	defer func() {
		unwatch()
		if r.Context().Err() != nil {
			s.left(req) // the watcher may not have run, and may now never
		}
	}()
	if req.Refuse != nil {
		refuse(w, wire, http.StatusBadRequest, "invalid_request_error", req.Refuse.Error())
		return
	}
	p := player{s: s, w: w, ctx: r.Context(), req: req, split: s.script.split}
	p.play(b)
	select {
	case <-s.closing: // what was cut by Close must not look like an end
		panic(http.ErrAbortHandler)
	default:
	}
}

// admit records a request and chooses its answer.
func (s *Server) admit(wire string, header http.Header, body []byte) (*Request, *block) {
	req := &Request{Wire: wire, At: time.Now(), Header: header.Clone(), Body: body, done: make(chan struct{})}
	var strict, err error
	switch wire {
	case wireMessages:
		req.Chat, strict, err = readMessages(header, body)
	case wireResponses:
		req.Chat, strict, err = readResponses(body)
	default:
		err = json.Unmarshal(body, &req.Chat)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	s.active++
	req.N = len(s.requests)
	switch {
	case err != nil:
		req.Refuse = fmt.Errorf("the request is not JSON of this wire: %w", err)
	case !req.Chat.Stream:
		req.Refuse = fmt.Errorf("the scripted model only streams: set stream to true")
	case s.lenient:
	case strict != nil:
		req.Refuse = strict
	default:
		req.Refuse = s.judge(req.Chat.Messages)
	}
	if req.Refuse != nil {
		return req, nil
	}
	b := s.choose(newView(req))
	if b == nil {
		req.Refuse = fmt.Errorf("the script has no answer for request %d", req.N)
	}
	return req, b
}

func (s *Server) judge(messages []Message) error {
	for i, m := range messages {
		for _, b := range m.Reasoning {
			if (b.Signature != "" || b.Data != "") && !s.signed[b] {
				return fmt.Errorf("message %d holds reasoning whose signature is not of this text", i)
			}
		}
	}
	return ValidateWire(messages)
}

// choose takes the first answer that fits and counts it as used.
func (s *Server) choose(v view) *block {
	for round := 0; round < 2; round++ {
		var last *block
		for _, b := range s.script.blocks {
			if b.times > 0 && s.used[b] >= b.times || !v.fits(b) {
				continue
			}
			if b.last {
				last = b
				continue
			}
			s.used[b]++
			return b
		}
		if last != nil || !s.script.loop {
			return last
		}
		clear(s.used)
	}
	return nil
}

func (s *Server) left(req *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
	case <-req.done: // the client went after the answer's end
	default:
		if req.gone.IsZero() {
			req.gone = time.Now()
		}
	}
}

func (s *Server) release(req *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(req.done)
	s.active--
	s.idle.Broadcast()
}

func (s *Server) sign(b ReasoningBlock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signed[b] = true
}

func refuse(w http.ResponseWriter, wire string, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"error": map[string]any{"message": message, "type": kind, "code": nil}}
	if wire == wireMessages {
		body = map[string]any{"type": "error", "error": map[string]any{"message": message, "type": kind}}
	}
	_ = json.NewEncoder(w).Encode(body)
}
