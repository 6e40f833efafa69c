package ripcord

import (
	"context"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Fork implements [api.Service].
func (r *Runtime) Fork(ctx context.Context, req api.ForkRequest) (event.SessionID, error) {
	return "", &api.Error{Code: event.FailUnsupported, Message: "fork is being written"}
}
