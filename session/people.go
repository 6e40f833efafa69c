package session

import (
	"context"
	"errors"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// people is who a running call can ask: whoever watches the session.
type people struct {
	book *callBook // of the outer call
	tool string    // who asks
}

var _ tool.People = (*people)(nil)

// Ask implements [tool.People]. It waits without a timer: a person may take a
// day.
func (p *people) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	if p.book.l.cfg.Alone {
		return tool.Answer{}, tool.ErrNobody
	}
	d, err := p.book.question(ctx, event.ApprovalAsked{Tool: p.tool, Prompt: q.Prompt, Question: true, Options: q.Options})
	if err != nil {
		return tool.Answer{}, err
	}
	return tool.Answer{Text: d.Why, By: d.By, Refused: d.Decision != event.Allow}, nil
}

// question puts what the call asks into the journal, and waits for a person. An
// asker whose ctx ends takes its question back, so that nobody is asked what
// nobody waits for; an answer that had come by then is the answer.
func (b *callBook) question(ctx context.Context, q event.ApprovalAsked) (event.ApprovalDecided, error) {
	l := b.l
	ref := l.refs.Add(1)
	p, err := l.post(ctx, func(t turn.Token) turn.Input {
		return turn.AskPeople{Turn: b.turn, Call: b.call, Asked: q, Ref: ref, Token: t}
	})
	if err != nil {
		return event.ApprovalDecided{}, err
	}
	// Behind the question on the way to the driver, so that it finds it.
	defer context.AfterFunc(ctx, func() { l.tell(turn.TakeBack{Ref: ref, Why: "the asker waits no longer"}) })()
	books, stop := interrupt.CallContext(ctx)
	defer stop()
	v, err := l.answered(books, p)
	if err != nil && ctx.Err() != nil {
		return event.ApprovalDecided{}, context.Cause(ctx)
	}
	if errors.Is(err, turn.ErrVoided) || errors.Is(err, ErrClosed) {
		err = tool.ErrVoided
	}
	d, _ := v.(event.ApprovalDecided)
	return d, err
}
