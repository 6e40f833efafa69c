package crashtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/file"
)

// platter is a session of two turns on a simulated disk.
type platter struct {
	disk  *crashtest.Disk
	id    event.SessionID
	root  string
	first api.Result
	err   error // of the first turn's submit
	bytes []byte
	runs  map[event.CallID]int
	seen  map[event.CallID]event.Seq
}

// spin does both turns. between, if not nil, is called after the first.
func (p *platter) spin(ctx context.Context, between func(stage *crashtest.Stage) error) (err error) {
	store, err := file.Open(p.root, file.Options{Check: crashtest.Check, FS: p.disk})
	if err != nil {
		return err
	}
	tap := crashtest.NewTap(store)
	p.disk.Told = func() event.Seq {
		if p.id == "" {
			return -1
		}
		return tap.Acked(p.id)
	}
	tap.At = func(_ crashtest.Point, recs []event.Record) error {
		for i := range recs {
			if b, err := recs[i].Body(); err == nil && recs[i].Seq == 0 {
				p.id = b.(event.SessionOpened).ID
			}
		}
		return nil
	}
	effects := crashtest.NewEffects()
	rig, err := crashtest.NewRig(tap, crashtest.RigOptions{Script: twoSteps, Effects: effects, Acked: tap.Acked})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, rig.Close(context.WithoutCancel(ctx)))
		p.runs, p.seen = effects.Of(p.id)
	}()
	st, err := rig.Runtime.Open(ctx, api.OpenRequest{})
	if err != nil {
		return err
	}
	stage := &crashtest.Stage{Service: rig.Runtime, ID: st.ID}
	p.first, p.err = stage.Run(ctx, "go")
	if between != nil {
		if err := between(stage); err != nil {
			return err
		}
	}
	err = later(ctx, stage)
	if err == nil {
		err = rig.Runtime.Release(ctx, st.ID)
	}
	p.bytes, _ = os.ReadFile(filepath.Join(p.root, "sessions", string(p.id), "journal.jsonl"))
	return err
}

// later has another turn done: a fault may meet this one too, and is over then.
func later(ctx context.Context, stage *crashtest.Stage) (err error) {
	for range 3 {
		ready := patient(ctx, func() bool { s, err := stage.Service.Status(ctx, stage.ID); return err == nil && s.Storage == "" })
		if !ready {
			return errors.New("the disk works again and the session does not")
		}
		var res api.Result
		if res, err = stage.Run(ctx, "and now?"); err == nil && *res.Outcome == event.TurnCompleted {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("the later turn ended %s: %+v", *res.Outcome, res.Error)
		}
	}
	return err
}

// masks are the subsets of n changes to be tried: all of up to 12 when
// everything is swept, else the telling ones and some by chance.
func masks(n int, rnd *rand.Rand) []uint64 {
	var out []uint64
	if all := uint64(1) << min(n, 63); full() && n <= 12 {
		for m := range all {
			out = append(out, m)
		}
		return out
	}
	out = append(out, 0, ^uint64(0))
	for i := range min(n, 12) {
		out = append(out, 1<<i, ^(uint64(1) << i))
	}
	for range 8 {
		out = append(out, rnd.Uint64())
	}
	return out
}

// sweep recovers every image that every moment may have left.
func (p *platter) sweep(t *testing.T, what string, c *complain) (images int) {
	t.Helper()
	lines, _ := split(p.bytes)
	rnd := rand.New(rand.NewPCG(7, 7))
	seen := map[string]bool{}
	for i, m := range p.disk.Moments() {
		if m.Told >= 0 && !m.Named {
			c.about(crashtest.Wreck{What: what}, []crashtest.Violation{{Invariant: 1, Text: fmt.Sprintf("moment %d: record %d is acknowledged and the file's name is not durable", i, m.Told)}})
		}
		for _, mask := range masks(m.Pending(), rnd) {
			b := m.Image(mask)
			key := fmt.Sprintf("%d %s", m.Told, b)
			if seen[key] {
				continue
			}
			seen[key] = true
			images++
			w := crashtest.Wreck{What: fmt.Sprintf("%s, moment %d, changes %b of %d", what, i, mask, m.Pending())}
			got, err := crashtest.Recover(t.Context(), p.id, b, crashtest.SeesNothing)
			if err != nil {
				c.about(w, []crashtest.Violation{{Invariant: 1, Text: err.Error()}})
				continue
			}
			c.about(w, crashtest.Judge(crashtest.Case{Intended: lines, Floor: m.Told, Journal: got.Bytes}))
			if images%64 == 0 {
				c.about(w, p.onFiles(t, b, got.Bytes))
			}
		}
	}
	return images
}

