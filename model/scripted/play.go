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
	s     *Server
	w     http.ResponseWriter
	ctx   context.Context
	req   *Request
	view  view
	split int

	begun    bool // headers are out
	spoke    bool // a chunk is out
	calls    int  // opened in this answer
	thought  strings.Builder
	finished bool
	noDone   bool
}

func (p *player) play(b *block) {
	p.view = newView(p.req)
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
		p.write([]byte("data: [DONE]\n\n"))
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
		p.delta(map[string]any{"content": p.view.fill(s.text, false)})
	case opType:
		return p.typeWords(s)
	case opReasoning:
		text := p.view.fill(s.text, false)
		p.thought.WriteString(text)
		p.delta(map[string]any{"reasoning_content": text})
	case opSignature:
		p.s.sign(ReasoningBlock{Text: p.thought.String(), Signature: s.text})
		p.thought.Reset()
		p.delta(map[string]any{"reasoning_signature": s.text})
	case opCall:
		p.call(s)
	case opArgs:
		p.args(p.view.fill(s.text, true))
	case opEnd:
	case opUsage:
		p.event(map[string]any{"choices": []any{}, "usage": usage(s)})
	case opFinish:
		p.finished = true
		p.event(map[string]any{"choices": []any{choice(map[string]any{}, s.text)}})
	case opPing:
		p.write([]byte(": ping\n\n"))
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
		p.event(map[string]any{"error": map[string]any{"type": s.name, "message": s.text, "code": nil}})
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
	for range s.times {
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
		p.delta(map[string]any{"content": w})
		if !p.wait(s.d) {
			return false
		}
	}
	return true
}

func (p *player) call(s *step) {
	p.calls++
	p.delta(map[string]any{"tool_calls": []any{map[string]any{
		"index": p.calls - 1, "id": p.view.fill(s.id, false), "type": "function",
		"function": map[string]any{"name": s.name, "arguments": ""},
	}}})
	if s.text != "" {
		p.args(p.view.fill(s.text, true))
	}
}

func (p *player) args(fragment string) {
	p.delta(map[string]any{"tool_calls": []any{map[string]any{
		"index": max(p.calls-1, 0), "function": map[string]any{"arguments": fragment},
	}}})
}

func usage(s *step) map[string]any {
	u := map[string]any{}
	var total int64
	if s.in != nil {
		u["prompt_tokens"] = *s.in
		total += *s.in
	}
	if s.out != nil {
		u["completion_tokens"] = *s.out
		total += *s.out
	}
	u["total_tokens"] = total
	return u
}

func choice(delta map[string]any, finish any) map[string]any {
	return map[string]any{"index": 0, "delta": delta, "finish_reason": finish}
}

func (p *player) delta(d map[string]any) {
	if !p.spoke {
		p.spoke = true
		d["role"] = "assistant"
	}
	p.event(map[string]any{"choices": []any{choice(d, nil)}})
}

// event sends one chunk.
func (p *player) event(fields map[string]any) {
	fields["id"] = "chatcmpl-" + strconv.Itoa(p.req.N)
	fields["object"] = "chat.completion.chunk"
	fields["created"] = p.req.At.Unix()
	fields["model"] = "scripted"
	var b bytes.Buffer
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
	refuse(p.w, s.n, "scripted_error", "the script says "+strconv.Itoa(s.n))
}
