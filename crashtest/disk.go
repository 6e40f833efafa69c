package crashtest

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/file"
)

const (
	sector      = 512
	journalFile = "journal.jsonl"
)

// Disk is a [file.FS] that behaves as the system's, and keeps account of what
// of one journal would stand on the platter if the power went now: nothing
// that was not synced is sure to be there, and it comes in sectors.
//
//	Write ──▶ pending sectors ──Sync──▶ durable
//	                │ Sync fails
//	                ▼
//	          some durable, all forgotten: the page cache claims to be clean
//
// A file whose folder was not synced may not be there at all.
type Disk struct {
	file.OS
	// Told says which record has been acknowledged; it is asked at each moment.
	Told func() event.Seq
	// FailSync makes the nth sync of the journal fail, counted from 1; 0 none.
	FailSync int
	// Room is how many bytes may be written in all; 0 means no end. Removing a
	// reserve gives its bytes back.
	Room int64

	mu      sync.Mutex
	rng     *rand.Rand
	durable []byte
	pending []op
	synced  map[string]bool // folders, since the journal was made
	syncs   int
	used    int64
	full    int // writes that did not fit
	moments []Moment
}

// NewDisk returns a disk whose choices come from seed.
func NewDisk(seed uint64) *Disk {
	return &Disk{rng: rand.New(rand.NewPCG(seed, 4)), synced: map[string]bool{}}
}

// op is a change of the journal that may or may not have reached the platter.
type op struct {
	off  int64
	data []byte // nil: the file is cut at off
}

// Moment is what the power going at one instant leaves to chance.
type Moment struct {
	Told    event.Seq
	Named   bool // the journal's name is on the platter
	durable []byte
	pending []op
}

// Pending is how many changes may or may not have been made.
func (m *Moment) Pending() int { return len(m.pending) }

// Image is the journal with those changes made whose bit in mask is set.
func (m *Moment) Image(mask uint64) []byte {
	b := append([]byte(nil), m.durable...)
	for i, o := range m.pending {
		if mask&(1<<(i%64)) != 0 {
			b = o.apply(b)
		}
	}
	return b
}

func (o op) apply(b []byte) []byte {
	end := o.off + int64(len(o.data))
	if grow := max(end, o.off) - int64(len(b)); grow > 0 {
		b = append(b, make([]byte, grow)...)
	}
	if o.data == nil {
		return b[:o.off:o.off]
	}
	copy(b[o.off:end], o.data)
	return b
}

// Moments returns one for each instant at which something changed.
func (d *Disk) Moments() []Moment {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moment()
	return d.moments
}

// Syncs is how often the journal was synced, or was to be.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// Used is how many bytes were written, and Full how many writes did not fit.
func (d *Disk) Used() (used int64, full int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used, d.full
}

// MakeRoom lets everything fit from now on.
func (d *Disk) MakeRoom() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Room = 0
}

// moment notes what would be left now; the caller holds the lock.
func (d *Disk) moment() {
	told := event.Seq(-1)
	if d.Told != nil {
		told = d.Told()
	}
	d.moments = append(d.moments, Moment{Told: told, Named: len(d.synced) >= 2,
		durable: d.durable[:len(d.durable):len(d.durable)], pending: d.pending[:len(d.pending):len(d.pending)]})
}

// Open implements [file.FS].
func (d *Disk) Open(name string, flag int, perm fs.FileMode) (file.File, error) {
	f, err := d.OS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f, d: d, journal: filepath.Base(name) == journalFile && flag&os.O_RDWR != 0, reserve: filepath.Base(name) == "reserve"}, nil
}

// SyncDir implements [file.FS].
func (d *Disk) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moment()
	d.synced[filepath.Clean(name)] = true
	return nil
}

// RemoveAll implements [file.FS].
func (d *Disk) RemoveAll(name string) error {
	if info, err := os.Stat(name); err == nil && filepath.Base(name) == "reserve" {
		d.mu.Lock()
		d.used -= info.Size()
		d.mu.Unlock()
	}
	return d.OS.RemoveAll(name)
}

type diskFile struct {
	file.File
	d       *Disk
	journal bool
	reserve bool
}

// fits takes n bytes of room and returns how many there were.
func (d *Disk) fits(n int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Room > 0 && d.used+n > d.Room {
		n = max(d.Room-d.used, 0)
		d.full++
	}
	d.used += n
	return n
}

func (f *diskFile) Write(b []byte) (int, error) {
	if !f.journal {
		return f.File.Write(b)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	room := f.d.fits(int64(len(b)))
	n, err := f.File.Write(b[:room])
	f.d.wrote(info.Size(), b[:n])
	if err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return n, err
}

// wrote splits a write into its sectors.
func (d *Disk) wrote(off int64, b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moment()
	for len(b) > 0 {
		n := min(sector-off%sector, int64(len(b)))
		d.pending = append(d.pending, op{off, append([]byte(nil), b[:n]...)})
		off, b = off+n, b[n:]
	}
}

func (f *diskFile) Truncate(n int64) error {
	if f.journal {
		f.d.cut(n)
	}
	return f.File.Truncate(n)
}

func (d *Disk) cut(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moment()
	d.pending = append(d.pending, op{off: n})
}

// Sync does not ask the real disk: what is durable is this one's own affair.
func (f *diskFile) Sync() error {
	if f.journal {
		return f.d.sync()
	}
	return nil
}

func (d *Disk) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moment()
	d.syncs++
	fail := d.syncs == d.FailSync
	var b []byte
	b = append(b, d.durable...)
	for _, o := range d.pending {
		if !fail || d.rng.IntN(2) == 0 {
			b = o.apply(b)
		}
	}
	d.durable, d.pending = b, nil
	d.moment()
	if fail {
		return syscall.EIO
	}
	return nil
}

func (f *diskFile) Allocate(n int64) error {
	if f.reserve && f.d.fits(n) < n {
		return syscall.ENOSPC
	}
	return f.File.Allocate(n)
}
