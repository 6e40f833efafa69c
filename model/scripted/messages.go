package scripted

import "strconv"

// messages speaks the messages wire: blocks that open, grow and stop.
//
//	message_start ─▶ (content_block_start ─▶ deltas ─▶ content_block_stop)… ─▶ message_delta ─▶ message_stop
//
// A block stops when another opens, at its own end, or at the finish.
type messages struct {
	p     *player
	begun bool
	open  string // kind of the open block
	index int    // of the open block, else of the next
	early map[string]any
}

func (m *messages) say(name string, fields map[string]any) {
	fields["type"] = name
	m.p.event(name, fields)
}

// start sends what stands before every block, with the usage that came before
// it.
func (m *messages) start() {
	if m.begun {
		return
	}
	m.begun = true
	usage := m.early
	if usage == nil {
		usage = map[string]any{}
	}
	m.say("message_start", map[string]any{"message": map[string]any{
		"id": "msg_" + strconv.Itoa(m.p.req.N), "type": "message", "role": "assistant", "model": "scripted",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}})
}

func (m *messages) begin(kind string, block map[string]any) {
	m.start()
	m.end()
	m.open = kind
	block["type"] = kind
	m.say("content_block_start", map[string]any{"index": m.index, "content_block": block})
}

func (m *messages) delta(fields map[string]any) {
	m.start()
	m.say("content_block_delta", map[string]any{"index": m.index, "delta": fields})
}

func (m *messages) end() {
	if m.open == "" {
		return
	}
	m.say("content_block_stop", map[string]any{"index": m.index})
	m.open = ""
	m.index++
}

func (m *messages) text(s string) {
	if m.open != "text" {
		m.begin("text", map[string]any{"text": ""})
	}
	m.delta(map[string]any{"type": "text_delta", "text": s})
}

func (m *messages) think() {
	if m.open != "thinking" {
		m.begin("thinking", map[string]any{"thinking": "", "signature": ""})
	}
}

func (m *messages) reasoning(s string) {
	m.think()
	m.delta(map[string]any{"type": "thinking_delta", "thinking": s})
}

func (m *messages) sign(thought, signature string) ReasoningBlock {
	m.think()
	m.delta(map[string]any{"type": "signature_delta", "signature": signature})
	m.end()
	return ReasoningBlock{Text: thought, Signature: signature}
}

func (m *messages) redacted(data string) ReasoningBlock {
	m.begin("redacted_thinking", map[string]any{"data": data})
	m.end()
	return ReasoningBlock{Data: data}
}

func (m *messages) call(id, name string) {
	m.begin("tool_use", map[string]any{"id": id, "name": name, "input": map[string]any{}})
}

func (m *messages) args(fragment string) {
	m.delta(map[string]any{"type": "input_json_delta", "partial_json": fragment})
}

func (m *messages) usage(in, out *int64) {
	u := counts("input_tokens", in, "output_tokens", out)
	delete(u, "total_tokens") // not on this wire
	if !m.begun && !m.p.finished {
		m.early = u
		return
	}
	m.say("message_delta", map[string]any{"delta": map[string]any{"stop_reason": nil, "stop_sequence": nil}, "usage": u})
}

func (m *messages) finish(reason string) {
	m.start()
	m.end()
	stop := map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}[reason]
	m.say("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}})
}

func (m *messages) ping() { m.say("ping", map[string]any{}) }

func (m *messages) fault(kind, words string) {
	m.say("error", map[string]any{"error": map[string]any{"type": kind, "message": words}})
}

func (m *messages) done() { m.say("message_stop", map[string]any{}) }
