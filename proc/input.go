package proc

import "time"

// Input is the way into a command that was started with [Spec.Hold].
type Input interface {
	// Write gives p to the command and returns how many bytes were taken. A
	// command that does not read takes what its terminal or pipe has room for;
	// the error then matches [os.ErrDeadlineExceeded] after bound. Once the
	// tree is gone it matches [os.ErrClosed].
	Write(p []byte, bound time.Duration) (n int, err error)
	// Resize tells a terminal's command how large its window is, in cells.
	Resize(rows, cols int) error
	// End closes the input of a command with a pipe, for everybody who holds
	// it. A terminal has no end: its command is written a Ctrl-D.
	End() error
	// Terminal reports whether it is a terminal.
	Terminal() bool
}

// InputOf returns the way into t; ok is false if there is none: it was started
// without [Spec.Hold], or adopted from a guardian that holds nothing.
func InputOf(t Tree) (in Input, ok bool) {
	w, is := t.(interface{ input() (Input, bool) })
	if !is {
		return nil, false
	}
	return w.input()
}

// Leave lets go of a kept tree while this process lives on: its guardian keeps
// it, and whoever adopts it next, here or in another process, has it. t then
// says no more of it, neither its output's end nor its own, and its Stop ends
// nothing. What is not kept stays as it is.
func Leave(t Tree) {
	if l, is := t.(interface{ letGo() }); is {
		l.letGo()
	}
}

// Since returns what t printed after its first from bytes, head and tail within
// limit bytes of text (0: all that was kept). Bytes is what was printed in all,
// also before from; Dropped is what was printed after from and is kept nowhere.
// A character whose last bytes have not come yet is left out unless the tree is
// gone; next is where the text ends and the next call begins.
func Since(t Tree, from int64, limit int) (out Output, next int64) {
	s, is := t.(interface {
		since(from int64, limit int) (Output, int64)
	})
	if !is {
		out = t.Output(limit)
		return out, out.Bytes
	}
	return s.since(from, limit)
}

// Printed returns how many bytes t has printed. It is cheap.
func Printed(t Tree) int64 {
	p, is := t.(interface{ printed() int64 })
	if !is {
		return t.Output(omissionRoom).Bytes
	}
	return p.printed()
}
