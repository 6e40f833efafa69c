package tui

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/term"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// lineFace is the chat over lines: for pipes, dumb terminals and screen
// readers. Nothing it writes moves a cursor.
type lineFace struct {
	r     *runner
	c     *chat
	note  string
	asked map[event.ApprovalID]bool
	eof   bool
	out   *outcome
	rows  *queue[string] // to the writer: output that is stuck must not stop the loop
	wrote chan struct{}  // closed when the writer took the last row
}

// lastRow ends the writer; no row of ours holds a newline.
const lastRow = "\n"

// lineRead is a line of input, or its end.
type lineRead struct {
	text string
	err  error
}

func (r *runner) runLines() outcome {
	c := newChat(r.o)
	c.lines, c.piped = true, !r.tty()
	f := &lineFace{r: r, c: c, asked: map[event.ApprovalID]bool{}, rows: newQueue[string](), wrote: make(chan struct{})}
	r.start(f.writer)
	q := newQueue[input]()
	r.post = q.put
	if r.o.Notice != "" {
		f.write(oneLine(r.o.Notice))
	}
	if r.tty() {
		f.write("Lines only: Ctrl+C interrupts, /help lists the commands.")
	}
	read := make(chan lineRead)
	cancel := r.readLines(read)
	defer cancel()
	r.follow()
	out := f.loop(q, read)
	f.rows.put(lastRow)
	select {
	case <-f.wrote:
	case <-time.After(flushTime):
		out.mute = true
	}
	if !out.mute {
		r.farewell = func(line string) { _, _ = io.WriteString(r.o.Out, line+"\n") }
	}
	return out
}

// tty reports whether a person may sit at the other end.
func (r *runner) tty() bool { return term.IsTerminal(r.o.In.Fd()) }

// readLines starts the reader; stop ends it. A read that cannot be cut (of a
// regular file) ends by itself.
func (r *runner) readLines(to chan<- lineRead) (stop func()) {
	var in io.Reader = r.o.In
	cut, shut := func() bool { return false }, func() error { return nil }
	if c, err := uv.NewCancelReader(r.o.In); err == nil {
		in, cut, shut = c, c.Cancel, c.Close
	}
	quit, done := make(chan struct{}), make(chan struct{})
	r.start(func() {
		defer close(done)
		b := bufio.NewReader(in)
		for {
			text, err := b.ReadString('\n')
			select {
			case to <- lineRead{strings.TrimRight(text, "\r\n"), err}:
			case <-quit:
				return
			}
			if err != nil && (!errors.Is(err, io.EOF) || !r.tty() || r.hungUp()) {
				return
			}
		}
	})
	return func() {
		cut()
		close(quit)
		select {
		case <-done:
			_ = shut()
		case <-time.After(flushTime):
		}
	}
}

// hungUp tells a lost terminal from a Ctrl+D: it no longer has a state.
func (r *runner) hungUp() bool {
	_, err := term.GetState(r.o.In.Fd())
	return err != nil
}

func (f *lineFace) loop(q *queue[input], read <-chan lineRead) outcome {
	r, sigs := f.r, f.r.o.Signals
	for {
		select {
		case <-q.wake:
			q.mu.Lock()
			items := q.items
			q.items = nil
			q.mu.Unlock()
			for _, in := range items {
				f.apply(in)
			}
		case l := <-read:
			if out := f.line(l); out != nil {
				return *out
			}
			if l.err != nil && f.eof {
				read = nil
			}
		case sig, ok := <-sigs:
			switch {
			case !ok:
				sigs = nil
			case sig == os.Interrupt || sig == syscall.SIGINT:
				f.apply(signalled{sig})
			default:
				return r.stops(failure{}, sig)
			}
		case fail := <-r.failed:
			return r.stops(fail, nil)
		case <-r.ctx.Done():
			return r.stops(failure{}, nil)
		}
		if f.out != nil {
			return *f.out
		}
		if f.eof && f.finished() {
			return left(0)
		}
	}
}

