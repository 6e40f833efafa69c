package scripted

import "strconv"

// chat speaks chat completions: one delta an event, an end by [DONE].
type chat struct {
	p     *player
	spoke bool // a delta is out
	calls int  // opened in this answer
}

func (c *chat) text(s string)      { c.delta(map[string]any{"content": s}) }
func (c *chat) reasoning(s string) { c.delta(map[string]any{"reasoning_content": s}) }

func (c *chat) sign(thought, signature string) ReasoningBlock {
	c.delta(map[string]any{"reasoning_signature": signature})
	return ReasoningBlock{Text: thought, Signature: signature}
}

func (c *chat) redacted(data string) ReasoningBlock {
	c.delta(map[string]any{"reasoning_data": data})
	return ReasoningBlock{Data: data}
}

func (c *chat) call(id, name string) {
	c.calls++
	c.delta(map[string]any{"tool_calls": []any{map[string]any{
		"index": c.calls - 1, "id": id, "type": "function",
		"function": map[string]any{"name": name, "arguments": ""},
	}}})
}

func (c *chat) args(fragment string) {
	c.delta(map[string]any{"tool_calls": []any{map[string]any{
		"index": max(c.calls-1, 0), "function": map[string]any{"arguments": fragment},
	}}})
}

func (c *chat) end() {} // this wire does not say it

func (c *chat) usage(in, out *int64) {
	c.event(map[string]any{"choices": []any{}, "usage": counts("prompt_tokens", in, "completion_tokens", out)})
}

func (c *chat) finish(reason string) {
	c.event(map[string]any{"choices": []any{choice(map[string]any{}, reason)}})
}

func (c *chat) ping() { c.p.write([]byte(": ping\n\n")) }

func (c *chat) fault(kind, words string) {
	c.event(map[string]any{"error": map[string]any{"type": kind, "message": words, "code": nil}})
}

func (c *chat) done() { c.p.write([]byte("data: [DONE]\n\n")) }

func choice(delta map[string]any, finish any) map[string]any {
	return map[string]any{"index": 0, "delta": delta, "finish_reason": finish}
}

func (c *chat) delta(d map[string]any) {
	if !c.spoke {
		c.spoke = true
		d["role"] = "assistant"
	}
	c.event(map[string]any{"choices": []any{choice(d, nil)}})
}

func (c *chat) event(fields map[string]any) {
	fields["id"] = "chatcmpl-" + strconv.Itoa(c.p.req.N)
	fields["object"] = "chat.completion.chunk"
	fields["created"] = c.p.req.At.Unix()
	fields["model"] = "scripted"
	c.p.event("", fields)
}

// counts gives the token counts that are known, and their sum.
func counts(inName string, in *int64, outName string, out *int64) map[string]any {
	u := map[string]any{}
	var total int64
	if in != nil {
		u[inName] = *in
		total += *in
	}
	if out != nil {
		u[outName] = *out
		total += *out
	}
	u["total_tokens"] = total
	return u
}
