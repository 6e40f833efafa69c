package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

const digestPrefix = "sha256:"

type blobs struct {
	s  *Store
	id event.SessionID
}

// Blobs returns the session's large values.
func (s *Store) Blobs(id event.SessionID) journal.Blobs { return blobs{s, id} }

// Put keeps data and returns its name; it is durable then. Keeping the same
// data again is cheap and safe.
func (b blobs) Put(ctx context.Context, data []byte) (event.BlobRef, error) {
	if err := journal.CheckID(b.id); err != nil {
		return event.BlobRef{}, err
	}
	if ctx.Err() != nil {
		return event.BlobRef{}, context.Cause(ctx)
	}
	if _, err := b.s.fs.Stat(b.s.path(b.id, "")); err != nil {
		return event.BlobRef{}, b.s.missing(b.id, err)
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	if err := b.put(name, data); err != nil {
		return event.BlobRef{}, b.s.storage(b.id, "keep a blob", err)
	}
	return event.BlobRef{Digest: digestPrefix + name, Size: int64(len(data))}, nil
}

func (b blobs) put(name string, data []byte) error {
	dir := b.s.path(b.id, blobsName)
	if _, err := b.s.fs.Stat(dir); err != nil {
		b.s.setNamed(b.id, false)
		if err := b.s.fs.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if !b.there(filepath.Join(dir, name), data) {
		if err := b.write(dir, name, data); err != nil {
			return err
		}
	}
	// Also when it was there already: who put it may not have come this far.
	if err := b.s.fs.SyncDir(dir); err != nil {
		return err
	}
	if b.s.isNamed(b.id) {
		return nil
	}
	// Also when the folder was there: who made it may have failed behind that.
	if err := b.s.fs.SyncDir(b.s.path(b.id, "")); err != nil {
		return err
	}
	b.s.setNamed(b.id, true)
	return nil
}

func (s *Store) isNamed(id event.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named[id]
}

// setNamed keeps whether the session's folder of blobs is durable by its name.
func (s *Store) setNamed(id event.SessionID, named bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if named {
		s.named[id] = true
	} else {
		delete(s.named, id)
	}
}

// there reports whether the very bytes are kept already.
func (b blobs) there(path string, data []byte) bool {
	f, err := b.s.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	kept, err := readAll(f)
	return err == nil && bytes.Equal(kept, data)
}

func (b blobs) write(dir, name string, data []byte) (err error) {
	temp := filepath.Join(dir, ".new-"+rand.Text())
	f, err := b.s.fs.Open(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = b.s.fs.Rename(temp, filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, b.s.fs.RemoveAll(temp))
	}
	return nil
}

// Get returns a blob's bytes once they were checked against its name.
func (b blobs) Get(ctx context.Context, ref event.BlobRef) ([]byte, error) {
	if err := journal.CheckID(b.id); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	name, ok := strings.CutPrefix(ref.Digest, digestPrefix)
	if raw, err := hex.DecodeString(name); !ok || err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("session %s: %w: %.80q is not a digest", b.id, journal.ErrNoBlob, ref.Digest)
	}
	f, err := b.s.fs.Open(filepath.Join(b.s.path(b.id, blobsName), name), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session %s: %w: %s", b.id, journal.ErrNoBlob, ref.Digest)
	}
	if err != nil {
		return nil, b.s.storage(b.id, "read a blob", err)
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return nil, b.s.storage(b.id, "read a blob", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("session %s: %w: %s is kept but its bytes are damaged", b.id, journal.ErrNoBlob, ref.Digest)
	}
	return data, nil
}

func readAll(f File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
