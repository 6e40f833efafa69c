package proctest

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

func stdin(b *bench) {
	s, _ := b.spec(`cat; echo end; if (exec </dev/tty) 2>/dev/null; then echo tty; fi; tty; pwd; echo "$PAGER $TERM $PWD"`)
	tree := b.start(s)
	Within(b, 20*second, "the end", tree.Gone())
	if out := tree.Output(0).Text; out != "end\nnot a tty\n"+b.dir+"\ncat dumb "+b.dir+"\n" {
		b.Errorf("output %q", out)
	}
	s, _ = b.spec(`cat; echo end`)
	s.Stdin = bytes.Repeat([]byte("x"), 200_000)
	tree = b.start(s)
	Within(b, 20*second, "the end", tree.Gone())
	if out := tree.Output(0); out.Text != strings.Repeat("x", 200_000)+"end\n" {
		b.Errorf("%d bytes came through", out.Bytes)
	}
	s, _ = b.spec(`exit 0`) // what is given need not be read
	s.Stdin = bytes.Repeat([]byte("x"), 200_000)
	Within(b, 20*second, "the end", b.start(s).Gone())
}

func handedOver(b *bench) {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer inW.Close()
	defer outR.Close()
	s, m := b.spec(`echo aside >&2; exec cat`)
	s.Files = [3]*os.File{inR, outW, nil}
	tree := b.start(s)
	inR.Close()
	outW.Close()
	if _, err := inW.WriteString("ping\n"); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 5)
	_ = outR.SetReadDeadline(time.Now().Add(5 * second))
	if _, err := io.ReadFull(outR, buf); err != nil || string(buf) != "ping\n" {
		b.Errorf("answer %q, %v", buf, err)
	}
	Until(b, 20*second, "stderr is in the spool", func() bool { return tree.Output(0).Text == "aside\n" })
	b.stop(tree, m, second)
}

// flood prints more than is kept; what is kept is right to the byte.
func flood(b *bench) {
	const limit = 1 << 20
	total := int64(100 << 20)
	s, _ := b.spec(`echo begin; yes 0123456789abcde | head -c ` + strconv.FormatInt(total, 10) + `; echo finish`)
	s.Limit = limit
	before := residentMemory(b, os.Getpid())
	tree := b.start(s)
	peak := 0
	guardian := tree.Started().Guardian
	Until(b, 60*second, "the flood's end", func() bool {
		if guardian != nil && !closed(tree.Gone()) {
			peak = max(peak, residentMemory(b, guardian.PID))
		}
		return closed(tree.Gone())
	})
	total += 6 + 7
	out := tree.Output(2000)
	if out.Bytes != total || !out.Truncated || out.Dropped != total-limit || out.Binary {
		b.Errorf("output: %d bytes, %d dropped, want %d, %d; truncated %v", out.Bytes, out.Dropped, total, total-limit, out.Truncated)
	}
	if !strings.HasPrefix(out.Text, "begin\n0123456789abcde\n") || !strings.HasSuffix(out.Text, "0123456789abcde\nfinish\n") || len(out.Text) > 2000 {
		b.Errorf("text of %d bytes: %.40q … %.40q", len(out.Text), out.Text, out.Text[max(0, len(out.Text)-40):])
	}
	head, tail, ok := cutOmission(out.Text)
	if omitted := total - int64(len(head)+len(tail)); !ok || !strings.Contains(out.Text, strconv.FormatInt(omitted, 10)) {
		b.Errorf("the text does not say that %d bytes are missing: %q", omitted, out.Text[900:1100])
	}
	info, err := os.Stat(s.Spool + ".out")
	if err != nil || info.Size() > limit+64 {
		b.Errorf("spool file: %v, %v", info.Size(), err)
	}
	if grown := residentMemory(b, os.Getpid()) - before; grown > 20<<20 {
		b.Errorf("our memory grew by %d MB", grown>>20)
	}
	if peak > 40<<20 {
		b.Errorf("the guardian took %d MB", peak>>20)
	}
	b.Logf("guardian's peak: %d MB", peak>>20)
}

func cutOmission(text string) (head, tail string, ok bool) {
	head, rest, ok := strings.Cut(text, "\n… ")
	_, tail, ok2 := strings.Cut(rest, " bytes omitted …\n")
	return head, tail, ok && ok2
}

