package proctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// Hold says what a command is given as its input, whose other end is held.
type Hold string

const (
	HoldNothing  Hold = ""
	HoldTerminal Hold = "terminal"
	HoldPipe     Hold = "pipe"
)

// give makes the descriptors and puts them into s; the caller closes them with
// done once the command was started.
func (h Hold) give(s *proc.Spec) (done func(), err error) {
	switch h {
	case HoldNothing:
		return func() {}, nil
	case HoldPipe:
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		s.Files[0], s.Hold = r, w
		return func() { r.Close(); w.Close() }, nil
	case HoldTerminal:
		master, slave, err := terminal()
		if err != nil {
			return nil, err
		}
		s.Files, s.TTY, s.Hold = [3]*os.File{slave, slave, slave}, true, master
		return func() { master.Close(); slave.Close() }, nil
	}
	return nil, fmt.Errorf("hold %q", h)
}

// talk starts a script on what h gives.
func (b *bench) talk(h Hold, script string) (proc.Tree, proc.Input, Mark) {
	b.Helper()
	s, m := b.spec(script)
	done, err := h.give(&s)
	if err != nil {
		b.Fatal(err)
	}
	tree := b.start(s)
	done()
	in, ok := proc.InputOf(tree)
	if !ok || in.Terminal() != (h == HoldTerminal) {
		b.Fatalf("no way into it, or another: %v", ok)
	}
	return tree, in, m
}

func (b *bench) says(tree proc.Tree, text string) {
	b.Helper()
	Until(b, 30*second, fmt.Sprintf("it says %q", text), func() bool { return strings.Contains(tree.Output(0).Text, text) })
}

func (b *bench) write(in proc.Input, text string) {
	b.Helper()
	if n, err := in.Write([]byte(text), 30*second); err != nil || n != len(text) {
		b.Errorf("%d bytes of %q were taken: %v", n, text, err)
	}
}

func heldTerminal(b *bench) {
	tree, in, m := b.talk(HoldTerminal, `stty size; read x; echo "got $x"; stty size; cat >/dev/null; head -c 9000 /dev/zero | tr '\0' z; echo end`)
	b.says(tree, "0 0")
	if err := in.Resize(24, 80); err != nil {
		b.Error(err)
	}
	b.write(in, "hello\n")
	b.says(tree, "got hello")
	b.says(tree, "24 80")
	b.write(in, "\x04")
	Within(b, 30*second, "its end", tree.Gone())
	if out := tree.Output(0); !strings.HasSuffix(out.Text, "zzz"+"end\r\n") || strings.Count(out.Text, "z") != 9000 {
		b.Errorf("%d bytes, the last %q", out.Bytes, out.Text[max(0, len(out.Text)-20):])
	}
	if e, _ := tree.Exit(); e.Code == nil || *e.Code != 0 {
		b.Errorf("exit %+v", e)
	}
	if _, err := in.Write([]byte("x"), second); !errors.Is(err, os.ErrClosed) {
		b.Errorf("writing to what is gone: %v", err)
	}
	if !m.None() {
		b.Errorf("alive: %v", m.Alive())
	}
}

// reopenedTerminal closes its terminal altogether, and comes back to it.
func reopenedTerminal(b *bench) {
	if err := unix.Mkfifo(b.dir+"/go", 0o600); err != nil {
		b.Fatal(err)
	}
	tree, _, m := b.talk(HoldTerminal, `echo one; exec </dev/null >/dev/null 2>&1; : >closed; read x <go; echo two >/dev/tty; exec sleep 1000`)
	Until(b, 30*second, "it closed its terminal", func() bool { _, err := os.Stat(b.dir + "/closed"); return err == nil })
	if err := os.WriteFile(b.dir+"/go", []byte("\n"), 0); err != nil {
		b.Fatal(err)
	}
	b.says(tree, "one\r\ntwo\r\n")
	b.stop(tree, m, 0)
}

