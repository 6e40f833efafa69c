package ripcord

import (
	"context"
	"errors"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/inbox"
	"github.com/ripcord-go/ripcord/turn"
)

// Inbox implements [api.Service].
func (r *Runtime) Inbox(_ context.Context, id event.SessionID) ([]api.Waiting, error) {
	l, err := r.get(id)
	if err != nil {
		return nil, err
	}
	waiting, held := l.Waiting()
	out := []api.Waiting{}
	for _, e := range waiting {
		out = append(out, waitingOf(e, held[e.ID]))
	}
	return out, nil
}

func waitingOf(e inbox.Entry, held bool) api.Waiting {
	return api.Waiting{ID: e.ID, Priority: e.Priority, Input: e.Input, Held: held, By: e.By}
}

// EditInput implements [api.Service].
func (r *Runtime) EditInput(ctx context.Context, req api.EditRequest) error {
	l, err := r.get(req.Session)
	if err != nil {
		return err
	}
	if err := fits(req.Input.Content); err != nil {
		return err
	}
	return stale(l.Edit(ctx, req.ID, req.Input, req.By))
}

// RemoveInput implements [api.Service].
func (r *Runtime) RemoveInput(ctx context.Context, req api.RemoveRequest) error {
	l, err := r.get(req.Session)
	if err != nil {
		return err
	}
	return stale(l.Remove(ctx, req.ID, req.By))
}

// stale is what a change of an input comes to that does not wait any more.
func stale(err error) error {
	if errors.Is(err, turn.ErrNotNow) {
		return &api.Error{Code: "stale", Message: "this input does not wait any more: a turn has taken it, or it was taken back", Hint: "look at the session's inbox", Err: err}
	}
	return toError(err)
}

// ClearInbox implements [api.Service].
func (r *Runtime) ClearInbox(ctx context.Context, req api.ClearRequest) ([]string, error) {
	l, err := r.get(req.Session)
	if err != nil {
		return nil, err
	}
	texts, err := l.ClearInbox(ctx, req.By)
	return list(texts), toError(err)
}

// Retry implements [api.Service].
func (r *Runtime) Retry(ctx context.Context, req api.RetryRequest) (api.Submitted, error) {
	l, err := r.get(req.Session)
	if err != nil {
		return api.Submitted{}, err
	}
	back, err := l.Retry(ctx, req.By, req.Options)
	if err != nil {
		return api.Submitted{}, toError(err)
	}
	return api.Submitted{Input: back.Turn, State: string(turn.Running)}, nil
}

// Rewind implements [api.Service].
func (r *Runtime) Rewind(ctx context.Context, req api.RewindRequest) (api.Rewound, error) {
	l, err := r.get(req.Session)
	if err != nil {
		return api.Rewound{}, err
	}
	back, err := l.Rewind(ctx, req.Turn, req.Restore, req.DropSteers, req.By)
	if err != nil {
		return api.Rewound{}, toError(err)
	}
	out := api.Rewound{Turn: back.From, Returned: []api.Waiting{}}
	for _, a := range back.Inputs {
		out.Returned = append(out.Returned, waitingOf(inbox.Entry{InboxAccepted: a}, true))
	}
	return out, nil
}

// Compact implements [api.Service].
func (r *Runtime) Compact(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	l, err := r.get(id)
	if err != nil {
		return api.Submitted{}, err
	}
	input, err := l.Compact(ctx, "")
	if err != nil {
		return api.Submitted{}, toError(err)
	}
	return api.Submitted{Input: input, State: string(turn.Running)}, nil
}
