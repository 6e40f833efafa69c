//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// proves RTY-10, pitfall: a file that was deleted comes back no more open than a
// file that is made now: its mode is not known
func TestADeletedFileComesBackAsTheUmaskHasIt(t *testing.T) {
	was := unix.Umask(0o077)
	t.Cleanup(func() { unix.Umask(was) })
	x := newTale(t)
	x.turn(1, x.wrote(1, "secret.txt", text("a secret", ""), nil))
	u, err := RewindFiles(x.dir, x.recs, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Apply(); err != nil {
		t.Fatal(err)
	}
	x.has("secret.txt", "a secret\n")
	if info, err := os.Stat(filepath.Join(x.dir, "secret.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
}
