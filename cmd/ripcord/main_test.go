package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// asCommand in the environment makes this test binary the command itself.
const asCommand = "RIPCORD_TEST_COMMAND"

// TestMain makes this binary the guardian of the commands it starts, and the
// command for scripts.
func TestMain(m *testing.M) {
	proc.Main(workflow.Role())
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	// What a caller of ours ignores (nohup, a shell's &) is ignored in the
	// commands too, and they are right to; what is caught here is not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// TestScripts runs the command as a person does, each script in a home of its
// own and without any network but loopback. The format is on [script]; each
// script says in its first line what it proves of this.
//
// proves CLI-01, CLI-02, CLI-03, IFC-01, IFC-03, IFC-04, IFC-05, IFC-06, IFC-07,
// IFC-08, IFC-09, IFC-10, IFC-12, HOK-01, HOK-02, HOK-03, HOK-04, INT-32, INT-42,
// LOG-12, LOG-15, MOD-01, MOD-04, MOD-05, OBS-01, PRC-01, PRC-02, PRC-04, PRC-07, PRC-08, REC-02,
// INT-66, INT-70, INT-71, REC-03, REC-04, REC-05, REC-06, REC-08, REC-09, RTY-10, TOL-23, TOL-24, TOL-26, TOL-27,
// TRN-06, TRN-12, TRN-13, TRN-14
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
