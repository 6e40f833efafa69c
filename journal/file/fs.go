package file

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// FS is what the store needs of a file system, as a seam for faults. [OS] is
// the real one. Names are paths; errors are those of package os.
type FS interface {
	Open(name string, flag int, perm fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	MkdirAll(name string, perm fs.FileMode) error
	Rename(from, to string) error
	RemoveAll(name string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	Stat() (fs.FileInfo, error)
	// Position is the offset behind the last write.
	Position() (int64, error)
	Truncate(size int64) error
	// Sync makes the file's bytes and size durable.
	Sync() error
	// Allocate gives the file n bytes of space.
	Allocate(n int64) error
	// Lock locks the file for this open file alone, or shared, without
	// waiting; it returns [ErrLocked] if another holds it. Close gives it up.
	Lock(shared bool) error
}

// ErrLocked is returned by [File.Lock] when the lock is held elsewhere.
var ErrLocked = errors.New("locked")

// OS is the operating system's file system.
type OS struct{}

type osFile struct {
	*os.File
	locked bool
}

// Open opens a regular file that no child process inherits. Anything else of
// that name is refused before it is opened: a pipe would wait for its other end
// and a device might never end.
func (OS) Open(name string, flag int, perm fs.FileMode) (File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("is not a regular file")}
	}
	f, err := os.OpenFile(name, flag|unix.O_CLOEXEC, perm)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f}, nil
}

func (OS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (OS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (OS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (OS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (OS) RemoveAll(name string) error                  { return os.RemoveAll(name) }

// SyncDir makes the names in a folder durable.
func (OS) SyncDir(name string) error {
	d, err := os.OpenFile(name, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (f *osFile) Position() (int64, error) { return f.Seek(0, io.SeekCurrent) }

func (f *osFile) Lock(shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := f.control(func(fd int) error { return unix.Flock(fd, how|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	f.locked = err == nil
	return err
}

// Close gives the lock up by name: a child that is just being started has the
// descriptor, too, until it becomes another program, and would hold it.
func (f *osFile) Close() error {
	var err error
	if f.locked {
		err = f.control(func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
		f.locked = false
	}
	return errors.Join(err, f.File.Close())
}

func (f *osFile) Sync() error {
	return f.control(datasync)
}

func (f *osFile) Allocate(n int64) error {
	return f.control(func(fd int) error { return allocate(fd, n) })
}

// control runs a system call on the descriptor, again if a signal cut it.
func (f *osFile) control(call func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = c.Control(func(fd uintptr) {
		for {
			if callErr = call(int(fd)); callErr != unix.EINTR {
				return
			}
		}
	})
	return errors.Join(err, callErr)
}
