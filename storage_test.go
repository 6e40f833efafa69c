package ripcord_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// foreign is a store of somebody else's.
type foreign struct{ journal.Store }

func (foreign) List(context.Context) ([]journal.Entry, error) {
	return nil, fmt.Errorf("list sessions: %w: %w", journal.ErrStorage, &os.PathError{Op: "open", Path: "sessions", Err: os.ErrPermission})
}

// proves CLI-03, LOG-14: what may not be touched is not a full disk, and the
// next step says so.
func TestAStoreOfAnotherUserIsNotCalledAFullDisk(t *testing.T) {
	rt, err := ripcord.New(ripcord.Config{Store: foreign{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	_, err = rt.Sessions(t.Context())
	var e *api.Error
	if !errors.As(err, &e) || e.Code != event.FailStorage || strings.Contains(e.Hint, "room") || !strings.Contains(e.Hint, "owns") {
		t.Errorf("got %+v", err)
	}
}
