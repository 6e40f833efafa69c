package proc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/proc/proctest"
)

func TestMain(m *testing.M) {
	proctest.Main()
	goleak.VerifyTestMain(m)
}

func guardianLane() proctest.Driver {
	return proctest.New(proc.LaneGuardian, proc.Options{Cgroup: proc.CgroupOff})
}

// cgroupLane is skipped where no cgroup can be made: the guardian lane is
// tested everywhere.
func cgroupLane(t *testing.T) proctest.Driver {
	h, err := proc.NewHost(proc.Options{Prestart: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if h.Lane() != proc.LaneCgroup {
		t.Skip(proc.Describe(h).Why)
	}
	return proctest.New(proc.LaneCgroup, proc.Options{})
}

// The cgroup of a guardian that was killed with its runtime is removed by the
// next host, unless somebody lives in it.
func TestEmptyCgroupsOfTheDeadAreRemoved(t *testing.T) {
	h := cgroupLane(t).Host(t)
	root := proc.Describe(h).Cgroup
	h.Close()
	self := proc.Self()
	dead := filepath.Join(root, fmt.Sprintf("ripcord-x-%d.%d", self.PID, self.Start+1))
	living := filepath.Join(root, fmt.Sprintf("ripcord-x-%d.%d", self.PID, self.Start))
	for _, dir := range []string{dead, living} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(dir)
	}
	cgroupLane(t).Host(t).Close()
	if _, err := os.Stat(dead); err == nil {
		t.Error("the cgroup of a dead guardian is left")
	}
	if _, err := os.Stat(living); err != nil {
		t.Error("the cgroup of a living guardian was removed")
	}
}

// proves PRC-02, PRC-03, PRC-04, PRC-05, PRC-06, PRC-07, LOG-11, TOL-21, REC-07, REC-04, B001, B003, B005, B008, B010, B168
func TestCgroupLane(t *testing.T) { proctest.Run(t, cgroupLane(t)) }

// proves PRC-02, PRC-03, PRC-04, PRC-05, PRC-06, PRC-07, LOG-11, TOL-21, REC-07, REC-04, B001, B003, B005, B008, B010, B168
func TestGuardianLane(t *testing.T) { proctest.Run(t, guardianLane()) }

// proves PRC-02, PRC-03, PRC-05, PRC-06, PRC-07
func TestGroupLane(t *testing.T) {
	proctest.Run(t, proctest.New(proc.LaneGroup, proc.Options{Group: true}))
}

// proves PRC-02, PRC-03, PRC-04, PRF-04, BEN-03
func TestRandomTreesInTheCgroupLane(t *testing.T) {
	proctest.Trees(t, cgroupLane(t), proctest.TreeCount(30), proctest.TreeSeed())
}

// proves PRC-02, PRC-03, PRC-04, PRF-04, BEN-03
func TestRandomTreesInTheGuardianLane(t *testing.T) {
	proctest.Trees(t, guardianLane(), proctest.TreeCount(30), proctest.TreeSeed())
}