// deafReader never reads: a write to it takes what there is room for.
func deafReader(b *bench) {
	for _, h := range []Hold{HoldTerminal, HoldPipe} {
		tree, in, m := b.talk(h, `[ -t 0 ] && stty raw -echo; echo up; exec sleep 1000`)
		b.says(tree, "up")
		n, err := in.Write(make([]byte, 4<<20), 50*time.Millisecond)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n >= 4<<20 {
			b.Errorf("%s: %d bytes were taken: %v", h, n, err)
		}
		b.stop(tree, m, 0)
	}
}

func heldPipe(b *bench) {
	tree, in, _ := b.talk(HoldPipe, `cat; echo end`)
	b.write(in, "hello\n")
	b.says(tree, "hello\n")
	if err := in.Resize(1, 1); err == nil {
		b.Error("a pipe was resized")
	}
	looked := make(chan struct{})
	go func() { // whoever looks at the tree meanwhile
		defer close(looked)
		for range 100 {
			tree.Exit()
		}
	}()
	if err := in.End(); err != nil {
		b.Error(err)
	}
	<-looked
	Within(b, 30*second, "its end", tree.Gone())
	if out := tree.Output(0); out.Text != "hello\nend\n" {
		b.Errorf("output %q", out.Text)
	}
}

func terminalRuntimeDeath(b *bench) {
	s, m := b.spec(`trap '' HUP TERM; (setsid sh -c 'trap "" HUP; exec sleep 1000' &) ; echo up; while :; do sleep 1000; done`)
	s.Ladder = interrupt.Ladder{Grace: 2 * second, Bound: second}
	r := startRuntime(b, b.Driver, runtimeJob{Spec: s, Hold: HoldTerminal})
	Until(b, 30*second, "the tree stands", func() bool { return len(m.Alive()) == 3 })
	r.Kill()
	Until(b, 10*second, "the tree's end", m.None)
	if rec, err := proc.ReadExit(s.Spool); err != nil || rec.How != proc.HowRuntimeDied {
		Until(b, 10*second, "the record of the end", func() bool {
			rec, err := proc.ReadExit(s.Spool)
			return err == nil && rec.Gone && rec.How == proc.HowRuntimeDied
		})
	}
}

// keptTerminal is talked to by two runtimes, the first of which is killed. Who
// is hung up says so.
func keptTerminal(b *bench) {
	for h, script := range map[Hold]string{
		HoldTerminal: `trap 'echo HUNGUP' HUP; echo begun; while read x; do echo "got $x"; stty size; done; echo EOF`,
		HoldPipe:     `echo begun; while read x; do echo "got $x"; done; echo EOF`,
	} {
		s, m := b.spec(script)
		r := startRuntime(b, b.Driver, runtimeJob{Spec: s, Hold: h, Keep: true})
		Until(b, 30*second, "it runs", func() bool { out, _ := proc.ReadOutput(s.Spool, 0); return strings.Contains(out.Text, "begun") })
		r.Kill()
		ctx, cancel := context.WithTimeout(context.Background(), 30*second)
		tree, err := b.host.Adopt(ctx, r.Tree, s.Spool)
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		in, ok := proc.InputOf(tree)
		if !ok {
			b.Fatalf("%s: no way into what was adopted", h)
		}
		if h == HoldTerminal {
			if err := in.Resize(7, 9); err != nil {
				b.Error(err)
			}
		}
		b.write(in, "again\n")
		b.says(tree, "got again")
		if h == HoldTerminal {
			b.says(tree, "7 9")
			b.stop(tree, m, 0)
		} else {
			if err := in.End(); err != nil {
				b.Error(err)
			}
			Within(b, 30*second, "its end", tree.Gone())
		}
		if out := tree.Output(0).Text; strings.Contains(out, "HUNGUP") || strings.Contains(out, "EOF") != (h == HoldPipe) {
			b.Errorf("%s: output %q", h, out)
		}
	}
}