// line takes one line, or the end of the input.
func (f *lineFace) line(l lineRead) *outcome {
	if l.text != "" || l.err == nil {
		f.apply(entered{l.text})
	}
	switch {
	case l.err == nil:
	case f.r.tty() && (!errors.Is(l.err, io.EOF) || f.r.hungUp()):
		return &outcome{code: 129, reason: "SYSTEM_SHUTDOWN", mute: true}
	case f.r.tty():
		f.apply(pressed{key: "ctrl+d"})
	default:
		f.eof = true
		f.refuse()
	}
	return nil
}

// finished reports, after the input's end, that nothing is left to wait for.
func (f *lineFace) finished() bool {
	return !f.c.loading && f.c.phase == idle && !f.c.underway() && !slices.ContainsFunc(f.c.inbox, func(w waiting) bool { return !w.held })
}

// refuse answers open questions when nobody is there to answer them.
func (f *lineFace) refuse() {
	for len(f.c.approvals) > 0 {
		q := f.c.approvals[0]
		f.c.unask(q.ID, "")
		f.write("nobody can answer: the input has ended; refused")
		f.r.perform(decide{api.DecideRequest{Session: f.c.session, Approval: q.ID, Decision: event.Deny, By: who, Why: "the input ended: nobody can answer"}})
	}
}

func (f *lineFace) apply(in input) {
	for _, e := range f.c.apply(f.r.o.Now(), in) {
		if f.r.perform(e) {
			continue
		}
		switch e := e.(type) {
		case show:
			f.show(e.block)
		case leave:
			out := left(e.code)
			f.out = &out
		case setDraft, redraw, suspend:
		}
	}
	f.c.draft = "" // a line is over when it was read
	if f.c.note != f.note {
		if f.note = f.c.note; f.note != "" {
			f.write("· " + f.note)
		}
	}
	f.tell()
}

// tell writes what the screen would draw: questions, lists, help.
func (f *lineFace) tell() {
	for _, q := range f.c.approvals {
		if !f.asked[q.ID] {
			f.asked[q.ID] = true
			f.write("? " + q.Tool + ": " + q.Prompt)
			if !q.Question {
				f.write("  allow? [y/N]")
				continue
			}
			for i, o := range q.Options {
				f.write("  " + itoa(i+1) + " " + oneLine(o))
			}
			f.write("  the next line answers" + numbered(q.Options) + "; /skip gives none")
		}
	}
	if f.eof {
		f.refuse()
	}
	if f.c.layer == noLayer || f.c.layer == jobsLayer && f.c.jobList == nil {
		return
	}
	for _, row := range f.c.layerRows(f.r.o.Now()) {
		f.write(row)
	}
	if f.c.layer == jobsLayer {
		f.write("  end one with: /jobs kill ID")
	}
	f.c.layer, f.c.jobList = noLayer, nil
}

func (f *lineFace) show(b block) {
	switch b.kind {
	case styled, lastBlock:
		for _, l := range b.lines {
			f.write(l)
		}
	case spoken:
		if !f.r.tty() {
			f.write("› " + clean(b.text))
		}
	case markdown:
		f.write(strings.TrimRight(clean(b.text), "\n"))
	}
}

// write puts a text out, without style.
func (f *lineFace) write(text string) {
	for row := range strings.SplitSeq(unstyled(text), "\n") {
		f.rows.put(row)
	}
}

// writer writes rows in order. A reader that is gone is the loss of the
// terminal.
func (f *lineFace) writer() {
	for rows := f.rows.take(f.r.ctx); rows != nil; rows = f.rows.take(f.r.ctx) {
		for _, row := range rows {
			if row == lastRow {
				close(f.wrote)
				return
			}
			if _, err := io.WriteString(f.r.o.Out, row+"\n"); err != nil {
				f.r.fail(failure{lost: err})
				return
			}
		}
	}
}
