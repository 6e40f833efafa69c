package proc_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

func TestMain(m *testing.M) {
	proc.Main()
	os.Exit(m.Run())
}

func TestSmoke(t *testing.T) {
	for _, o := range []proc.Options{{}, {Cgroup: proc.CgroupOff}, {Group: true}} {
		h, err := proc.NewHost(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(proc.Describe(h))
		for _, script := range []string{"echo hi; exit 3", "trap '' TERM; echo x; while :; do sleep 100; done", "setsid sleep 100 & setsid sleep 100; echo y"} {
			t0 := time.Now()
			tr, err := h.Start(context.Background(), proc.Spec{Owner: "call", ID: "c1", Argv: []string{"sh", "-c", script}, Dir: "/", Env: proc.Environ(os.Environ(), nil)})
			if err != nil {
				t.Fatal(err)
			}
			d := time.Since(t0)
			select {
			case <-tr.Exited():
			case <-time.After(100 * time.Millisecond):
			}
			pids := tr.PIDs()
			t0 = time.Now()
			s := tr.Stop(interrupt.Ladder{Bound: 5 * time.Second})
			t.Log(h.Lane(), d, pids, s, time.Since(t0))
			e, ok := tr.Exit()
			t.Logf("%+v %v %+v %+v", e, ok, tr.Output(100), tr.Started())
		}
		h.Close()
	}
}
