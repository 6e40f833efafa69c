package ripcord

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

const (
	evidenceText = 16 << 10        // caught output that recovery puts into a record, bytes
	lastWord     = 2 * time.Second // for a guardian to write down how it ended its tree
	fileGrain    = 2 * time.Second // by as much a change may be dated too early: that of the coarsest file system
)

// observe finds out about the processes that a crash left behind: what they
// printed, whether they ended by themselves, whether they still live. With dry
// set it only looks; else what must not live on is ended (REC-07). A process
// is ours only if pid, start time and boot agree with the record.
func observe(ctx context.Context, dir string, l *turn.Ledger, dry bool) []event.Evidence {
	var out []event.Evidence
	jobs := map[string]*turn.Job{}
	for _, j := range l.OpenJobs() {
		jobs[string(j.ID)], jobs[string(j.Tree())] = j, j
	}
	seen := map[event.CallID]bool{}
	for _, p := range l.Procs {
		e := event.Evidence{Call: event.CallID(p.ID)}
		keep := p.Keep
		if j := jobs[p.ID]; j != nil {
			e.Job, keep = j.ID, j.Keep
		}
		seen[e.Call] = true
		visit(ctx, p, &e, keep, dry)
		read(spoolPath(dir, p.Spool), &e)
		out = append(out, e)
	}
	// Of what runs no more there is the spool, if any, and what the call says.
	look := func(id event.CallID, spool, note string) {
		if seen[id] {
			return
		}
		e := event.Evidence{Call: id, Note: note}
		if spool == "" { // a command runs and prints a moment before its record says so
			spool = session.Spool(dir, id)
		}
		if spool != "" {
			read(spoolPath(dir, spool), &e)
		}
		if e.Note != "" || e.Ended || e.Bytes > 0 {
			out = append(out, e)
		}
	}
	for _, c := range turn.OpenCalls(l) {
		look(c.ID, c.Spool, fileNote(l.Header.Cwd, c.Args, c.StartedAt))
		for _, in := range c.Inner {
			if in.Ended == nil {
				look(in.ID, in.Spool, fileNote(l.Header.Cwd, in.Args, in.At))
			}
		}
	}
	return out
}

// visit looks for the living and ends those that are not to live on.
func visit(ctx context.Context, p event.ProcessStarted, e *event.Evidence, keep, dry bool) {
	found := proc.Find(p)
	e.Alive = found.PIDs
	switch {
	case keep && len(found.PIDs) > 0 && found.Guardian: // without one nobody could end it later
		e.Kept = true
		return
	case dry:
		return
	}
	if len(found.PIDs) > 0 {
		e.Survivors = proc.End(p, interrupt.Ladder{Bound: 2 * time.Second}).Survivors
	}
	// The guardian of a dead runtime ends its tree by itself and writes down
	// what it saw: its last word is worth a moment.
	wait := time.NewTimer(lastWord)
	defer wait.Stop()
	for tick := time.NewTicker(5 * time.Millisecond); proc.Find(p).Guardian; {
		select {
		case <-tick.C:
			continue
		case <-wait.C:
		case <-ctx.Done():
		}
		tick.Stop()
		return
	}
}

// read takes what the guardian kept: the output, and the end if the command
// reached one by itself.
func read(spool string, e *event.Evidence) {
	if o, err := proc.ReadOutput(spool, evidenceText); err == nil {
		e.Output, e.Bytes = o.Text, o.Bytes
	}
	x, err := proc.ReadExit(spool)
	if err != nil || (x.How != proc.HowExited && x.How != proc.HowTimedOut) {
		return
	}
	ms, timedOut := x.Ran.Milliseconds(), x.TimedOut
	e.Ended, e.ExitCode, e.Signal, e.TimedOut, e.RanMS = true, x.Code, x.Signal, &timedOut, &ms
}

// fileNote says of a call that names one file whether that file changed after
// the call had started.
func fileNote(cwd string, raw json.RawMessage, started time.Time) string {
	var args struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(raw, &args) != nil || args.Path == "" {
		return ""
	}
	path := args.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Sprintf("The file %s is not there now.", args.Path)
	case info.ModTime().Before(started.Add(-fileGrain)):
		return fmt.Sprintf("The file %s has not changed since before the call started.", args.Path)
	case info.ModTime().Before(started):
		return fmt.Sprintf("The file %s was last changed at about the time the call started: look at it.", args.Path)
	default:
		return fmt.Sprintf("The file %s was changed after the call had started.", args.Path)
	}
}

// readopt puts kept jobs that were found alive under the session's care again.
func (r *Runtime) readopt(ctx context.Context, l *session.Live, id event.SessionID, dir string) {
	rec := l.Status().Recovered
	if rec == nil || r.cfg.Host == nil {
		return
	}
	for _, kept := range rec.Kept {
		tree, err := r.cfg.Host.Adopt(ctx, kept.Process, spoolPath(dir, kept.Process.Spool))
		if err != nil {
			r.log.Warn("a kept job lives and can't be adopted", "job", kept.Job, "error", err)
			continue
		}
		l.Readopt(kept.Job, session.Tree{Tree: tree})
		for _, k := range r.cfg.Keepers {
			if k.Readopted != nil {
				k.Readopted(id, kept.Job, tree)
			}
		}
	}
}
