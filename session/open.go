package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Recovery is what opening a session had to close.
type Recovery struct {
	Turn  int // closed as interrupted; 0 if none was open
	Added int // records
	Torn  int64
	File  string
	Kept  []Kept
}

// Kept is a job that was told to live on and was found alive.
type Kept struct {
	Job     event.JobID
	Process event.ProcessStarted
}

// Open takes the session that cfg describes: it folds the journal, closes what
// a crash left open (REC-03) and starts the driver. The context bounds the
// opening; the session lives until Close.
func Open(ctx context.Context, cfg Config) (*Live, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Log = cfg.Log.With("session", cfg.ID)
	cfg.Limits = cfg.Limits.withDefaults()
	sieve := &sieve{needs: cfg.Needs}
	ledger, past, err := fold(cfg, sieve)
	kept := ledgerLast(ledger, cfg)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", cfg.ID, err)
	}
	if of := ledger.Header.ID; of != "" && of != cfg.ID {
		return nil, &turn.RefusedError{Failure: event.Failure{Code: event.FailUsage,
			Message: fmt.Sprintf("the folder of session %s holds a copy of session %s", cfg.ID, of),
			Hint:    "open that session; a copy beside it is not written, so that the processes and the history of one are not taken for the other's"}}
	}
	if cfg.Dir != "" {
		if err := os.MkdirAll(filepath.Join(cfg.Dir, "spool"), 0o700); err != nil {
			return nil, fmt.Errorf("open session %s: %w", cfg.ID, err)
		}
	}
	found, how := cfg.Writer.Recovered(), "opened"
	if ledger.Last() < 0 {
		how = "new"
	}
	b := &book{w: cfg.Writer, epoch: found.Epoch + 1, last: found.Last, took: sieve.take, log: cfg.Log}
	rec, err := begin(ctx, cfg, ledger, b)
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", cfg.ID, err)
	}
	l := newLive(ctx, cfg, ledger, b)
	l.sieve, l.needed, l.keptAt = sieve, sieve.kept, kept
	l.status.Recovered, l.status.Verified = rec, VerifiedFull
	if rec != nil {
		how = "recovered"
	}
	if ledger.Turn != nil && ledger.Turn.End != nil {
		sum := turn.Summarize(ledger)
		l.status.Last = &sum
		if rec != nil && rec.Turn != 0 {
			past = append(past, sum)
		}
	}
	if n := ledger.Unknown; len(n) > 0 {
		l.hub.warn(newer(cfg.ID, n))
	}
	l.recall(past)
	for _, e := range ledger.Box.Waiting() {
		l.expect(e.ID)
	}
	l.refresh(turn.PhaseIdle)
	go l.drive() // ends in Close, which waits for l.gone
	if cfg.Hooks == nil || !cfg.Hooks.Any(gate.SessionStart, "") {
		close(l.greeted)
		return l, nil
	}
	l.work.Go(func() { l.began(how) })
	return l, nil
}

// newer tells of records that a newer version wrote (LOG-05).
func newer(id event.SessionID, unknown map[event.Type]int) string {
	records := 0
	for _, n := range unknown {
		records += n
	}
	return fmt.Sprintf("%d records of the journal are of types that this version does not know; they are kept and skipped: `ripcord log verify %s` names them", records, id)
}

// ledgerLast is how far the snapshot reaches that was begun behind, -1 if none
// was.
func ledgerLast(l *turn.Ledger, cfg Config) event.Seq {
	if w, ok := cfg.Writer.(journal.SnapshotWriter); ok && cfg.Snapshot != nil && w.Snapshot() != nil && l != nil {
		return w.Snapshot().At.Seq
	}
	return -1
}

// fold reads the journal, or its snapshot and its tail, and what its last turns
// came to.
func fold(cfg Config, sieve *sieve) (ledger *turn.Ledger, past []turn.Summary, err error) {
	ledger = turn.NewLedger()
	if cfg.Snapshot != nil {
		if ledger, past, sieve.kept, err = restore(cfg.Snapshot); err != nil {
			return nil, nil, err
		}
	}
	for r, err := range cfg.Records {
		if err != nil {
			return nil, nil, err
		}
		if err := ledger.Apply(&r); err != nil {
			return nil, nil, err
		}
		sieve.take(&r)
		if r.Type == event.TypeTurnEnded {
			if past = append(past, bare(turn.Summarize(ledger))); len(past) > 2*resultsKept {
				past = slices.Clone(past[resultsKept:])
			}
		}
	}
	return ledger, past, nil
}

