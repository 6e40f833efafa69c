package proc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// again runs this test binary once more, with some of its tests, in another
// position.
func again(t *testing.T, tests string, change func(*exec.Cmd)) {
	t.Helper()
	if os.Getenv("PROC_TEST_AGAIN") != "" {
		t.Skip("once is enough")
	}
	dir, err := os.MkdirTemp("", "again")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", tests, "-test.v", "-test.timeout=10m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PROC_TEST_AGAIN=1", "TMPDIR="+dir, "HOME="+dir)
	if os.Getenv("RIPCORD_TREES") == "" {
		cmd.Env = append(cmd.Env, "RIPCORD_TREES=20") // the other tests' many are enough
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	change(cmd)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "trees") || err != nil {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(out), "--- PASS") {
		t.Error("no test ran")
	}
}

// The guardian lane is meant for ordinary users: root proves too little.
//
// proves PRC-02, PRC-03, PRC-04, PRF-04, BEN-03
func TestGuardianLaneAndTreesAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("we are one: the other tests show it")
	}
	again(t, "^(TestGuardianLane|TestRandomTreesInTheGuardianLane)$", func(cmd *exec.Cmd) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	})
}

// With 400 pids each is used again every few trees: whoever signals by number
// meets the bystander or the next tree sooner or later.
//
// proves PRC-03, PRF-04, B008
func TestRandomTreesWherePidsAreScarce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a pid namespace")
	}
	if !ownPIDMax() {
		t.Skip("this kernel has one pid_max for all (before 6.14)")
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip(err)
	}
	again(t, "^TestRandomTreesInTheGuardianLane$", func(cmd *exec.Cmd) {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		// Not exec: the shell is the namespace's first process and buries
		// whoever is left to it.
		script := `echo 400 > /proc/sys/kernel/pid_max && "$@"; exit $?`
		cmd.Args = append([]string{"unshare", "-pf", "--mount-proc", "--kill-child", "sh", "-c", script, "sh", exe}, cmd.Args[1:]...)
		cmd.Path, err = exec.LookPath("unshare")
		if err != nil {
			t.Fatal(err)
		}
	})
	b, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if n, _ := strconv.Atoi(strings.TrimSpace(string(b))); err != nil || n < 1000 {
		t.Fatalf("pid_max of the system is %d, %v", n, err)
	}
}

func ownPIDMax() bool {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return false
	}
	v := strings.SplitN(filepath.Base(strings.TrimSpace(string(b))), ".", 3)
	if len(v) < 2 {
		return false
	}
	major, _ := strconv.Atoi(v[0])
	minor, _ := strconv.Atoi(v[1])
	return major > 6 || major == 6 && minor >= 14
}
