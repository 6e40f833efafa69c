package tui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
)

// frameTime is how often running clocks are redrawn.
const frameTime = 100 * time.Millisecond

// screen is the chat's face on a terminal: the line editor and the last known
// size, around the state. The program's goroutine owns it.
type screen struct {
	r      *runner
	c      *chat
	line   editor
	width  int
	height int
	prints *queue[block]
	out    *outcome // set when a person leaves
	gone   bool     // the last frame is empty

	chunk   *atomic.Int64 // rows that fit above the live part at once
	columns *atomic.Int64
	busy    *atomic.Bool
}

// Messages of ours to the program.
type (
	inputs []input
	tick   struct{}
)

func newScreen(r *runner) *screen {
	s := &screen{
		r: r, c: newChat(r.o), prints: newQueue[block](),
		chunk: new(atomic.Int64), columns: new(atomic.Int64), busy: new(atomic.Bool),
	}
	s.resize(80, 24)
	return s
}

func (s *screen) Init() tea.Cmd { return nil }

// resize keeps the live part to two thirds of the window: printing above it
// needs the rest.
func (s *screen) resize(w, h int) {
	s.width, s.height = max(4, w), max(3, h)
	s.columns.Store(int64(s.width - 1))
	s.chunk.Store(int64(max(1, s.height-s.liveHeight()-1)))
}

func (s *screen) liveHeight() int { return max(3, s.height*2/3) }

// Update is the one place where messages come in; a panic in it ends the
// program in order.
func (s *screen) Update(msg tea.Msg) (m tea.Model, cmd tea.Cmd) {
	m = s
	defer s.r.guard() // m stays set: the program draws it once more
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		cmd = s.key(msg)
	case tea.PasteMsg:
		s.line.insert(clean(msg.Content))
		cmd = s.do(s.c.apply(s.now(), typed{s.line.text}))
	case inputs:
		var cmds []tea.Cmd
		for _, in := range msg {
			cmds = append(cmds, s.do(s.c.apply(s.now(), in)))
		}
		cmd = tea.Batch(cmds...)
	}
	s.busy.Store(s.c.phase.busy())
	return s, cmd
}

func (s *screen) now() time.Time { return s.r.o.Now() }

// key gives a key to the chat if it has a meaning there, else to the editor.
func (s *screen) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case name == "ctrl+alt+c":
		name = "ctrl+c" // an Esc just before it came in one piece with it
	case msg.Mod == tea.ModCtrl && msg.Code > unicode.MaxASCII && msg.BaseCode != 0:
		name = "ctrl+" + string(msg.BaseCode) // a Korean or other layout is on
	}
	first, last := s.line.edge(s.width - 3)
	if s.c.bound(name, s.line.text, first, last) {
		return s.do(s.c.apply(s.now(), pressed{name, s.line.text, first, last}))
	}
	if !s.line.key(name, msg.Text, s.width-3) {
		return nil
	}
	return s.do(s.c.apply(s.now(), typed{s.line.text}))
}

// do performs effects in order.
func (s *screen) do(effects []effect) tea.Cmd {
	var cmds []tea.Cmd
	for _, e := range effects {
		if s.r.perform(e) {
			continue
		}
		switch e := e.(type) {
		case show:
			s.prints.put(e.block)
		case setDraft:
			at := s.line.pos
			if s.line.set(e.text); e.stay {
				s.line.pos = at
			}
		case redraw:
			cmds = append(cmds, tea.ClearScreen)
		case suspend:
			cmds = append(cmds, tea.Exec(suspender{}, func(err error) tea.Msg { return inputs{resumed{err}} }))
		case leave:
			if s.out == nil {
				out := left(e.code)
				s.out, s.gone = &out, true
				s.prints.put(block{kind: lastBlock})
			}
		}
	}
	return tea.Batch(cmds...)
}

// View draws the live part: what moves, the line, the footer.
func (s *screen) View() (v tea.View) {
	defer s.r.guard()
	if s.gone {
		return tea.NewView("")
	}
	now := s.now()
	input, x, y := s.line.view(s.width-1, max(1, min(6, s.height/3)))
	rows := s.c.rows(now, s.width-1, s.liveHeight()-len(input)-2)
	top := len(rows)
	rows = append(rows, input...)
	if s.c.note != "" {
		rows = append(rows, short(yellow(s.c.note), s.width-1))
	}
	rows = append(rows, short(quiet(s.c.footer(now)), s.width-1))
	v = tea.NewView(onlyStyle(strings.Join(rows, "\n")))
	v.KeyboardEnhancements.ReportAlternateKeys = true
	v.Cursor = tea.NewCursor(x, top+y)
	return v
}

