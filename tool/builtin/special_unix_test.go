//go:build unix

package builtin_test

import (
	"path/filepath"
	"syscall"
	"testing"
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
