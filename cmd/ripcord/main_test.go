package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ripcord-go/ripcord/proc"
)

// asCommand in the environment makes this test binary the command itself.
const asCommand = "RIPCORD_TEST_COMMAND"

// TestMain makes this binary the guardian of the commands it starts, and the
// command for scripts.
func TestMain(m *testing.M) {
	proc.Main()
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestScripts runs the command as a person does, each script in a home of its
// own and without any network but loopback. The format is on [script].
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	bin := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "ripcord"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			newScript(t, bin, string(text)).run()
		})
	}
}