// onFiles recovers b with the store of files and wants what the one in memory
// made of it.
func (p *platter) onFiles(t *testing.T, b, want []byte) []crashtest.Violation {
	root := t.TempDir()
	dir := filepath.Join(root, "sessions", string(p.id))
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "journal.jsonl"), b, 0o600)); err != nil {
		t.Fatal(err)
	}
	store, err := file.Open(root, file.Options{Check: crashtest.Check})
	if err != nil {
		t.Fatal(err)
	}
	got, err := crashtest.Reopen(t.Context(), store, p.id, crashtest.SeesNothing)
	if err != nil {
		return []crashtest.Violation{{Invariant: 3, Text: "with files: " + err.Error()}}
	}
	b, err = os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n, m := bytes.Count(b, []byte("\n")), bytes.Count(want, []byte("\n")); n != m {
		return []crashtest.Violation{{Invariant: 3, Text: fmt.Sprintf("with files %d records, in memory %d", n, m)}}
	}
	if got.Torn != nil {
		if saved, err := os.ReadFile(filepath.Join(dir, got.Torn.File)); err != nil || int64(len(saved)) != got.Torn.Bytes {
			return []crashtest.Violation{{Invariant: 13, Text: fmt.Sprintf("of a tail of %d bytes %d were saved: %v", got.Torn.Bytes, len(saved), err)}}
		}
	}
	return nil
}

// Whatever a power cut leaves of what was not synced, in sectors, in any
// order: what was acknowledged is there, the rest is a tail that is set aside.
//
// proves LOG-11, LOG-12, REC-02, REC-06, PRF-03
func TestSweepOfPowerCuts(t *testing.T) {
	p := &platter{disk: crashtest.NewDisk(1), root: t.TempDir()}
	if err := p.spin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c := &complain{t: t}
	n := p.sweep(t, "power cut", c)
	c.done()
	t.Logf("%d images of %d moments", n, len(p.disk.Moments()))
	if n < 80 {
		t.Errorf("only %d images: the sweep has shrunk", n)
	}
}

// A sync that fails once leaves a page cache that lies: whatever was not
// acknowledged is written again before anything is.
//
// proves LOG-12, LOG-13, LOG-14, PRF-03
func TestSweepOfSyncsThatFail(t *testing.T) {
	probe := &platter{disk: crashtest.NewDisk(1), root: t.TempDir()}
	if err := probe.spin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	syncs := probe.disk.Syncs()
	ps := make([]*platter, syncs)
	errs := make([]error, syncs)
	var all sync.WaitGroup
	for i := range ps {
		if i%min(sparser, 4) != 0 {
			continue
		}
		ps[i] = &platter{disk: crashtest.NewDisk(uint64(i)), root: t.TempDir()}
		ps[i].disk.FailSync = i + 1
		all.Go(func() {
			ctx, done := context.WithTimeout(t.Context(), 2*time.Minute)
			defer done()
			errs[i] = ps[i].spin(ctx, nil)
		})
	}
	all.Wait()
	c := &complain{t: t}
	images, refused := 0, 0
	for i, p := range ps {
		if p == nil {
			continue
		}
		what := fmt.Sprintf("sync %d of %d failed", i+1, syncs)
		if errs[i] != nil {
			var ae *api.Error
			if errors.As(errs[i], &ae) && ae.Code == event.FailStorage && i == 0 {
				refused++ // the session could not be opened, and this was said
				continue
			}
			t.Errorf("%s: %v", what, errs[i])
			continue
		}
		images += p.sweep(t, what, c)
	}
	c.done()
	t.Logf("%d syncs failed in turn, %d images, %d sessions refused", syncs, images, refused)
}

