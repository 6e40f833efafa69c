package session

import (
	"context"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// RunNext starts a turn on the first input that waits, held or not, and returns
// that input: it is the turn's address.
func (l *Live) RunNext(ctx context.Context) (event.InputID, error) {
	if err := l.hasModel(); err != nil {
		return "", err
	}
	v, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Go{First: true, Token: t} })
	id, _ := v.(event.InputID)
	return id, err
}
