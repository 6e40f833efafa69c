package openai

import (
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// answer turns the chunks of a chat completion into deltas.
//
//	speaking ─finish_reason─▶ finished (only usage counts)
//
// Take is the only function that changes it.
type answer struct {
	blocks model.Blocks
	index  int64 // of the open call
	finish string
	last   bool // usage came with the finish or after it
	chunk  chunk
}

var _ model.Decoder = (*answer)(nil)

// chunk is one event as it came; its memory is used again.
type chunk struct {
	content, reasoning []byte
	signature, data    string
	calls              []callDelta
	finish             string
	usage              event.Tokens
	counted            bool
	fault              []byte
}

type callDelta struct {
	index   int64
	indexed bool
	id      string
	name    string
	args    []byte
}

func (a *answer) Blocks() *model.Blocks { return &a.blocks }

func (a *answer) Stage() model.Stage {
	switch {
	case a.finish == "":
		return model.Speaking
	case a.last:
		return model.Whole
	}
	return model.Finished
}

func (a *answer) Reason() event.FinishReason {
	switch a.finish {
	case "length":
		return event.FinishLength
	case "content_filter":
		return event.FinishFilter
	}
	if a.blocks.Calls > 0 {
		return event.FinishTools
	}
	return event.FinishStop
}

// Take reads one event's data.
func (a *answer) Take(data []byte) error {
	c := &a.chunk
	*c = chunk{content: c.content[:0], reasoning: c.reasoning[:0], calls: c.calls[:0]}
	s := model.NewScan(data)
	if err := c.read(s, data); err != nil {
		return err
	}
	if !s.End() {
		return model.ErrSyntax
	}
	speaking := a.finish == ""
	if c.fault != nil && speaking {
		return model.Reported(c.fault)
	}
	if speaking {
		if err := a.apply(c); err != nil {
			return err
		}
	}
	if c.counted {
		a.blocks.Count(c.usage)
		a.last = a.finish != ""
	}
	return nil
}

func (a *answer) apply(c *chunk) error {
	a.blocks.Think(c.reasoning, c.signature, c.data, model.OpenAIChat)
	a.blocks.Text(c.content)
	for i := range c.calls {
		if err := a.callDelta(&c.calls[i]); err != nil {
			return err
		}
	}
	if c.finish != "" {
		// At a limit the last call may be half a call; it must not look whole.
		if c.finish == "length" || c.finish == "content_filter" {
			a.blocks.CutHalf()
		}
		a.blocks.Close()
		a.finish = c.finish
	}
	return nil
}

func (a *answer) callDelta(d *callDelta) error {
	if !a.continues(d) {
		if d.id == "" && d.name == "" {
			if len(d.args) == 0 {
				return nil
			}
			return model.Misplaced("sent arguments for a tool call that is not open")
		}
		a.blocks.OpenCall()
		a.index = d.index
	}
	a.blocks.Name(d.id, d.name)
	a.blocks.Args(d.args)
	return nil
}

// continues tells a fragment of the open call from a new call's start.
func (a *answer) continues(d *callDelta) bool {
	id, name, open := a.blocks.InCall()
	switch {
	case !open:
		return false
	case d.indexed && d.index != a.index:
		return false
	case d.id != "" && id != "" && d.id != id:
		return false
	case d.name != "" && name != "" && a.blocks.WholeArgs():
		return false
	}
	return true
}
