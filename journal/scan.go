package journal

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ripcord-go/ripcord/event"
)

// ScanOptions tune a scan; the zero value reads a whole journal by its bytes
// alone.
type ScanOptions struct {
	// Check judges the order of records; nil means no rules. It sees every
	// record up to the first damage and none behind it.
	Check Checker
	// Start is a trusted place to begin behind, nil for the beginning.
	Start *Place
}

// ItemKind says what a scan came upon.
type ItemKind int

const (
	ItemRecord ItemKind = iota // a record that holds
	ItemDamage                 // a range of bytes that does not
	ItemFuture                 // a record of a newer format; the scan ends
)

// Item is one thing a scan came upon, in the order of the file.
type Item struct {
	Kind  ItemKind
	Place Place      // of the record; its End is the item's end
	Type  event.Type // of the record
	// Branch is 0 for a record of the journal's first branch. Fork says that a
	// damage is the place where another begins.
	Branch int
	Fork   bool
	// Line holds the record's bytes without newline; it is valid until the
	// next call of Next.
	Line   []byte
	Damage Damage // ItemDamage only
}

// Record decodes the item's envelope into a record that shares no memory with
// the scan.
func (it *Item) Record() (event.Record, error) { return event.Parse(bytes.Clone(it.Line)) }

// Found is what a scan has found so far; it is complete once Next returned
// false.
type Found struct {
	Tip     Place // behind the last valid record of the first branch
	Records int64 // that hold, on all branches
	Bytes   int64 // read
	Torn    *Torn
	Damage  []Damage // the first [MaxDamage] ranges
	Forked  bool
	Unknown map[event.Type]int64 // records of types that this build does not know; the first [MaxUnknown] types
	Future  *FutureError
	Open    int // open turn by the checker, 0 if none or unknown
}

// MaxDamage is how many ranges are kept; the last one then says that more
// follow.
const MaxDamage = 256

// MaxUnknown is how many types are told apart that this build does not know;
// the records of others are counted as of the type "others".
const MaxUnknown = 64

// unknown counts a record of a type that this build does not know.
func (f *Found) unknown(t event.Type) {
	if f.Unknown == nil {
		f.Unknown = map[event.Type]int64{}
	}
	if f.Unknown[t] == 0 && len(f.Unknown) >= MaxUnknown {
		t = "others"
	}
	f.Unknown[t]++
}

// Err returns the [*FutureError] or [*DamagedError] that a writer of session
// id must be refused with, nil if there is none. path names the raw file.
func (f *Found) Err(id event.SessionID, path string) error {
	switch {
	case f.Future != nil:
		e := *f.Future
		e.ID, e.Path = id, path
		return &e
	case len(f.Damage) > 0:
		return &DamagedError{ID: id, Ranges: f.Damage, Forked: f.Forked}
	}
	return nil
}

// Report is the scan's result in the words of [Store.Verify]. A tear is no
// damage: opening heals it.
func (f *Found) Report() Report {
	return Report{
		OK: len(f.Damage) == 0, Records: f.Records, Bytes: f.Bytes, Torn: f.Torn,
		Damage: f.Damage, OpenTurn: f.Open, Verified: "full", Unknown: f.Unknown,
	}
}

// Scanner walks a journal's bytes; see the package comment for its states. It
// keeps one record and the sums of the last few ten thousand in memory. It is
// not safe for concurrent use.
type Scanner struct {
	in    lines
	size  int64
	heads []Place // tips of the branches; the first is the journal's
	cur   int     // branch of the record read last
	sums  ring
	check Checker
	item  Item
	queue []Item // found together with item
	found Found
	done  bool
	pos   int64 // behind the last item

	proof   proof // evidence of a synced batch ahead
	grouped int64 // end of the last group known to be committed
	inGroup bool  // this scanner only looks for a group's end
}

// NewScanner returns a scanner over the first size bytes of src.
func NewScanner(src io.ReaderAt, size int64, o ScanOptions) *Scanner {
	at := Origin()
	if o.Start != nil {
		at = *o.Start
	}
	s := &Scanner{in: newLines(src, size, at.End), size: size, heads: []Place{at}, check: o.Check, pos: at.End}
	s.sums.limit = int(min(max(size-at.End, 0)/64+16, ringSize))
	s.sums.put(at.Seq, at.Sum)
	s.found.Tip = at
	return s
}