func residentMemory(b *bench, pid int) int {
	statm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(statm))
	if len(f) < 3 {
		return 0
	}
	resident, _ := strconv.Atoi(f[1])
	shared, _ := strconv.Atoi(f[2])
	return (resident - shared) * os.Getpagesize()
}

func junk(b *bench) {
	s, _ := b.spec(`head -c 100000 /dev/urandom; printf '\000\377'`)
	tree := b.start(s)
	Within(b, 20*second, "the end", tree.Gone())
	for _, limit := range []int{0, 1, 10, 100, 1000, 50_000} {
		out := tree.Output(limit)
		if !utf8.ValidString(out.Text) || strings.Contains(out.Text, "\x00") || !out.Binary && limit > 100 || out.Bytes != 100_002 {
			b.Errorf("limit %d: valid %v, binary %v, %d bytes", limit, utf8.ValidString(out.Text), out.Binary, out.Bytes)
		}
		if limit >= 100 && len(out.Text) > limit {
			b.Errorf("limit %d: text of %d bytes", limit, len(out.Text))
		}
	}
	// A cut in the middle of a letter is mended by leaving the letter out.
	s, _ = b.spec(`i=0; while [ $i -lt 2000 ]; do printf 'é€😀x'; i=$((i+1)); done`)
	tree = b.start(s)
	Within(b, 20*second, "the end", tree.Gone())
	for limit := 100; limit < 140; limit++ {
		out := tree.Output(limit)
		if strings.ContainsRune(out.Text, utf8.RuneError) || out.Binary || len(out.Text) > limit || !out.Truncated {
			b.Errorf("limit %d: %q", limit, out.Text)
		}
	}
}

// collector is a live reader.
type collector struct {
	mu   sync.Mutex
	b    bytes.Buffer
	slow chan struct{}
}

func (c *collector) Write(p []byte) (int, error) {
	if c.slow != nil {
		<-c.slow
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.Write(p)
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}

func liveOutput(b *bench) {
	c := &collector{}
	s, m := b.spec(`echo one; echo two >&2; exec sleep 1000`)
	s.Live = c
	tree := b.start(s)
	Until(b, 20*second, "live output", func() bool { return c.String() == "one\ntwo\n" })
	b.stop(tree, m, second)
	// All that a prompt reader gets, it has when the tree is gone.
	for range 20 {
		c := &collector{}
		s, _ := b.spec(`echo one; echo two`)
		s.Live = c
		Within(b, 20*second, "the end", b.start(s).Gone())
		if c.String() != "one\ntwo\n" {
			b.Errorf("at the end the reader had %q", c.String())
			break
		}
	}
	stuck := &collector{slow: make(chan struct{})}
	defer close(stuck.slow)
	s, _ = b.spec(`head -c 10000000 /dev/zero; echo end`)
	s.Live = stuck
	began := time.Now()
	tree = b.start(s)
	Within(b, 20*second, "the end in spite of a stuck reader", tree.Gone())
	if out := tree.Output(100); !strings.HasSuffix(out.Text, "\x00end\n") && !strings.HasSuffix(out.Text, "\uFFFDend\n") || out.Bytes != 10_000_004 {
		b.Errorf("after %v: %q, %d bytes", time.Since(began), out.Text, out.Bytes)
	}
}

// noLeaks opens a file that a careless program would pass on.
func noLeaks(b *bench) {
	name := b.dir + "/leak"
	fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(fd)
	host := b.host
	if b.guarded() { // a guardian that is started now
		b.host = b.Host(b)
		defer func() { b.host.Close(); b.host = host }()
	}
	s, _ := b.spec(`ls -l /proc/$$/fd; grep -E 'Sig(Ign|Blk)' /proc/self/status`)
	s.Live = &collector{} // of which the guardian has the other end
	tree := b.start(s)
	Within(b, 20*second, "the end", tree.Gone())
	out := tree.Output(0).Text
	if b.guarded() && strings.Contains(out, name) || strings.Contains(out, "socket:") || strings.Contains(out, "spool") {
		b.Errorf("the command has\n%s", out)
	}
	if !strings.HasSuffix(out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n") {
		b.Errorf("the command's signals\n%s", out)
	}
}
