//go:build unix

package file_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"golang.org/x/sys/unix"
)

// proves LOG-15: a pipe, a folder or a device where a journal belongs is
// listed, read and refused at once, and keeps no other session from its work.
func TestWhatIsNoRegularFileHoldsNothingUp(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, file.Options{})
	w, err := s.Create(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, put := range map[string]func(path string) error{
		"s_pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"s_folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"s_device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		folder := s.Dir(event.SessionID(name))
		if err := errors.Join(os.MkdirAll(folder, 0o700), put(folder+"/journal.jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		states := map[event.SessionID]journal.State{}
		all, err := s.List(t.Context())
		for _, e := range all {
			states[e.ID] = e.State
		}
		if err != nil || len(all) != 4 || states[id] != journal.StateRunning {
			t.Errorf("listed %v, %v", states, err)
		}
		for _, bad := range []event.SessionID{"s_pipe", "s_folder", "s_device"} {
			if states[bad] != journal.StateDamaged {
				t.Errorf("%s is listed as %s", bad, states[bad])
			}
			_, verified := s.Verify(t.Context(), bad)
			_, acquired := s.Acquire(t.Context(), bad)
			for _, err := range []error{verified, acquired} {
				if !errors.Is(err, journal.ErrStorage) {
					t.Errorf("%s: %v", bad, err)
				}
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for what will never come")
	}
}
