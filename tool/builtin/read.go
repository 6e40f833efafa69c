package builtin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

// Bounds of reading, in bytes unless named otherwise.
const (
	mostLines   = 2000      // lines of one call
	mostText    = 28 << 10  // of one call's text: it fits in line, the end is not cut out of it
	mostLine    = 2000      // of one line
	mostImage   = 5 << 20   // of a picture
	mostScan    = 256 << 20 // of a file, on the way to the lines asked for
	mostWhole   = 8 << 20   // of a file that is looked at whole
	sniffLength = 512
)

type read struct{ memory *memory }

// Spec implements [tool.Tool].
func (r *read) Spec() tool.Spec {
	return tool.Spec{Name: "read", Effect: tool.Pure, Concurrent: true, AsksCall: r.asks, Touches: r.memory.touches,
		Description: "Read a file. Text comes as numbered lines, at most 2000 a call: give offset (first line, from 1) and limit " +
			"(number of lines) for the rest. Pictures (png, jpeg, gif, webp) are shown. It reads no folders: list them with ls.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{` +
			`"path":{"type":"string","description":"absolute, or relative to the workspace"},` +
			`"offset":{"type":"integer","minimum":1,"description":"first line, counted from 1"},` +
			`"limit":{"type":"integer","minimum":1,"description":"number of lines"}}}`)}
}

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func (r *read) asks(call *tool.Call) (prompt string, ask bool) {
	var a readArgs
	if tool.DecodeArgs(call.Args, &a) != nil {
		return "read a file that is not named", true
	}
	p := r.memory.asking(call, a.Path)
	return "read " + tool.OneLine(p.show, 500) + " (outside the workspace)", p.outside
}

// Execute implements [tool.Tool].
func (r *read) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var a readArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	p, err := r.memory.locate(call, a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	f, fi, err := openFile(p, call.Dir)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	head := make([]byte, sniffLength)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return tool.Result{}, tool.Replyf("%s can't be read: %w", p.show, err)
	}
	head = head[:n]
	rest := io.MultiReader(bytes.NewReader(head), f)
	if media := http.DetectContentType(head); slices.Contains(pictures, media) {
		return r.picture(call, p, fi, rest, media)
	}
	if fi.Size() <= mostWhole {
		return r.whole(call, p, fi, rest, a)
	}
	res, err := r.lines(p, fi, bufio.NewReaderSize(rest, 64<<10), a)
	if err == nil {
		r.memory.see(call, p.real, stamp{mod: fi.ModTime(), size: fi.Size()})
	}
	return res, err
}

var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// openFile opens a regular file. Below the workspace no link, put there in the
// meantime or not, leads out of it.
func openFile(p place, dir string) (*os.File, fs.FileInfo, error) {
	fi, err := os.Stat(p.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, tool.Replyf("%s does not exist; check the path, or list its folder with ls", p.show)
	case err != nil:
		return nil, nil, tool.Replyf("%s can't be opened: %w", p.show, err)
	case fi.IsDir():
		return nil, nil, tool.Replyf("%s is a folder; list it with ls", p.show)
	case !fi.Mode().IsRegular():
		return nil, nil, tool.Replyf("%s is not a regular file (%s); use bash if it has to be read", p.show, fi.Mode().Type())
	}
	const flags = os.O_RDONLY | syscall.O_NONBLOCK // a pipe put there in the meantime does not hold us
	var f *os.File
	if p.outside {
		f, err = os.OpenFile(p.real, flags, 0)
	} else {
		var root *os.Root
		if root, err = os.OpenRoot(dir); err == nil {
			f, err = root.OpenFile(p.show, flags, 0)
			root.Close()
		}
	}
	if err != nil {
		return nil, nil, tool.Replyf("%s can't be opened: %w", p.show, err)
	}
	if fi, err = f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, nil, tool.Replyf("%s is not a regular file any more; send the call again", p.show)
	}
	return f, fi, nil
}

func (r *read) picture(call *tool.Call, p place, fi fs.FileInfo, src io.Reader, media string) (tool.Result, error) {
	data, err := io.ReadAll(io.LimitReader(src, mostImage+1))
	if err != nil {
		return tool.Result{}, tool.Replyf("%s can't be read: %w", p.show, err)
	}
	if len(data) > mostImage {
		return tool.Result{}, tool.Replyf("%s is a picture of %d bytes, the most is %d; make it smaller with bash and read that", p.show, fi.Size(), mostImage)
	}
	r.memory.see(call, p.real, stampOf(fi, data))
	name := filepath.Base(p.real)
	return tool.Result{Success: true, Content: event.Content{
		event.Text{Text: fmt.Sprintf("%s (%s, %d bytes)", p.show, media, len(data))},
		event.Image{MediaType: media, Data: data, Name: name}}}, nil
}

