package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// terminal is one command that can be talked to.
type terminal struct {
	id       event.JobID // empty until it is a job
	command  string
	turn     int // that opened it; 0: none of this runtime's
	tty      bool
	leftover bool // its command's end was told with the call that started it
	tree     proc.Tree
	relay    *relay

	mu     sync.Mutex
	keep   bool
	by     string // who ended it here
	cursor int64  // bytes of output that were given out or counted as left out
}

var _ tool.Process = (*terminal)(nil)

func (t *terminal) kept() bool { t.mu.Lock(); defer t.mu.Unlock(); return t.keep }

// ended reports whether nothing of it is left.
func (t *terminal) ended() bool { return closed(t.tree.Gone()) }

// ending says how its command ended.
func (t *terminal) ending() string {
	e, ok := t.tree.Exit()
	switch {
	case !ok:
		return "how it ended is not known yet"
	case e.Lost != "":
		return "how it ended is not known: " + e.Lost
	case e.Code != nil:
		return fmt.Sprintf("exit code %d", *e.Code)
	case e.Signal != "":
		return "ended by signal " + e.Signal
	}
	return "how it ended is not known"
}

// own reports whether its command ended before anybody asked it to.
func (t *terminal) own() bool {
	e, ok := t.tree.Exit()
	return ok && e.Own
}

// read gives the output that follows the cursor, within limit bytes of text,
// and moves the cursor.
func (t *terminal) read(limit int) (out proc.Output, fresh int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out, next := proc.Since(t.tree, t.cursor, limit)
	fresh, t.cursor = max(0, next-t.cursor), max(t.cursor, next)
	if t.tty { // a terminal's way to end a line
		out.Text = strings.ReplaceAll(out.Text, "\r\n", "\n")
	}
	return out, fresh
}

// unread is how many bytes of output nobody has asked for.
func (t *terminal) unread() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, proc.Printed(t.tree)-t.cursor)
}

// stop ends the whole tree and says for whom.
func (t *terminal) stop(by string, l interrupt.Ladder) (survivors []int) {
	t.mu.Lock()
	if t.by == "" && !closed(t.tree.Exited()) {
		t.by = by
	}
	t.mu.Unlock()
	return t.tree.Stop(l).Survivors
}

// EndedBy says who ended the job, empty if nobody here did.
func (t *terminal) EndedBy() string {
	if t.own() {
		return "" // it had ended when it was asked
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.by
}

// PIDs implements [tool.Process].
func (t *terminal) PIDs() []int { return t.tree.PIDs() }

// Gone implements [tool.Process].
func (t *terminal) Gone() <-chan struct{} { return t.tree.Gone() }

// Exit implements [tool.Process]. Of what a command left behind no end is
// known.
func (t *terminal) Exit() (code *int, signal string) {
	if t.leftover {
		return nil, ""
	}
	e, _ := t.tree.Exit()
	return e.Code, e.Signal
}

// Leave lets go of the tree if it is kept.
func (t *terminal) Leave() { proc.Leave(t.tree) }

// Output implements [tool.Process]; the cursor stays where it is.
func (t *terminal) Output(limit int) (text string, bytes int64) {
	o := t.tree.Output(limit)
	return o.Text, o.Bytes
}

// Stop implements [tool.Process].
func (t *terminal) Stop(l interrupt.Ladder) (survivors []int) { return t.tree.Stop(l).Survivors }

// Keep implements [tool.Process].
func (t *terminal) Keep(keep bool) error {
	if err := t.tree.Keep(keep); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep = keep
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// relay hands output on to the call that waits, as it comes.
type relay struct {
	mu   sync.Mutex
	live tool.Live     // nil: no call waits
	rest []byte        // a character whose end has not come yet
	more chan struct{} // closed and made anew with each piece
}

// Write implements [io.Writer] for the host.
func (r *relay) Write(p []byte) (int, error) {
	r.mu.Lock()
	live := r.live
	all := append(r.rest, p...)
	n := len(all) - unfinished(all)
	r.rest = append([]byte(nil), all[n:]...)
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
	r.mu.Unlock()
	if live != nil && n > 0 {
		live.Output(strings.ToValidUTF8(string(all[:n]), "\uFFFD"))
	}
	return len(p), nil
}

// to says who gets the output from now on.
func (r *relay) to(live tool.Live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = live
}

// next is closed when more has come.
func (r *relay) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return r.more
}

// unfinished counts the last bytes that begin a character and do not end it.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// pace is how often the size of the output is looked at, for terminals whose
// output does not come to us as it is printed.
const pace = 25 * time.Millisecond