// A disk that fills up at any byte: the turn ends and says why, its ending
// fits into the reserve, and the session goes on once there is room.
//
// proves LOG-13, LOG-14, TRN-05, PRF-03
func TestSweepOfFullDisks(t *testing.T) {
	probe := &platter{disk: crashtest.NewDisk(1), root: t.TempDir()}
	if err := probe.spin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	used, _ := probe.disk.Used()
	begin := int64(file.DefaultReserve) + 1000 // and what opening writes
	used += file.DefaultReserve
	step := int64(500 * min(sparser, 3))
	if full() {
		step = 100
	}
	c := &complain{t: t}
	var all sync.WaitGroup
	var mu sync.Mutex
	failed, n := 0, 0
	for room := begin; room < used; room += step {
		p := &platter{disk: crashtest.NewDisk(1), root: t.TempDir()}
		p.disk.Room = room
		n++
		all.Go(func() {
			ctx, done := context.WithTimeout(t.Context(), 2*time.Minute)
			defer done()
			err := p.spin(ctx, func(stage *crashtest.Stage) error {
				defer p.disk.MakeRoom()
				return p.ended(stage)
			})
			mu.Lock()
			defer mu.Unlock()
			if p.err != nil || p.first.Outcome != nil && *p.first.Outcome != event.TurnCompleted {
				failed++
			}
			if err != nil {
				t.Errorf("room for %d bytes of %d: %v", room, used, err)
				return
			}
			p.sweep(t, fmt.Sprintf("room for %d bytes", room), c)
			for id, runs := range p.runs {
				if runs != 1 || p.seen[id] < 0 {
					t.Errorf("room for %d bytes: call %s ran %d times, acknowledged was %d", room, id, runs, p.seen[id])
				}
			}
		})
	}
	all.Wait()
	c.done()
	t.Logf("%d sizes, in %d the first turn did not complete", n, failed)
	if failed == 0 {
		t.Error("no disk was full in the first turn: nothing was shown")
	}
}

// ended judges the turn that met the full disk: what it was told, and that its
// ending stands in the file, for which the reserve was kept.
func (p *platter) ended(stage *crashtest.Stage) error {
	_, fulls := p.disk.Used()
	var ae *api.Error
	switch {
	case p.err != nil && errors.As(p.err, &ae) && ae.Code == event.FailStorage:
		return nil
	case p.err != nil:
		return p.err
	case fulls == 0:
		return nil
	case *p.first.Outcome == event.TurnFailed && p.first.Error != nil && p.first.Error.Code == string(event.FailStorage):
	case *p.first.Outcome != event.TurnCompleted:
		return fmt.Errorf("the first turn ended %s: %+v", *p.first.Outcome, p.first.Error)
	}
	b, err := os.ReadFile(filepath.Join(p.root, "sessions", string(stage.ID), "journal.jsonl"))
	if err != nil {
		return err
	}
	if started, ended := bytes.Count(b, []byte(`"type":"turn/start"`)), bytes.Count(b, []byte(`"type":"turn/end"`)); started != ended {
		return fmt.Errorf("the turn that met the full disk has no end in the file although space was kept for it")
	}
	return nil
}

// split returns the lines of a file and the seq of its last whole one.
func split(b []byte) (lines [][]byte, whole event.Seq) {
	whole = -1
	for line := range bytes.Lines(b) {
		line, ok := bytes.CutSuffix(line, []byte("\n"))
		if _, err := event.Parse(line); err != nil {
			break
		}
		lines = append(lines, line)
		if ok {
			whole++
		}
	}
	return lines, whole
}
