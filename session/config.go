package session

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Config is what a live session is made of. Writer, Records and Tools must be
// set; without a Model turns are refused.
type Config struct {
	ID      event.SessionID
	Header  event.SessionOpened // written when the journal is empty
	Owner   event.Owner         // this process
	Writer  journal.Writer      // taken over: Close closes it
	Records iter.Seq2[event.Record, error]
	// Snapshot is the state of the snapshot that Writer began behind; Records
	// then yields what follows it. nil: Records is the whole journal.
	Snapshot []byte
	// Needs picks the records that folds of other rooms live on, so that a
	// snapshot keeps them, see [Live.Needed]. nil: none.
	Needs func(*event.Record) bool
	Blobs journal.Blobs // nil: large values are dropped, and said so
	Dir   string        // the session's folder; empty if the store has none
	Model model.Model
	Tools *tool.Set
	Gate  gate.Gate  // nil blocks what asks
	Hooks gate.Hooks // nil: none
	// Equip, if set, gives each call, outer or inner, what the rooms that are
	// joined above offer to it; it is called on the goroutine that runs it.
	Equip func(*tool.Call) *tool.Call
	// Alone says that nobody answers questions: a tool's question is
	// [tool.ErrNobody] at once.
	Alone  bool
	Turn   turn.Options
	Limits Limits
	Log    *slog.Logger // nil discards

	// Observe finds out about the processes that a crash left behind, ends the
	// ones that must not live on, and says what it saw (REC-07). With dry set
	// it only looks. nil: nothing is known.
	Observe func(ctx context.Context, l *turn.Ledger, dry bool) []event.Evidence
}

// Limits bound what a session waits for. Zero fields get the defaults.
type Limits struct {
	Tool      time.Duration // a call after the trip, then quarantine; 0 means 30 s
	Idle      time.Duration // silence of a model's body; 0 means 5 min
	JobGrace  time.Duration // between TERM and KILL when jobs end; 0 means 2 s
	JobBound  time.Duration // 0 means 3 s
	Inline    int           // bytes of a result kept in its record; 0 means 32 KiB
	StoreWait time.Duration // between two tries at a failed disk; 0 means 1 s
}

func (l Limits) withDefaults() Limits {
	for p, d := range map[*time.Duration]time.Duration{&l.Tool: 30 * time.Second, &l.Idle: 5 * time.Minute,
		&l.JobGrace: 2 * time.Second, &l.JobBound: 3 * time.Second, &l.StoreWait: time.Second} {
		if *p == 0 {
			*p = d
		}
	}
	return l
}