// Next goes on to the next item; false at the end, after which Found and Err
// tell how it ended.
func (s *Scanner) Next() bool {
	if len(s.queue) > 0 {
		s.item, s.queue = s.queue[0], s.queue[1:]
		return true
	}
	for !s.done {
		ln, ok := s.in.next()
		if !ok {
			s.end()
			return false
		}
		if tip := &s.heads[s.cur]; tip.Bare && len(ln.b) == 0 && !ln.bare {
			tip.Bare, tip.End, s.pos = false, ln.end, ln.end // the newline that was still to come
			s.found.Tip = s.heads[0]
			continue
		}
		if s.judge(ln) {
			return true
		}
	}
	return false
}

// Item returns what Next came upon.
func (s *Scanner) Item() *Item { return &s.item }

// Found returns what was found so far.
func (s *Scanner) Found() *Found { return &s.found }

// Err returns the source's error, if reading ended by one.
func (s *Scanner) Err() error { return s.in.err }

// Resume lets a scan that came to its end, or to a tear, go on behind its last
// item once the source has size bytes. It does nothing after a newer format.
func (s *Scanner) Resume(size int64) {
	if s.found.Future != nil || s.in.err != nil {
		return
	}
	s.done, s.size, s.found.Torn = false, size, nil
	s.in = newLines(s.in.src, size, s.pos)
	s.sums.limit = max(s.sums.limit, len(s.sums.seqs))
}

func (s *Scanner) end() {
	s.done = true
	s.size = s.in.size
	s.found.Bytes = s.size
	if s.check != nil {
		s.found.Open = s.check.OpenTurn()
	}
}

func (s *Scanner) tear(off int64) bool {
	s.end()
	s.found.Torn = &Torn{Offset: off, Bytes: s.size - off}
	return false
}

// judge decides about one line; true if an item is to be given.
func (s *Scanner) judge(ln line) bool {
	env, whole := readEnvelope(ln.b)
	whole = whole && !ln.long
	if whole && s.newer(ln, &env) {
		return true
	}
	branch, prev, forks := s.place(ln, &env, whole)
	switch {
	case branch < 0 && !forks:
		return s.bad(ln, &env, whole)
	case forks:
		s.heads = append(s.heads, prev)
		branch = len(s.heads) - 1
		s.found.Forked = true
		s.damaged(Damage{From: ln.off, To: ln.end, Why: fmt.Sprintf("forked at %d: a second record follows record %d", env.seq, prev.Seq)})
		s.item.Fork = true
		s.queue = append(s.queue, s.item)
	}
	s.cur = branch
	tip := s.heads[branch]
	if branch == 0 && env.is(event.TypeRepairBegun) && !s.inGroup && ln.off >= s.grouped && !s.committed(ln) {
		return s.tear(ln.off)
	}
	why := outOfPlace(tip, &env)
	if why == "" && branch == 0 && s.check != nil && len(s.found.Damage) == 0 {
		why = s.broken(ln)
	}
	s.advance(ln, &env)
	if why != "" {
		s.damaged(Damage{From: ln.off, To: ln.end, Why: why})
		return true
	}
	s.found.Records++
	s.item = Item{Kind: ItemRecord, Place: s.heads[branch], Type: typeOf(env.typ), Branch: branch, Line: ln.b}
	if _, known := typeNames[string(env.typ)]; !known {
		s.found.unknown(s.item.Type)
	}
	if len(s.queue) > 0 { // the fork comes first
		s.queue = append(s.queue, s.item)
		s.item, s.queue = s.queue[0], s.queue[1:]
	}
	return true
}

// place finds the branch whose tip the line chains from: -1 if there is none,
// and then whether the line opens a branch behind prev.
func (s *Scanner) place(ln line, env *envelope, whole bool) (branch int, prev Place, forks bool) {
	if !whole {
		return -1, prev, false
	}
	sum, ok := event.LineSum(ln.b)
	if !ok {
		return -1, prev, false
	}
	for i := range s.heads {
		b := (s.cur + i) % len(s.heads)
		if event.ChainSum(s.heads[b].Sum, ln.b) == sum {
			return b, prev, false
		}
	}
	prev, forks = s.sums.fork(ln.b, sum, env)
	if !forks {
		return -1, prev, false
	}
	return -1, prev, true
}

// outOfPlace says what is wrong with the place of a line whose sum holds.
func outOfPlace(tip Place, env *envelope) string {
	switch {
	case env.seq != tip.Seq+1:
		return fmt.Sprintf("record %d stands where %d belongs", env.seq, tip.Seq+1)
	case env.epoch < tip.Epoch:
		return fmt.Sprintf("record %d: epoch falls from %d to %d", env.seq, tip.Epoch, env.epoch)
	case env.batch < tip.Batch:
		return fmt.Sprintf("record %d: batch falls from %d to %d", env.seq, tip.Batch, env.batch)
	}
	return ""
}

