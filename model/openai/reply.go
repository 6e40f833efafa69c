package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// reply turns the events of the responses wire into deltas. One item streams at
// a time; of an item that begins while another is open nothing is told before
// its own end, which holds it whole.
//
//	none ⇄ open item ─response.completed | incomplete─▶ whole
//
// Take is the only function that changes it.
type reply struct {
	blocks model.Blocks
	open   itemKind
	index  int64
	grew   bool             // the open item said something
	args   []byte           // of the open call, so far
	behind map[int64]bool   // items of which nothing is told before their end
	told   map[int64]string // ids of the items that are over
	queue  []ended          // items that ended while another was open
	held   int              // bytes of their events
	done   bool
	why    event.FinishReason
	ev     replyEvent
}

type ended struct {
	index int64
	kind  itemKind
	item  outputItem
}

type itemKind int

const (
	noItem itemKind = iota
	wordsItem
	thoughtItem
	callItem
	otherItem
)

var _ model.Decoder = (*reply)(nil)

// replyEvent is one event as it came; its memory is used again.
type replyEvent struct {
	kind     string
	index    int64
	part     int64
	delta    []byte
	item     []byte
	response []byte
}

// outputItem is an item of the output, of which only the two events at its ends
// tell.
type outputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Status    string          `json:"status"`
	Encrypted string          `json:"encrypted_content"`
	Summary   json.RawMessage `json:"summary"`
	Content   json.RawMessage `json:"content"`
}

func (r *reply) Blocks() *model.Blocks { return &r.blocks }

func (r *reply) Stage() model.Stage {
	if r.done {
		return model.Whole
	}
	return model.Speaking
}

func (r *reply) Reason() event.FinishReason { return r.why }

func (e *replyEvent) read(s *model.Scan) error {
	*e = replyEvent{delta: e.delta[:0]}
	return s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			e.kind, err = s.Word()
		case "output_index":
			e.index, _, err = s.Count()
		case "summary_index", "content_index":
			e.part, _, err = s.Count()
		case "delta":
			e.delta, err = s.Text(e.delta)
		case "item":
			e.item, err = s.Raw()
		case "response":
			e.response, err = s.Raw()
		default:
			err = s.Skip()
		}
		return err
	})
}

// Take reads one event's data.
func (r *reply) Take(data []byte) error {
	e, s := &r.ev, model.NewScan(data)
	if err := e.read(s); err != nil {
		return err
	}
	if !s.End() {
		return model.ErrSyntax
	}
	if r.done {
		return nil
	}
	switch e.kind {
	case "response.output_text.delta", "response.refusal.delta":
		r.text(e)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.thought(e.index, e.delta)
	case "response.reasoning_summary_part.added":
		if e.part > 0 {
			r.thought(e.index, []byte("\n\n"))
		}
	case "response.function_call_arguments.delta":
		return r.fragment(e)
	case "response.output_item.added", "response.output_item.done":
		return r.item(e)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return r.end(e)
	case "error":
		return model.Reported(data)
	}
	return nil
}

// enter makes an item the open one. False: nothing of it is told now.
func (r *reply) enter(index int64, kind itemKind) bool {
	if r.over(index) {
		return false
	}
	if r.open == noItem {
		r.open, r.index, r.grew, r.args = kind, index, false, r.args[:0]
	}
	if r.index != index {
		if r.behind == nil {
			r.behind = map[int64]bool{}
		}
		r.behind[index] = true
		return false
	}
	return r.open == kind
}

func (r *reply) over(index int64) bool {
	_, ok := r.told[index]
	return ok
}

func (r *reply) text(e *replyEvent) {
	if r.enter(e.index, wordsItem) {
		r.grew = true
		r.blocks.Text(e.delta)
	}
}

func (r *reply) thought(index int64, p []byte) {
	if r.enter(index, thoughtItem) {
		r.grew = true
		r.blocks.Think(p, "", "", "")
	}
}

func (r *reply) fragment(e *replyEvent) error {
	switch {
	case r.open == callItem && r.index == e.index:
		r.args = append(r.args, e.delta...)
		r.blocks.Args(e.delta)
	case r.open != noItem:
		r.enter(e.index, callItem) // its end will tell
	case !r.over(e.index) && len(e.delta) > 0:
		return model.Misplaced("sent arguments for a tool call that is not open")
	}
	return nil
}

// item begins or ends one.
func (r *reply) item(e *replyEvent) error {
	var item outputItem
	if err := json.Unmarshal(e.item, &item); err != nil {
		return err
	}
	kind := otherItem
	switch item.Type {
	case "message":
		kind = wordsItem
	case "reasoning":
		kind = thoughtItem
	case "function_call":
		kind = callItem
	}
	if id, ok := r.told[e.index]; ok && id != item.ID {
		delete(r.told, e.index) // some count all their items as one
	}
	if e.kind == "response.output_item.done" {
		r.shut(ended{e.index, kind, item})
		return r.hold(len(e.item))
	}
	if fresh := r.open == noItem; r.enter(e.index, kind) && fresh && kind == callItem {
		r.blocks.OpenCall()
		r.blocks.Name(item.CallID, item.Name)
	}
	return nil
}

