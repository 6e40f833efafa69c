package tui

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
)

// escWait is how long a lone Esc is held to see whether a sequence follows.
const escWait = 30 * time.Millisecond

// escKey is Esc as the kitty protocol writes it: no sequence begins with it.
const escKey = "\x1b[27u"

// keyboard is the terminal's input. It tells a lone Esc from the first byte of
// a sequence before the decoder sees it, one Esc for each press however fast
// they come, and reports the terminal's loss.
//
// A decoder that waits until no byte came for a while would show nothing of an
// Esc key that is held down, and would take a row of them for one key.
type keyboard struct {
	*os.File
	lost func(error)
	held bool // the last byte was an Esc that was not handed on
}

// readSize leaves room for every byte of a read to become an escKey.
const readSize = 512

// Read is called when the file is readable.
func (k *keyboard) Read(p []byte) (int, error) {
	if len(p) < readSize*len(escKey)+1 {
		return k.File.Read(p)
	}
	var in [readSize]byte
	n, err := k.File.Read(in[:])
	out := k.take(nil, in[:n])
	for k.held && err == nil {
		var timedOut bool
		if n, timedOut, err = k.readSoon(in[:]); timedOut {
			k.held = false
			out = append(out, escKey...)
			err = nil
			break
		}
		out = k.take(out, in[:n])
		if len(out) > len(p)/2 {
			break
		}
	}
	if err != nil {
		k.lost(err)
	}
	return copy(p, out), err
}

// take appends to out what in means: each Esc that another Esc follows was a
// key of its own, unless a sequence follows the two (Alt and an arrow on some
// terminals); an Esc at the end is held.
func (k *keyboard) take(out, in []byte) []byte {
	for i, b := range in {
		if b != 0x1b {
			if k.held {
				out = append(out, 0x1b)
				k.held = false
			}
			out = append(out, b)
			continue
		}
		if k.held {
			if i+1 < len(in) && (in[i+1] == '[' || in[i+1] == 'O') {
				out = append(out, 0x1b)
			} else {
				out = append(out, escKey...)
			}
		}
		k.held = true
	}
	return out
}

// readSoon reads what comes within escWait.
func (k *keyboard) readSoon(p []byte) (n int, timedOut bool, err error) {
	c, err := uv.NewCancelReader(k.File)
	if err != nil {
		return 0, true, nil // no way to wait here: it was an Esc
	}
	defer func() { _ = c.Close() }()
	var late atomic.Bool
	fired := make(chan struct{})
	t := time.AfterFunc(escWait, func() {
		defer close(fired)
		late.Store(true)
		c.Cancel()
	})
	n, err = c.Read(p)
	if !t.Stop() {
		<-fired
	}
	if n == 0 && late.Load() {
		return 0, true, nil
	}
	return n, false, err
}

// paper is the terminal's output; it reports the terminal's loss, and when the
// first frame is on it: printing above a frame that is not there leaves gaps.
type paper struct {
	*os.File
	lost  func(error)
	once  sync.Once
	drawn chan struct{}
}

// firstFrame is in the first frame alone: it makes pastes come in one piece.
const firstFrame = "\x1b[?2004h"

func (p *paper) Write(b []byte) (int, error) {
	n, err := p.File.Write(b)
	if err != nil {
		p.lost(err)
	}
	if bytes.Contains(b, []byte(firstFrame)) {
		p.once.Do(func() { close(p.drawn) })
	}
	return n, err
}
