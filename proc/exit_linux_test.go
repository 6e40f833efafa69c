package proc_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ripcord-go/ripcord/proc"
)

// The output that was caught and the record of the end are both synced: a file
// that cannot be is said.
//
// proves PRC-04
func TestAnExitRecordIsSyncedWithItsOutput(t *testing.T) {
	files := []string{".out", ".exit"}
	for _, odd := range append(files, "") {
		base := filepath.Join(t.TempDir(), "s")
		for _, name := range files {
			err := os.WriteFile(base+name, []byte("x"), 0o600)
			if name == odd { // no device that forgets everything can be synced
				err = errors.Join(os.Remove(base+name), os.Symlink(os.DevNull, base+name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := proc.SyncExit(base); odd != "" && !errors.Is(err, syscall.EINVAL) || odd == "" && err != nil {
			t.Errorf("with %q that cannot be synced: %v", odd, err)
		}
	}
}