func (s *Scanner) broken(ln line) string {
	r, err := event.Parse(ln.b)
	if err == nil {
		err = s.check.Next(&r)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// advance moves the current branch behind the line.
func (s *Scanner) advance(ln line, env *envelope) {
	sum, _ := event.LineSum(ln.b)
	s.pos = ln.end
	tip := s.heads[s.cur]
	s.heads[s.cur] = Place{
		Seq: env.seq, Epoch: max(env.epoch, tip.Epoch), Batch: max(env.batch, tip.Batch), Index: env.index,
		Prev: tip.Sum, Sum: sum, Off: ln.off, End: ln.end, Bare: ln.bare,
	}
	if s.cur == 0 {
		s.sums.put(env.seq, sum)
		s.found.Tip = s.heads[0]
	}
}

// damaged records a range and makes it the item.
func (s *Scanner) damaged(d Damage) {
	s.pos = max(s.pos, d.To)
	switch n := len(s.found.Damage); {
	case n < MaxDamage:
		s.found.Damage = append(s.found.Damage, d)
	default:
		last := &s.found.Damage[n-1]
		last.To, last.Why = d.To, "many ranges; the last of them: "+d.Why
	}
	s.item = Item{Kind: ItemDamage, Damage: d, Place: Place{Off: d.From, End: d.To}}
}

// bad deals with a line that does not hold: it ends the scan at a tear, or
// gives the damaged range and goes on behind it.
func (s *Scanner) bad(ln line, env *envelope, whole bool) bool {
	why := s.describe(ln, env, whole)
	p := s.probe(ln)
	if !p.damage {
		return s.tear(ln.off)
	}
	s.damaged(Damage{From: ln.off, To: p.off, Why: why})
	if !p.found {
		s.end()
		return true
	}
	tip := s.heads[s.cur]
	tip.Seq, tip.Sum, tip.Off, tip.End, tip.Bare = p.seq-1, p.prev, p.off, p.off, false
	if !p.fork {
		s.heads[s.cur] = tip
		if s.cur == 0 {
			s.sums.put(tip.Seq, tip.Sum)
		}
	}
	s.in.seek(p.off)
	return true
}

func (s *Scanner) describe(ln line, env *envelope, whole bool) string {
	tip := s.heads[s.cur]
	sum, hasSum := event.LineSum(ln.b)
	known, ok := s.sums.get(env.seq)
	switch {
	case ln.long:
		return fmt.Sprintf("a line of more than %d bytes", MaxRecord)
	case len(bytes.Trim(ln.b, "\x00")) == 0 && len(ln.b) > 0:
		return "zero bytes"
	case !whole || !hasSum:
		return "not a record"
	case env.seq <= tip.Seq && ok && known == sum:
		return fmt.Sprintf("record %d stands here again", env.seq)
	case env.seq != tip.Seq+1:
		return fmt.Sprintf("record %d stands where %d belongs", env.seq, tip.Seq+1)
	}
	return fmt.Sprintf("the sum of record %d does not hold", env.seq)
}

// newer reports whether the line was written by a newer version, and makes it
// the item. Of the first line its word is enough, since a newer format may
// chain otherwise; any other must hold by its sum.
func (s *Scanner) newer(ln line, env *envelope) bool {
	tip := s.heads[s.cur]
	opens := env.is(event.TypeSessionOpened)
	if env.v <= event.Version && !opens {
		return false
	}
	sum, _ := event.LineSum(ln.b)
	holds := event.ChainSum(tip.Sum, ln.b) == sum
	first := tip.Seq < 0 && ln.off == 0
	if !holds && !(first && env.v > event.Version && !altered(tip, ln.b, "v", int64(env.v), event.Version)) {
		return false
	}
	var requires []string
	if r, err := event.Parse(ln.b); err == nil && opens {
		if body, err := r.Body(); err == nil {
			requires = body.(event.SessionOpened).Requires
		}
	}
	if env.v <= event.Version && len(requires) == 0 { // this build has no optional features yet
		return false
	}
	s.found.Future = &FutureError{Version: env.v, Requires: requires}
	s.item = Item{Kind: ItemFuture, Place: Place{Seq: env.seq, Off: ln.off, End: ln.end}, Line: ln.b}
	s.end()
	return true
}

// typeOf returns the table's own copy of a type's name, so that a scan makes
// no garbage.
func typeOf(name []byte) event.Type {
	if t, ok := typeNames[string(name)]; ok {
		return t
	}
	return event.Type(name)
}

var typeNames = func() map[string]event.Type {
	m := make(map[string]event.Type)
	for _, k := range event.Types() {
		m[string(k.Type)] = k.Type
	}
	return m
}()
