package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// player writes one answer. It stops at the first step after the client left
// or the server closed.
type player struct {
	s      *Server
	w      http.ResponseWriter
	ctx    context.Context
	req    *Request
	view   view
	split  int
	tongue tongue
	prose  *prose // nil until some is asked for

	begun    bool // headers are out
	thought  strings.Builder
	finished bool
	noDone   bool
}

// tongue says a script's steps in the words of one wire. Its methods write
// through the player.
type tongue interface {
	text(s string)
	reasoning(s string)
	// sign and redacted end a block of thinking and return it as a request
	// will have to bring it back.
	sign(thought, signature string) ReasoningBlock
	redacted(data string) ReasoningBlock
	call(id, name string)
	args(fragment string)
	end()
	usage(in, out *int64)
	finish(reason string)
	ping()
	fault(kind, words string)
	done() // the end of an answer that finished
}

func newTongue(p *player) tongue {
	switch p.req.Wire {
	case wireMessages:
		return &messages{p: p}
	case wireResponses:
		return &responses{p: p}
	}
	return &chat{p: p}
}

func (p *player) play(b *block) {
	p.view, p.tongue = newView(p.req), newTongue(p)
	for i := range b.steps {
		if b.steps[i].op != opHold && b.steps[i].op != opHTTP && b.steps[i].op != opHTML {
			p.headers()
		}
		if !p.do(&b.steps[i]) {
			return
		}
	}
	p.headers()
	if p.finished && !p.noDone {
		p.tongue.done()
	}
}

// over says that nobody listens any more.
func (p *player) over() bool {
	select {
	case <-p.ctx.Done():
	case <-p.s.closing:
	default:
		return false
	}
	return true
}

// do performs one step; false ends the answer.
func (p *player) do(s *step) bool {
	if p.over() {
		return false
	}
	switch s.op {
	case opText:
		p.tongue.text(p.view.fill(s.text, false))
	case opType:
		return p.typeWords(s)
	case opProse:
		return p.speakProse(s)
	case opReasoning:
		text := p.view.fill(s.text, false)
		p.thought.WriteString(text)
		p.tongue.reasoning(text)
	case opSignature:
		thought := p.thought.String()
		p.thought.Reset()
		p.s.sign(p.tongue.sign(thought, s.text))
	case opRedacted:
		p.s.sign(p.tongue.redacted(s.text))
	case opCall:
		p.tongue.call(p.view.fill(s.id, false), s.name)
		if s.text != "" {
			p.tongue.args(p.view.fill(s.text, true))
		}
	case opArgs:
		p.tongue.args(p.view.fill(s.text, true))
	case opEnd:
		p.tongue.end()
	case opUsage:
		p.tongue.usage(s.in, s.out)
	case opFinish:
		p.finished = true
		p.tongue.finish(s.text)
	case opPing:
		p.tongue.ping()
	case opWait, opHold:
		return p.wait(s.d)
	case opHeaders: // sent before
	case opHang:
		p.hang()
		return false
	case opDrop:
		p.flush()
		panic(http.ErrAbortHandler)
	case opClose:
		return false
	case opNoDone:
		p.noDone = true
	case opHTTP:
		p.status(s)
		return false
	case opHTML:
		p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(p.w, "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>\n")
		return false
	case opError:
		p.tongue.fault(s.name, s.text)
	case opRaw:
		p.write([]byte(s.text))
	case opSplit:
		p.split = s.n
	case opGroup:
		return p.group(s)
	}
	return true
}

func (p *player) group(s *step) bool {
	outer := p.view.n
	defer func() { p.view.n = outer }()
	for n := range s.times {
		if !s.plain {
			p.view.n = n + 1
		}
		for i := range s.group {
			if !p.do(&s.group[i]) {
				return false
			}
		}
	}
	return true
}

// typeWords sends word by word, each with the space after it.
func (p *player) typeWords(s *step) bool {
	for _, w := range strings.SplitAfter(p.view.fill(s.text, false), " ") {
		p.tongue.text(w)
		if !p.wait(s.d) {
			return false
		}
	}
	return true
}

// speakProse sends word by word, as [player.typeWords] does; it goes on where
// the answer's last prose ended.
func (p *player) speakProse(s *step) bool {
	if p.prose == nil {
		p.prose = newProse()
	}
	for range s.n {
		p.tongue.text(p.prose.word())
		if !p.wait(s.d) {
			return false
		}
	}
	return true
}

// event sends one event; a name of "" is none.
func (p *player) event(name string, fields map[string]any) {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(fields) // plain data always encodes; it ends the line
	b.WriteString("\n")
	p.write(b.Bytes())
}

func (p *player) headers() {
	if p.begun || p.over() {
		return
	}
	p.begun = true
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	p.w.WriteHeader(http.StatusOK)
	p.flush()
}

// write sends bytes, cut as the script says, each piece at once.
func (p *player) write(b []byte) {
	for len(b) > 0 && !p.over() {
		n := len(b)
		if p.split > 0 {
			n = min(n, p.split)
		}
		if _, err := p.w.Write(b[:n]); err != nil {
			return
		}
		p.flush()
		b = b[n:]
	}
}

func (p *player) flush() { _ = http.NewResponseController(p.w).Flush() }

// wait is silence for d; false if it was cut short.
func (p *player) wait(d time.Duration) bool {
	if d <= 0 {
		return !p.over()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ctx.Done():
	case <-p.s.closing:
	}
	return false
}

func (p *player) hang() {
	select {
	case <-p.ctx.Done():
	case <-p.s.closing:
	}
}

func (p *player) status(s *step) {
	if s.after >= 0 {
		p.w.Header().Set("Retry-After", strconv.Itoa(s.after))
	}
	if s.text != "" {
		kind := "text/plain; charset=utf-8"
		if json.Valid([]byte(s.text)) {
			kind = "application/json"
		}
		p.w.Header().Set("Content-Type", kind)
		p.w.WriteHeader(s.n)
		_, _ = io.WriteString(p.w, s.text)
		return
	}
	refuse(p.w, p.req.Wire, s.n, "scripted_error", "the script says "+strconv.Itoa(s.n))
}
