package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/inbox"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// errSevered is the cause with which a guard ends an attempt.
var errSevered = errors.New("a guard ended the attempt")

// Edit gives a waiting input other words. One that is a turn's by now is
// [turn.ErrNotNow].
func (l *Live) Edit(ctx context.Context, id event.InputID, in event.UserInput, by string) error {
	in = l.offload(ctx, in)
	_, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Edit{ID: id, Input: in, By: by, Token: t} })
	return err
}

// Remove takes a waiting input back. One that is a turn's by now is
// [turn.ErrNotNow].
func (l *Live) Remove(ctx context.Context, id event.InputID, by string) error {
	_, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Remove{ID: id, By: by, Token: t} })
	return err
}

// Retry hides the last turn, which must have ended so that it can be asked
// again, and asks again with its own input and options, or with options where
// they are not nil. It is refused while a turn runs.
func (l *Live) Retry(ctx context.Context, by string, options *event.SubmitOptions) (turn.Returned, error) {
	if err := l.hasModel(); err != nil {
		return turn.Returned{}, err
	}
	return l.rewind(ctx, turn.Rewind{Retry: true, Options: options, By: by, ID: l.newInput()})
}

// Rewind hides the turns from `from` on, the last one alone where it is 0. With
// restore set the first one's input comes back to the inbox, held. Nothing is
// removed from the journal and no file is touched.
func (l *Live) Rewind(ctx context.Context, from int, restore, dropSteers bool, by string) (turn.Returned, error) {
	return l.rewind(ctx, turn.Rewind{From: from, Restore: restore, DropSteers: dropSteers, By: by})
}

func (l *Live) rewind(ctx context.Context, in turn.Rewind) (turn.Returned, error) {
	v, err := l.ask(ctx, func(t turn.Token) turn.Input {
		in.Token = t
		return in
	})
	if err != nil {
		return turn.Returned{}, err
	}
	return v.(turn.Returned), nil
}

// Compact starts a turn that asks for a summary of the context, and returns its
// address. It can be interrupted like any turn.
func (l *Live) Compact(ctx context.Context, by string) (event.InputID, error) {
	if err := l.hasModel(); err != nil {
		return "", err
	}
	id := l.newInput()
	_, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Compact{ID: id, By: by, Token: t} })
	return id, err
}

// Waiting returns what waits in the inbox, in order, as of the last step, and
// which of it no turn takes by itself.
func (l *Live) Waiting() (waiting []inbox.Entry, held map[event.InputID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.Entries(), l.heldIDs
}

// join makes the active turn stoppable by inputs that have entered it.
func (l *Live) join(e turn.Join) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if act := l.active; act != nil && act.turn == e.Turn {
		act.inputs = append(act.inputs[:len(act.inputs):len(act.inputs)], e.Inputs...)
	}
}

// summarize asks the model for a summary, once the hooks before a compaction
// have let it, on a goroutine of its own.
func (l *Live) summarize(e turn.AskSummary) {
	act := l.current()
	if act == nil || interrupt.Tripped(act.coord, act.caller) {
		l.queue = append(l.queue, turn.Summarized{Ticket: e.Ticket, Cut: true})
		return
	}
	l.asking = e.Ticket
	sig, m := act.coord.Signal(), l.moment(gate.PreCompact, e.Turn)
	m.Reason = e.Why
	act.errands.begin() // what the hooks came to is recorded before the turn's end
	l.work.Go(func() {
		in := turn.Summarized{Ticket: e.Ticket}
		ctx, stop := interrupt.ContextOf(l.ctx, sig)
		defer stop()
		by, why := l.mayCompact(ctx, m)
		act.errands.done()
		if by != "" {
			in.Blocked, in.Why = by, why
		} else {
			l.summary(ctx, sig, e, &in)
		}
		in.Cut = in.Cut || sig.Cancelled() || l.ctx.Err() != nil
		l.tell(in)
	})
}

// mayCompact asks the hooks; it returns who blocked and why, "" if nobody did.
func (l *Live) mayCompact(ctx context.Context, m gate.Moment) (by, why string) {
	if l.cfg.Hooks == nil || !l.cfg.Hooks.Any(gate.PreCompact, "") {
		return "", ""
	}
	v, _ := gate.Closed(turnGate{l, m}).Judge(ctx, nil, tool.Spec{}) // a closed gate has no error
	if v.Decision == gate.Allow {
		return "", ""
	}
	return v.By, v.Why
}

// summary reads the summary's stream into in.
func (l *Live) summary(ctx context.Context, sig interrupt.Signal, e turn.AskSummary, in *turn.Summarized) {
	ask := turn.Ask{Ticket: e.Ticket, Turn: e.Turn, Config: e.Config, Messages: e.Messages}
	ask.Config.Tools = nil
	var text strings.Builder
	var end event.FinishReason
	in.Failure, in.Cut = l.listen(ctx, sig, ask, func(d event.Delta) bool {
		switch d := d.(type) {
		case event.TextDelta:
			text.WriteString(d.Text)
		case event.UsageDelta:
			if d.Usage.Input != nil {
				in.Tokens.Input = d.Usage.Input
			}
			if d.Usage.Output != nil {
				in.Tokens.Output = d.Usage.Output
			}
		case event.Finish:
			end = d.Reason
		case event.ReasoningDelta, event.CallStart, event.ArgsDelta, event.CallEnd:
		}
		return text.Len() <= summaryMax
	})
	in.Text, in.Bytes = text.String(), text.Len()
	if text.Len() > summaryMax && in.Failure == nil && !sig.Cancelled() { // we hung up, nobody stopped it
		in.Cut = false
		in.Failure = &event.Failure{Code: event.FailProtocol, Message: fmt.Sprintf("the summary is longer than %d bytes", summaryMax)}
	}
	if in.Failure == nil && !in.Cut {
		in.Failure = unfinished(end)
	}
}

// unfinished says why a summary with this end is none; nil if it is one. A cut
// stream looks like a short summary.
func unfinished(end event.FinishReason) *event.Failure {
	why := ""
	switch end {
	case event.FinishStop:
		return nil
	case event.FinishTools:
		why = "the model called a tool instead of writing a summary"
	case event.FinishLength:
		why = "the summary reached the model's limit before its end"
	case event.FinishFilter:
		why = "the provider withheld the rest of the summary"
	case event.FinishRepeat:
		why = "the summary went round in circles"
	default:
		why = "the summary's stream ended before its end"
	}
	return &event.Failure{Code: event.FailProtocol, Message: why}
}

// summaryMax bounds a summary, in bytes.
const summaryMax = 256 << 10