func newLive(ctx context.Context, cfg Config, ledger *turn.Ledger, b *book) *Live {
	cfg.Turn.TurnGate = cfg.Hooks != nil
	l := &Live{cfg: cfg, log: cfg.Log, posts: make(chan post, 64), quit: make(chan struct{}), gone: make(chan struct{}),
		state: turn.NewState(ledger, b.epoch, cfg.Turn), book: b, tokens: map[turn.Token]chan answer{},
		timers: map[turn.Timer]*timer{}, offs: map[int]int{},
		waiters: map[event.InputID][]chan outcome{}, results: map[event.InputID]outcome{},
		callers: map[event.InputID]context.Context{}, pending: map[event.InputID]bool{}, stray: map[string]string{},
		closer: make(chan struct{}, 1), given: make(chan struct{})}
	if cfg.Hooks != nil && cfg.Gate != nil {
		l.cfg.Gate = gate.WithHooks(cfg.Gate, cfg.Hooks, l.note)
	}
	l.greeted, l.parted = make(chan struct{}), make(chan struct{})
	l.ctx, l.end = interrupt.Lifetime(ctx)
	l.ctx = gate.WithRecorder(l.ctx, l.process)
	l.jobs.next = len(ledger.Jobs)
	l.hub.shown = ledger.Last()
	l.status.Model, l.status.Header = cfg.Turn.Config, ledger.Header
	return l
}

// begin writes the epoch's first records: the header of a new journal, who
// writes now, what was torn, and the closers of what a crash left open.
func begin(ctx context.Context, cfg Config, ledger *turn.Ledger, b *book) (*Recovery, error) {
	var recs []event.Record
	add := func(p event.Payload) error {
		r, err := event.New(p, time.Now())
		if err != nil {
			return err
		}
		r.Seq, r.Epoch, r.Batch = ledger.Last()+1, b.epoch, ledger.LastBatch()
		if err := ledger.Apply(&r); err != nil {
			return err
		}
		recs = append(recs, r)
		return nil
	}
	if ledger.Last() < 0 {
		if err := add(cfg.Header); err != nil {
			return nil, err
		}
	}
	if err := add(event.LeaseTaken{Owner: cfg.Owner}); err != nil {
		return nil, err
	}
	rec, evidence := &Recovery{}, []event.Evidence(nil)
	if t := cfg.Writer.Recovered().Torn; t != nil {
		rec.Torn, rec.File = t.Bytes, t.File
		if err := add(event.TornSaved{Offset: t.Offset, Bytes: t.Bytes, File: t.File}); err != nil {
			return nil, err
		}
	}
	if turn.NeedsRecovery(ledger) {
		rec.Turn = ledger.OpenTurn()
		if cfg.Observe != nil {
			evidence = cfg.Observe(ctx, ledger, false)
		}
		rec.Kept = kept(ledger, evidence)
	}
	closers, err := turn.Recover(ledger, b.epoch, evidence, cfg.Turn)
	if err != nil {
		return nil, err
	}
	recs = append(recs, closers...)
	rec.Added = len(closers)
	b.append(ctx, recs)
	if f := b.sync(ctx); f != nil {
		return nil, &turn.RefusedError{Failure: *f}
	}
	b.frames = nil
	if rec.Added == 0 && rec.Torn == 0 {
		return nil, nil
	}
	return rec, nil
}

func kept(l *turn.Ledger, evidence []event.Evidence) (out []Kept) {
	for _, e := range evidence {
		for _, p := range l.Procs {
			if e.Kept && e.Job != "" && (p.ID == string(e.Call) || p.ID == string(e.Job)) {
				out = append(out, Kept{e.Job, p})
			}
		}
	}
	return out
}

// Readopt puts a kept job, found alive after a crash, under the session's care
// again.
func (l *Live) Readopt(id event.JobID, p tool.Process) { l.watch(&job{id: id, process: p, keep: true}) }

func (l *Live) newInput() event.InputID { return event.InputID("i_" + randomID()) }

// NewSessionID makes an id that sorts by time of creation.
func NewSessionID(now time.Time) event.SessionID {
	ms := now.UnixMilli()
	var b [6]byte
	for i := 5; i >= 0; i-- {
		b[i] = byte(ms)
		ms >>= 8
	}
	enc := base32.HexEncoding.WithPadding(base32.NoPadding)
	return event.SessionID("s_" + strings.ToLower(enc.EncodeToString(b[:])) + randomID()[:8])
}

func randomID() string {
	var b [10]byte
	rand.Read(b[:]) // never fails
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// fileName returns id if it is safe as a file name, else a name made of its
// digest.
func fileName(id string) string {
	safe := id != "" && len(id) <= 80 && !strings.HasPrefix(id, ".")
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.') {
			safe = false
		}
	}
	if safe {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "x_" + hex.EncodeToString(sum[:12])
}
