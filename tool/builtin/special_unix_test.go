//go:build unix

package builtin_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ripcord-go/ripcord/tool/builtin"
)

// proves TOL-20: what is no file never hangs a call.
func TestWhatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	d := newDesk(t)
	if err := syscall.Mkfifo(filepath.Join(d.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "edit", "write"} {
		args := m{"path": "pipe"}
		switch name {
		case "edit":
			args["old"], args["new"] = "a", "b"
		case "write":
			args["content"] = "x"
		}
		d.refused(name, args, "not a regular file")
		args["path"] = "/dev/zero"
		d.refused(name, args, "not a regular file")
	}
	d.refused("read", m{"path": "."}, "is a folder; list it with ls")
	d.refused("read", m{"path": "nope"}, "does not exist")
	d.refused("read", m{"path": "a\x00b"}, "NUL")
	d.refused("read", m{"path": ""}, "path is empty")
}

// proves TOL-20: a private file's new content is nobody else's to read, not while
// it is staged either; what the file's mode was it is when it is there.
func TestTheNewContentOfAPrivateFileIsPrivateFromItsFirstInstant(t *testing.T) {
	d := newDesk(t)
	free := func(name string) fs.FileMode {
		t.Helper()
		mode, err := builtin.StagedMode(filepath.Join(d.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return mode.Perm()
	}
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o755} {
		path := d.put("f", "old\n")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got := free("f"); got&0o077 != 0 {
			t.Errorf("the new content of a file of mode %o is staged with %o", mode, got)
		}
		d.ok("read", m{"path": "f"})
		d.ok("edit", m{"path": "f", "old": "old", "new": "new"})
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("mode %o became %v, %v", mode, fi.Mode(), err)
		}
	}
	plain, err := os.Create(filepath.Join(d.dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if fi, err := plain.Stat(); err != nil || free("new") != fi.Mode().Perm() {
		t.Errorf("a new file is made with %o, %v", free("new"), err)
	}
}