func (r *read) whole(call *tool.Call, p place, fi fs.FileInfo, src io.Reader, a readArgs) (tool.Result, error) {
	content, err := io.ReadAll(io.LimitReader(src, mostWhole+1))
	if err != nil {
		return tool.Result{}, tool.Replyf("%s can't be read: %w", p.show, err)
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return tool.Result{}, binary(p, fi, content)
	}
	res, err := r.lines(p, fi, bufio.NewReader(bytes.NewReader(content)), a)
	if err != nil {
		return res, err
	}
	if int64(len(content)) == fi.Size() { // else it grew or shrank under us: not seen as a whole
		r.memory.see(call, p.real, stampOf(fi, content))
	}
	return res, nil
}

// lines gives the lines that a asks for, numbered, and says what is not shown.
func (r *read) lines(p place, fi fs.FileInfo, src *bufio.Reader, a readArgs) (tool.Result, error) {
	l := liner{src: src, far: mostScan}
	if !l.more() { // asked of the content: what /proc holds says that it has no size
		return tool.Text("[" + p.show + " is empty]"), nil
	}
	first, limit := max(a.Offset, 1), mostLines
	if a.Limit > 0 {
		limit = min(a.Limit, mostLines)
	}
	for l.n+1 < first && l.next(false) {
	}
	var b strings.Builder
	odd := false
	for b.Len() <= mostText && l.n+1 < first+limit && l.next(true) {
		if bytes.IndexByte(l.line, 0) >= 0 {
			return tool.Result{}, binary(p, fi, l.line)
		}
		odd = odd || !utf8.Valid(l.line)
		fmt.Fprintf(&b, "%6d\t%s", l.n, bytes.ToValidUTF8(l.line, []byte("\uFFFD")))
		if l.cut > 0 {
			fmt.Fprintf(&b, " [… %d bytes of this line are left out]", l.cut)
		}
		b.WriteByte('\n')
	}
	switch {
	case l.err != nil:
		return tool.Result{}, tool.Replyf("%s can't be read: %w", p.show, l.err)
	case l.n < first && l.far < 0:
		return tool.Result{}, tool.Replyf("line %d is further into %s than read looks (%d bytes); use sed or tail in bash", first, p.show, int64(mostScan))
	case l.n < first:
		return tool.Result{}, tool.Replyf("%s has %s; give an offset from 1 to %d", p.show, plural(l.n, "line"), max(l.n, 1))
	case l.more():
		fmt.Fprintf(&b, "[there is more: go on with offset=%d]\n", l.n+1)
	}
	if odd {
		b.WriteString("[some bytes are not UTF-8 and are shown as \uFFFD; don't write them back]\n")
	}
	return tool.Text(b.String()), nil
}

// liner goes through a file line by line and keeps little of it.
type liner struct {
	src  *bufio.Reader
	n    int    // lines so far
	line []byte // of the last one wanted, without its end
	cut  int    // bytes of it that are not in line
	far  int64  // how much more is looked at; below 0: it was too far
	err  error  // other than the end
}

func (l *liner) more() bool {
	_, err := l.src.Peek(1)
	return err == nil
}

// next goes to the next line and reports whether there is one. The rest of a
// line that is too long to be looked at counts as left out.
func (l *liner) next(want bool) bool {
	l.line, l.cut = l.line[:0], 0
	if l.far < 0 || !l.more() {
		return false
	}
	for {
		part, err := l.src.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		l.far -= int64(len(part))
		part = bytes.TrimSuffix(part, []byte("\n"))
		keep := 0
		if want {
			keep = min(len(part), mostLine-len(l.line))
		}
		l.line = append(l.line, part[:keep]...)
		l.cut += len(part) - keep
		if full && l.far >= 0 {
			continue
		}
		if err != nil && !full && !errors.Is(err, io.EOF) {
			l.err = err
			return false
		}
		if l.far < 0 && !want {
			return false
		}
		l.n++
		if l.cut > 0 {
			whole := len(l.line)
			l.line = wholeRunes(l.line)
			l.cut += whole - len(l.line)
		}
		return true
	}
}

// wholeRunes leaves out a rune that was cut at the end of b.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if last := b[len(b)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
