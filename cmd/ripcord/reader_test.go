package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// proves IFC-04, B149: a reader of stdout that does not read holds up neither
// the turn's closing nor the exit.
func TestAReaderThatDoesNotReadDoesNotHoldUpASignal(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 6000 { // each its own: who repeats himself is stopped
		fmt.Fprintf(&lines, "  text \"%d words, %x of them in a pipe which nobody reads. \"\n", i*7919, i*i)
	}
	script := put(t, filepath.Join(dir, "script.txt"), "default\n"+lines.String()+"  hang\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	home := filepath.Join(dir, "home")
	cmd := exec.Command(self, "run", "hello", "--output", "stream-json")
	cmd.Dir, cmd.Stdout = dir, w
	cmd.Env = []string{asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "RIPCORD_HOME=" + home,
		"RIPCORD_PROVIDER=scripted", "RIPCORD_SCRIPT=" + script, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + os.Getenv("GORACE")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	journals := filepath.Join(home, "sessions", "*", "journal.jsonl")
	eventually(t, "a journal that is longer than a pipe", func() bool {
		found, _ := filepath.Glob(journals)
		if len(found) != 1 {
			return false
		}
		info, err := os.Stat(found[0])
		return err == nil && info.Size() > 160<<10
	}, func() string { return "" })
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if took := time.Since(start); cmd.ProcessState.ExitCode() != exitINT || took > time.Minute {
		t.Errorf("exit %d after %v, want 130 within the bounds", cmd.ProcessState.ExitCode(), took)
	}
	c := &chat{t: t, dir: dir}
	c.closed("USER_SIGINT")
}
