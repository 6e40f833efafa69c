package forensics

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/guard"
)

// artifact measures the input as one text, such as a file that a cut write
// left behind.
func (p *replay) artifact() error {
	a := &Artifact{Channel: Channel{Name: "text"}}
	p.report.Artifact = a
	loop := guard.NewLoop(p.o.Loop)
	buf := make([]byte, 64<<10)
	var kept, tail strings.Builder
	rest := 0 // bytes at buf's start that begin a code point
	for {
		n, err := p.src.piece(buf[rest:])
		end := rest + n
		whole := end
		if err == nil {
			whole = lastWhole(buf[:end])
		}
		part := string(buf[:whole])
		a.NULs += int64(bytes.Count(buf[:whole], []byte{0}))
		a.count(part)
		if a.Channel.Repeat == nil {
			if r, found := loop.Feed(part); found {
				a.Channel.Repeat = &r
			}
		}
		if kept.Len() < scriptBytes {
			kept.WriteString(part[:min(len(part), scriptBytes-kept.Len())])
		}
		tail.WriteString(part)
		if tail.Len() > 4*guard.ProbeWindow {
			last := tail.String()[tail.Len()-guard.ProbeWindow-utf8.UTFMax:]
			tail.Reset()
			tail.WriteString(last)
		}
		rest = copy(buf, buf[whole:end])
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	a.Channel.Runes = int(a.Runes)
	var probe guard.Probe
	a.Channel.Probe = probe.Read(tail.String())
	if a.NULs > 0 {
		p.note("%d NUL bytes: this may be no text", a.NULs)
	}
	if a.Invalid > 0 {
		p.note("%d bytes are no UTF-8 and count as one code point each", a.Invalid)
	}
	p.keepArtifact(kept.String())
	return nil
}

func (a *Artifact) count(s string) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		a.Runes++
		a.UTF16++
		if r > 0xffff {
			a.UTF16++
		}
		if r == utf8.RuneError && size == 1 {
			a.Invalid++
		}
	}
}

// lastWhole is how much of b holds no code point that may still go on.
func lastWhole(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if i := len(b) - n; utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}
