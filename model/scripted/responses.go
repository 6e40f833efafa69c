package scripted

import (
	"fmt"
	"strings"
)

// responses speaks the responses wire: numbered events about output items.
//
//	response.created ─▶ (output_item.added ─▶ deltas ─▶ output_item.done)… ─▶ response.completed | incomplete
//
// Usage has no event of its own: what came before the finish goes with it.
type responses struct {
	p     *player
	begun bool
	seq   int
	item  map[string]any // the open item, nil if none is
	grown strings.Builder
	out   []any // items that are done
	used  map[string]any
}

func (r *responses) say(name string, fields map[string]any) {
	fields["type"] = name
	fields["sequence_number"] = r.seq
	r.seq++
	r.p.event(name, fields)
}

func (r *responses) response(status string) map[string]any {
	return map[string]any{"id": fmt.Sprintf("resp_%d", r.p.req.N), "object": "response", "created_at": r.p.req.At.Unix(),
		"model": "scripted", "status": status, "output": append([]any{}, r.out...), "error": nil, "incomplete_details": nil, "usage": nil}
}

func (r *responses) start() {
	if !r.begun {
		r.begun = true
		r.say("response.created", map[string]any{"response": r.response("in_progress")})
	}
}

// about sends an event about the open item.
func (r *responses) about(name string, fields map[string]any) {
	fields["output_index"] = len(r.out)
	if r.item != nil {
		fields["item_id"] = r.item["id"]
	}
	r.say(name, fields)
}

func (r *responses) begin(kind, prefix string, item map[string]any) {
	r.start()
	r.end()
	item["id"] = fmt.Sprintf("%s_%d_%d", prefix, r.p.req.N, len(r.out))
	item["type"] = kind
	r.item = item
	r.say("response.output_item.added", map[string]any{"output_index": len(r.out), "item": item})
}

func (r *responses) is(kind string) bool { return r.item != nil && r.item["type"] == kind }

func (r *responses) text(s string) {
	if !r.is("message") {
		r.begin("message", "msg", map[string]any{"role": "assistant", "status": "in_progress", "content": []any{}})
		r.about("response.content_part.added", map[string]any{"content_index": 0, "part": outputText("")})
	}
	r.grown.WriteString(s)
	r.about("response.output_text.delta", map[string]any{"content_index": 0, "delta": s, "logprobs": []any{}})
}

func outputText(s string) map[string]any {
	return map[string]any{"type": "output_text", "text": s, "annotations": []any{}}
}

func summaryText(s string) map[string]any { return map[string]any{"type": "summary_text", "text": s} }

func (r *responses) reasoning(s string) {
	if !r.is("reasoning") {
		r.begin("reasoning", "rs", map[string]any{"summary": []any{}})
		r.about("response.reasoning_summary_part.added", map[string]any{"summary_index": 0, "part": summaryText("")})
	}
	r.grown.WriteString(s)
	r.about("response.reasoning_summary_text.delta", map[string]any{"summary_index": 0, "delta": s})
}

func (r *responses) sign(thought, signature string) ReasoningBlock {
	if !r.is("reasoning") {
		r.begin("reasoning", "rs", map[string]any{"summary": []any{}})
	}
	id := r.item["id"].(string)
	r.item["encrypted_content"] = signature
	r.end()
	return ReasoningBlock{Text: thought, Signature: id, Data: signature}
}

func (r *responses) redacted(data string) ReasoningBlock {
	r.begin("reasoning", "rs", map[string]any{"summary": []any{}})
	return r.sign("", data)
}

func (r *responses) call(id, name string) {
	r.begin("function_call", "fc", map[string]any{"call_id": id, "name": name, "arguments": "", "status": "in_progress"})
}

func (r *responses) args(fragment string) {
	r.start()
	r.grown.WriteString(fragment)
	r.about("response.function_call_arguments.delta", map[string]any{"delta": fragment})
}

func (r *responses) end() { r.close("completed") }

func (r *responses) close(status string) {
	if r.item == nil {
		return
	}
	text := r.grown.String()
	r.grown.Reset()
	switch r.item["type"] {
	case "message":
		r.about("response.output_text.done", map[string]any{"content_index": 0, "text": text})
		r.about("response.content_part.done", map[string]any{"content_index": 0, "part": outputText(text)})
		r.item["content"], r.item["status"] = []any{outputText(text)}, status
	case "reasoning":
		if text != "" {
			r.about("response.reasoning_summary_text.done", map[string]any{"summary_index": 0, "text": text})
			r.about("response.reasoning_summary_part.done", map[string]any{"summary_index": 0, "part": summaryText(text)})
			r.item["summary"] = []any{summaryText(text)}
		}
	case "function_call":
		r.about("response.function_call_arguments.done", map[string]any{"arguments": text})
		r.item["arguments"], r.item["status"] = text, status
	}
	r.say("response.output_item.done", map[string]any{"output_index": len(r.out), "item": r.item})
	r.out = append(r.out, r.item)
	r.item = nil
}

func (r *responses) usage(in, out *int64) {
	if !r.p.finished {
		r.used = counts("input_tokens", in, "output_tokens", out)
	}
}

func (r *responses) finish(reason string) {
	r.start()
	status, name := "completed", "response.completed"
	if reason == "length" || reason == "content_filter" {
		status, name = "incomplete", "response.incomplete"
	}
	r.close(status)
	res := r.response(status)
	if r.used != nil {
		res["usage"] = r.used
	}
	switch reason {
	case "length":
		res["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	case "content_filter":
		res["incomplete_details"] = map[string]any{"reason": "content_filter"}
	}
	r.say(name, map[string]any{"response": res})
}

func (r *responses) ping() { r.p.write([]byte(": ping\n\n")) }

func (r *responses) fault(kind, words string) {
	r.say("error", map[string]any{"code": kind, "message": words, "param": nil})
}

func (r *responses) done() {} // the finish is the end