// runScreen runs the face on a terminal until it stops, and restores the
// terminal.
func (r *runner) runScreen() outcome {
	in, out := r.o.In, r.o.Out
	saved, err := term.GetState(in.Fd())
	if err != nil {
		return outcome{code: 129, reason: "SYSTEM_SHUTDOWN", err: fmt.Errorf("the terminal cannot be read: %w", err)}
	}
	progCtx, stopProg := context.WithCancel(r.ctx)
	defer stopProg()
	lost := func(err error) { r.fail(failure{lost: err}) }
	sheet := &paper{File: out, lost: lost, drawn: make(chan struct{})}
	s := newScreen(r)
	profile := colorprofile.Detect(out, r.o.Environ)
	if r.o.NoColor {
		profile = colorprofile.ASCII
	}
	p := tea.NewProgram(s, tea.WithContext(progCtx), tea.WithoutSignalHandler(), tea.WithEnvironment(r.o.Environ),
		tea.WithInput(&keyboard{File: in, lost: lost}), tea.WithOutput(sheet), tea.WithColorProfile(profile))
	if r.o.Notice != "" {
		s.prints.put(lines(quiet(oneLine(r.o.Notice))))
	}
	r.feed(p, s, profile, sheet.drawn)
	r.follow()
	done := make(chan error, 1)
	r.start(func() {
		defer close(done)
		_, err := p.Run()
		done <- err
	})
	got := r.attend(done, stopProg, func() *outcome { return s.out })
	_ = term.Restore(in.Fd(), saved)
	if !got.mute {
		r.farewell = func(line string) { _, _ = fmt.Fprintln(out, line) }
	}
	return got
}

// feed starts what hands inputs, prints and ticks to the program.
func (r *runner) feed(p *tea.Program, s *screen, profile colorprofile.Profile, drawn <-chan struct{}) {
	q := newQueue[input]()
	r.post = q.put
	r.start(func() {
		for items := q.take(r.ctx); items != nil; items = q.take(r.ctx) {
			p.Send(inputs(items))
		}
	})
	r.start(func() {
		select {
		case <-drawn:
		case <-r.ctx.Done():
			return
		}
		paint := &press{profile: profile}
		for items := s.prints.take(r.ctx); items != nil; items = s.prints.take(r.ctx) {
			for _, b := range items {
				if b.kind == lastBlock {
					p.Send(tea.QuitMsg{})
					return
				}
				paint.width = int(s.columns.Load())
				rows := paint.rows(b)
				for len(rows) > 0 {
					n := min(len(rows), int(s.chunk.Load()))
					p.Send(tea.Println(strings.Join(rows[:n], "\n"))())
					rows = rows[n:]
				}
			}
		}
	})
	r.start(func() {
		t := time.NewTicker(frameTime)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if s.busy.Load() {
					p.Send(tick{})
				}
			case <-r.ctx.Done():
				return
			}
		}
	})
}

// attend waits until the program is done or must stop.
func (r *runner) attend(done <-chan error, stop func(), out func() *outcome) outcome {
	sigs := r.o.Signals
	for {
		var why outcome
		select {
		case err := <-done:
			select {
			case f := <-r.failed:
				return r.stops(f, nil)
			default:
			}
			if o := out(); o != nil {
				return *o
			}
			return outcome{code: 1, reason: "SYSTEM_SHUTDOWN", err: fmt.Errorf("the terminal program ended: %w", err)}
		case f := <-r.failed:
			why = r.stops(f, nil)
		case <-r.ctx.Done():
			why = r.stops(failure{}, nil)
		case sig, ok := <-sigs:
			switch {
			case !ok:
				sigs = nil
				continue
			case sig == syscall.SIGINT || sig == os.Interrupt:
				r.post(signalled{sig})
				continue
			}
			why = r.stops(failure{}, sig)
		}
		stop()
		select {
		case <-done:
		case <-time.After(flushTime): // the terminal takes no more output
			why.mute = true
		}
		return why
	}
}
