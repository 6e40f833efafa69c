package file

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// seedName begins the name of a folder in which a session is laid ready. It is
// no session's: an id does not begin with a dot.
const seedName = ".seed-"

// Seed makes a whole session. It is laid ready in a folder that is no
// session's, and gets its name once all of it is durable.
func (s *Store) Seed(ctx context.Context, id event.SessionID, recs []event.Record, from event.SessionID, blobs []event.BlobRef) (err error) {
	if err := errors.Join(journal.CheckID(id), journal.CheckID(from)); err != nil {
		return err
	}
	lines, err := journal.Seeded(id, recs, s.check())
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	exists := fmt.Errorf("session %s: %w", id, journal.ErrExists)
	if _, err := s.fs.Stat(s.path(id, "")); err == nil {
		return exists
	}
	temp := event.SessionID(seedName + string(id))
	dirs := s.missingDirs(s.path(temp, ""))[1:] // those above it
	if err := s.fs.MkdirAll(s.path(temp, ""), 0o700); err != nil {
		return s.storage(id, "create", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.fs.RemoveAll(s.path(temp, "")))
		}
	}()
	if err := s.lay(ctx, temp, lines, from, blobs); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s.storage(id, "create", err)
	}
	if err := s.fs.Rename(s.path(temp, ""), s.path(id, "")); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return exists
		}
		return s.storage(id, "create", err)
	}
	for _, dir := range dirs {
		if err := s.fs.SyncDir(dir); err != nil {
			return s.storage(id, "sync the folder", err)
		}
	}
	s.notify(id)
	return nil
}

// lay makes what is in the session's folder, durable.
func (s *Store) lay(ctx context.Context, temp event.SessionID, lines []byte, from event.SessionID, refs []event.BlobRef) error {
	f, err := s.fs.Open(s.path(temp, journalName), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	b := blobs{s, temp}
	for _, ref := range refs {
		if err := s.share(ctx, b, from, ref); err != nil {
			return err
		}
	}
	return s.fs.SyncDir(s.path(temp, ""))
}

// linker is a file system that gives a file a second name.
type linker interface{ Link(old, name string) error }

// Link gives a file a second name.
func (OS) Link(old, name string) error { return os.Link(old, name) }

// share gives to one of from's blobs: by a second name where the file system
// has those, else a copy. Blobs are never written again, so that one file may
// be two sessions'. A blob that is not there or damaged is left out: it is the
// same for its reader.
func (s *Store) share(ctx context.Context, to blobs, from event.SessionID, ref event.BlobRef) error {
	data, err := blobs{s, from}.Get(ctx, ref)
	if errors.Is(err, journal.ErrNoBlob) {
		return nil
	}
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(ref.Digest, digestPrefix)
	if _, err := hex.DecodeString(name); err != nil {
		return err
	}
	if l, ok := s.fs.(linker); ok && s.fs.MkdirAll(s.path(to.id, blobsName), 0o700) == nil {
		if l.Link(filepath.Join(s.path(from, blobsName), name), filepath.Join(s.path(to.id, blobsName), name)) == nil {
			return s.fs.SyncDir(s.path(to.id, blobsName))
		}
	}
	return to.put(name, data)
}