// mostHeld bounds the items that wait for the end of another.
const mostHeld = 8 << 20 // bytes

// hold counts what an item that ended takes while it waits.
func (r *reply) hold(n int) error {
	if r.held += n; len(r.queue) == 0 {
		r.held = 0
	}
	if r.held > mostHeld {
		return model.Misplaced(fmt.Sprintf("sent more than %d bytes of parts behind one that does not end", mostHeld))
	}
	return nil
}

// shut ends an item, once no other is open. What of it was not told yet is told
// now.
func (r *reply) shut(e ended) {
	if r.over(e.index) {
		return
	}
	if r.open != noItem && r.index != e.index {
		r.enter(e.index, e.kind)
		r.queue = append(r.queue, e)
		return
	}
	untold := r.open == noItem || !r.grew
	fresh := r.open == noItem
	if r.enter(e.index, e.kind) {
		r.rest(&e.item, e.kind, fresh, untold)
	}
	r.leave(e.index, e.item.ID)
}

func (r *reply) rest(item *outputItem, kind itemKind, fresh, untold bool) {
	switch kind {
	case wordsItem:
		if untold {
			r.blocks.Text([]byte(texts(item.Content)))
		}
		r.blocks.Close()
	case thoughtItem:
		r.seal(item, untold)
		r.blocks.Close()
	case callItem:
		if fresh {
			r.blocks.OpenCall()
		}
		r.blocks.Name(item.CallID, item.Name)
		if rest, ok := strings.CutPrefix(item.Arguments, string(r.args)); ok && rest != "" {
			r.blocks.Args([]byte(rest))
		}
		if item.Status == "incomplete" {
			r.blocks.CutHalf()
		} else if r.blocks.WholeArgs() {
			r.blocks.Close()
		} // else whether it was cut is known at the next item or the finish
	case noItem, otherItem:
	}
}

// leave ends the open item, and then those that ended before it.
func (r *reply) leave(index int64, id string) {
	if r.told == nil {
		r.told = map[int64]string{}
	}
	r.told[index] = id
	delete(r.behind, index)
	r.open = noItem
	for len(r.queue) > 0 && r.open == noItem {
		next := r.queue[0]
		r.queue = r.queue[1:]
		r.shut(next)
	}
}

// seal signs the open reasoning, if the provider gave what goes back to it.
func (r *reply) seal(item *outputItem, untold bool) {
	var text []byte
	if untold {
		if text = []byte(texts(item.Summary)); len(text) == 0 {
			text = []byte(texts(item.Content))
		}
	}
	r.blocks.Think(text, "", "", "")
	if item.Encrypted == "" || item.ID == "" {
		return
	}
	s := seal{ID: item.ID, Summary: item.Summary, Content: item.Content}
	if len(s.Summary) == 0 || string(s.Summary) == "null" {
		s.Summary = json.RawMessage("[]")
	}
	if string(s.Content) == "null" {
		s.Content = nil
	}
	signature, err := json.Marshal(s)
	if err != nil {
		return // never: its parts were read from JSON
	}
	r.blocks.Think(nil, string(signature), item.Encrypted, model.OpenAIResponses)
}

// texts joins the texts of a list of parts.
func texts(raw json.RawMessage) string {
	var parts []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	_ = json.Unmarshal(raw, &parts) // what is no list has no text
	var out []string
	for _, p := range parts {
		out = append(out, p.Text+p.Refusal)
	}
	return strings.Join(out, "\n\n")
}

// unheard says that a part that streamed beside the open one never had its end.
func (r *reply) unheard() bool {
	if r.open != noItem {
		r.leave(r.index, "")
	}
	return len(r.behind) > 0
}

// end takes the terminal event.
func (r *reply) end(e *replyEvent) error {
	var res struct {
		Status string          `json:"status"`
		Error  json.RawMessage `json:"error"`
		Usage  *struct {
			Input  *int64 `json:"input_tokens"`
			Output *int64 `json:"output_tokens"`
		} `json:"usage"`
		Incomplete *struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	}
	if err := json.Unmarshal(e.response, &res); err != nil {
		return err
	}
	switch {
	case e.kind == "response.failed" || e.kind == "response.cancelled" || res.Status == "failed" || res.Status == "cancelled":
		return model.Reported(e.response)
	case e.kind == "response.incomplete" || res.Status == "incomplete":
		r.why = event.FinishLength
		if res.Incomplete != nil && res.Incomplete.Reason == "content_filter" {
			r.why = event.FinishFilter
		}
		r.blocks.CutHalf()
		if r.open != noItem { // what ended behind it is whole
			r.leave(r.index, "")
			r.blocks.CutHalf()
		}
	case r.unheard():
		return model.Misplaced("finished an answer without the end of one of its parts")
	default:
		r.why = event.FinishStop
		if r.blocks.Calls > 0 {
			r.why = event.FinishTools
		}
	}
	r.blocks.Close()
	if u := res.Usage; u != nil {
		r.blocks.Count(event.Tokens{Input: u.Input, Output: u.Output})
	}
	r.done = true
	return nil
}
