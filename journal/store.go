package journal

import (
	"context"
	"errors"
	"iter"

	"github.com/ripcord-go/ripcord/event"
)

// Store keeps the journals of many sessions. Every method may be called from
// any goroutine. One suite, journaltest, holds every implementation to what
// stands here.
type Store interface {
	// Create makes an empty journal and takes it for writing; the first record
	// appended must be a session/open. It fails with [ErrExists] if the id is
	// taken.
	Create(ctx context.Context, id event.SessionID) (Writer, error)

	// Acquire takes an existing journal for writing, for the writer's life. A
	// second writer is refused at once with a [*BusyError]. A torn tail is set
	// aside and cut first (REC-02); damage before it is a [*DamagedError], a
	// newer format a [*FutureError], and nothing was changed.
	Acquire(ctx context.Context, id event.SessionID) (Writer, error)

	// Seed makes the journal of a new session of recs, whole: all of it is
	// durable when it returns without an error, and before that nothing of it
	// can be listed, read or taken, whatever crashes. Each record keeps its own
	// Epoch, which never falls; V, Batch and Seq are filled in. Of the blobs of
	// session from those named go with it; one that is not there is left out.
	// It fails with [ErrExists] if the id is taken and with [ErrRule] for records
	// out of order.
	Seed(ctx context.Context, id event.SessionID, recs []event.Record, from event.SessionID, blobs []event.BlobRef) error

	// Read yields the records from seq on, in order, as they stand now. It
	// takes no lock and repairs nothing. At a torn tail it ends without an
	// error; at damage it yields one [*DamagedError] and goes on with what is
	// readable behind it.
	Read(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[event.Record, error]

	// Follow is Read that does not end: it waits for more until ctx is done.
	// No record is left out or given twice, whoever the writer is.
	Follow(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[event.Record, error]

	// Verify reads the whole journal and reports on it. It changes nothing.
	Verify(ctx context.Context, id event.SessionID) (Report, error)

	// List yields every session, damaged and future ones included. It costs a
	// bounded amount for each.
	List(ctx context.Context) ([]Entry, error)

	// Delete removes a session and all beside it. It is refused with a
	// [*BusyError] while a writer lives.
	Delete(ctx context.Context, id event.SessionID) error

	// Blobs returns the content-addressed store that belongs to the session.
	Blobs(id event.SessionID) Blobs

	// Dir returns the folder for what is kept beside the journal: spools,
	// control socket. Empty if the store has none.
	Dir(id event.SessionID) string
}

// Writer is the one owner of a journal. Its methods must not be called
// concurrently with each other.
type Writer interface {
	// Append writes recs behind expected, the last seq the caller knows (-1
	// for an empty journal), under epoch. It fills in each record's V, Batch,
	// Epoch and Seq. What it wrote is not yet acknowledged. A stale epoch or
	// position is [ErrFenced] and nothing was written that a reader would
	// believe. All of recs are written by one write, in order.
	Append(ctx context.Context, expected event.Seq, epoch event.Epoch, recs []event.Record) (last event.Seq, err error)

	// Sync returns once everything appended is durable, with the last
	// acknowledged seq. After an error nothing since the last good Sync is
	// acknowledged; what was appended is kept and written again by the next
	// Sync, so that the writer works again as soon as the store does.
	Sync(ctx context.Context) (acked event.Seq, err error)

	// Recovered is what opening found: the state of the file before this
	// writer's first record.
	Recovered() Recovered

	// Free releases what the store keeps in reserve for a full disk, so that
	// closing records fit.
	Free()

	// Close syncs what it can and gives the journal up. It is idempotent.
	Close() error
}

// Snapshot is what a journal folded to behind one of its records. It is kept
// beside the journal, derived from it and disposable: to lose it costs time and
// nothing else (LOG-16).
type Snapshot struct {
	At    Place  // the last record in it, which was durable
	State []byte // in the words of who folds; stores do not look into it
}

// SnapshotWriter is implemented by writers of stores that keep snapshots.
type SnapshotWriter interface {
	// Snapshot is the one that Acquire began behind: what stands before it was
	// not read. nil where the whole journal was.
	Snapshot() *Snapshot
	// Keep returns what stores state as the fold of everything acknowledged so
	// far, in place of the snapshot before. Keep itself belongs to the writer's
	// goroutine; what it returns may run on another, one at a time.
	Keep(state []byte) (store func() error)
}

// Recovered describes a journal as it was found by Acquire.
type Recovered struct {
	Last  event.Seq   // last valid record, -1 if none
	Epoch event.Epoch // highest epoch seen; the writer must use a higher one
	Torn  *Torn       // what was set aside, nil if nothing
}

// Torn is a tail that was not a record.
type Torn struct {
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	File   string `json:"file,omitempty"` // where the bytes were saved, relative to the session's folder
}

// Damage is a range of bytes that is not what was written.
type Damage struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Why  string `json:"why"`
}

// Report is what Verify found.
type Report struct {
	OK       bool     `json:"ok"`
	Records  int64    `json:"records"`
	Bytes    int64    `json:"bytes"`
	Torn     *Torn    `json:"torn"`
	Damage   []Damage `json:"damage"`
	OpenTurn int      `json:"open_turn"` // 0: none
	Verified string   `json:"verified"`  // "tail" or "full"
	// Unknown counts the records of types that this build does not know, by
	// type: they are kept and skipped. Nil if there are none.
	Unknown map[event.Type]int64 `json:"unknown,omitempty"`
}

// State is how a session stands on disk.
type State string

const (
	StateIdle     State = "idle"
	StateRunning  State = "running"   // a live owner holds it
	StateOpenTurn State = "open_turn" // no owner, a turn to be recovered
	StateDamaged  State = "damaged"
	StateForked   State = "forked"
	StateFuture   State = "future"
)

// Entry is one line of a list.
type Entry struct {
	ID    event.SessionID
	State State
	Owner *event.Owner // the live owner, if any
	Bytes int64
	// Head and Tail are the first record and the last few that could be read,
	// for titles, folders and times; of a damaged journal too, where what they
	// are read from is whole. Nil where nothing could be read.
	Head *event.Record
	Tail []event.Record
	Turn int   // the last turn that was seen, 0 if none was
	Err  error // why it is damaged, forked or future
}

// Blobs keeps large values by digest. A blob is durable when Put returns.
type Blobs interface {
	Put(ctx context.Context, data []byte) (event.BlobRef, error)
	// Get returns an error matching [ErrNoBlob] for a blob that is not there.
	Get(ctx context.Context, ref event.BlobRef) ([]byte, error)
}

// Checker is the pure judge of LOG-04: Next is called with each record in
// order and refuses one that breaks the rules. turn.Check makes one; the store
// takes it as a parameter so that writer and reader judge alike.
type Checker interface {
	Next(r *event.Record) error
	// OpenTurn returns the number of the open turn, 0 if none.
	OpenTurn() int
}

// Sentinels; each is returned wrapped, with the session and what to do.
var (
	ErrExists   = errors.New("session exists")
	ErrNotFound = errors.New("no such session")
	// ErrFenced is returned when an append names a stale epoch or position:
	// somebody else writes this journal now, nothing more may be written here.
	ErrFenced = errors.New("fenced: the journal has another writer")
	ErrNoBlob = errors.New("blob is missing")
	// ErrStorage matches every failure of the disk below a journal.
	ErrStorage = errors.New("storage failed")
	// ErrPending is returned, together with ErrStorage, by an append that would
	// leave too much unacknowledged: after a sync it is taken, however large.
	ErrPending = errors.New("too much waits to be synced; sync before more is appended")
	// ErrRule is returned when a record breaks the ordering rules.
	ErrRule = errors.New("record breaks the order of the journal")
)

// BusyError says who holds a session.
type BusyError struct {
	ID    event.SessionID
	Owner event.Owner
}

// DamagedError says that a journal is damaged before its tail, or forked.
type DamagedError struct {
	ID     event.SessionID
	Ranges []Damage
	Forked bool
}

// FutureError says that a journal was written by a newer version.
type FutureError struct {
	ID       event.SessionID
	Version  int      // the journal's
	Requires []string // features we lack
	Path     string   // the raw file
}
