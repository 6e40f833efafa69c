package session_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

// crossed is a tree that takes its time to be kept, so that who wishes otherwise
// meanwhile overtakes the wish, if that is possible.
type crossed struct {
	*tree
	in, other chan struct{}
}

func (p crossed) Keep(keep bool) error {
	err := p.tree.Keep(keep)
	if !keep {
		close(p.other)
		return err
	}
	close(p.in)
	chance := time.NewTimer(50 * time.Millisecond) // nobody is waited for: whoever cannot come does not
	defer chance.Stop()
	select {
	case <-p.other:
	case <-chance.C:
	}
	return err
}

// proves PRC-01, REC-05: wishes to keep a job and not to are recorded in the
// order in which they were done
func TestWhatIsRecordedOfAKeptJobIsWhatIsInForce(t *testing.T) {
	p := crossed{newTree(), make(chan struct{}), make(chan struct{})}
	r := newRig(t, plan{tools: []tool.Tool{leaves(p)}, talks: []talk{calls("c1", "leaves"), says("fine")}})
	r.run("go")
	var both sync.WaitGroup
	wish := func(keep bool) {
		if err := r.live.Keep(r.ctx, "j1", keep); err != nil {
			t.Error(err)
		}
	}
	both.Go(func() { wish(true) })
	<-p.in
	both.Go(func() { wish(false) })
	both.Wait()
	kept := payloads[event.JobKept](t, r.records())
	if len(kept) != 2 || kept[1].Keep != p.isKept() {
		t.Errorf("recorded %+v, in force %v", kept, p.isKept())
	}
	p.once.Do(func() { close(p.gone) })
}

// leavable is a tree that can be let go of.
type leavable struct {
	*tree
	left *atomic.Int64
}

func (p leavable) Leave() { p.left.Add(1) }

// proves PRC-01, REC-07: a session that is closed lets go of what it keeps, so
// that another process can have it while this one lives
func TestAClosedSessionLetsGoOfWhatItKeeps(t *testing.T) {
	kept, other := leavable{newTree(), new(atomic.Int64)}, leavable{newTree(), new(atomic.Int64)}
	r := newRig(t, plan{tools: []tool.Tool{leaves(kept, other)}, talks: []talk{calls("c1", "leaves"), says("fine")}})
	r.run("go")
	if err := r.live.Keep(r.ctx, "j1", true); err != nil {
		t.Fatal(err)
	}
	if kept.left.Load() != 0 {
		t.Error("it was let go of too early")
	}
	r.close()
	if kept.left.Load() != 1 || other.left.Load() != 0 || len(kept.ladders()) != 0 {
		t.Errorf("kept: let go of %d times, stopped %v; the other: %d", kept.left.Load(), kept.ladders(), other.left.Load())
	}
}
