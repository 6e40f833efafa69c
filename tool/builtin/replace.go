package builtin

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/ripcord-go/ripcord/tool"
)

// mostDiff is how big a file may be, in bytes, for its change to be shown.
const mostDiff = 512 << 10

// replacement is a file's new content and what it stands upon. It is used once:
//
//	stage ─▶ staged ─▶ put ─▶ in place ─▶ settle ─▶ durable
//	            └──────────────┴────────────┴─▶ close, at the end, always
type replacement struct {
	place   place
	content []byte
	base    *stamp // the state that is replaced; nil: the file must not exist
	was     fs.FileInfo
	gone    bool // the file is to be taken away instead

	dir  *folder
	temp string // of the staged content, "" if there is none
	now  stamp  // the state after put
	done bool   // put succeeded
}

// commit makes the file be the new content or changes nothing. The commit
// point is the rename, behind the call's fence:
//
//	write temp ▶ sync temp ▶ [fence: base unchanged? ▶ rename] ▶ sync folder
func (w *replacement) commit(call *tool.Call) (stamp, error) {
	defer w.close()
	if err := w.stage(call); err != nil {
		return stamp{}, err
	}
	if err := w.put(call); err != nil {
		return stamp{}, err
	}
	return w.now, w.settle()
}

// load reads the file that is to be replaced and fills in what the
// replacement stands upon. What the model has seen of it must still be so; a
// file that it never saw is known by the passage alone.
func (w *replacement) load(call *tool.Call, m *memory) ([]byte, error) {
	f, fi, err := openFile(w.place, call.Dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi.Size() > mostWhole {
		return nil, tool.Replyf("%s has %d bytes, the most is %d; change it with bash", w.place.show, fi.Size(), mostWhole)
	}
	before, err := io.ReadAll(io.LimitReader(f, mostWhole+1))
	if err != nil {
		return nil, tool.Replyf("%s can't be read: %w", w.place.show, err)
	}
	if !w.gone && bytes.IndexByte(before, 0) >= 0 {
		return nil, binary(w.place, fi, before)
	}
	now := stampOf(fi, before)
	if seen, ok := m.of(call, w.place.real); ok && (seen.size != now.size || seen.sum != now.sum) {
		return nil, w.changed()
	}
	w.base, w.was = &now, fi
	return before, nil
}

// stage writes and syncs the new content under another name beside the file.
func (w *replacement) stage(call *tool.Call) (err error) {
	if w.dir, err = openFolder(call, w.place, !w.gone); err != nil {
		return w.failed("its folder can't be made or opened", err)
	}
	if w.gone {
		return nil
	}
	if err = w.write(); err != nil {
		return w.failed("the new content can't be written beside it, nothing was changed", err)
	}
	return nil
}

// create makes the file for the staged content. Where it is to replace one, nobody
// else reads it before it has that one's owner and mode: it may be private.
func (w *replacement) create() (*os.File, error) {
	temp, mode := fmt.Sprintf(".%.40s.ripcord-%s", w.name(), rand.Text()[:10]), fs.FileMode(0o666)
	if w.was != nil {
		mode = 0o600
	}
	f, err := w.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		w.temp = temp
	}
	return f, err
}

func (w *replacement) write() (err error) {
	f, err := w.create()
	if err != nil {
		return err
	}
	_, err = f.Write(w.content)
	if err == nil && w.was != nil {
		keepOwner(f, w.was) // before the mode: a new owner clears bits of it
		err = f.Chmod(w.was.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// put makes the change, behind the call's fence, if the file is still what it
// was.
func (w *replacement) put(call *tool.Call) error {
	err := tool.FenceOf(call).Pass(func() error {
		if err := w.still(); err != nil {
			return err
		}
		if w.gone {
			return w.dir.Remove(w.name())
		}
		return w.swap()
	})
	var reply *tool.Error
	switch {
	case errors.As(err, &reply):
		return err
	case err != nil && w.gone:
		return w.failed("it can't be deleted", err)
	case err != nil:
		return w.failed("the new content can't be put in its place", err)
	}
	w.done = true
	return nil
}

func (w *replacement) swap() (err error) {
	if w.base == nil {
		// A link refuses to replace what somebody else made meanwhile.
		if err = w.dir.Link(w.temp, w.name()); errors.Is(err, fs.ErrExist) {
			return w.changed()
		}
	}
	if w.base != nil || err != nil { // or this file system has no links
		err = w.dir.Rename(w.temp, w.name())
	}
	if err != nil {
		return err
	}
	fi, err := w.dir.Stat(w.name())
	if err == nil {
		w.now = stampOf(fi, w.content)
	}
	return err
}

// settle makes the change durable.
func (w *replacement) settle() error {
	if err := w.dir.sync(); err != nil {
		return w.failed("it was changed, but its folder can't be synced: the change may be gone after a power cut", err)
	}
	return nil
}

// close takes away what was staged and gives the folder back.
func (w *replacement) close() {
	if w.dir == nil {
		return
	}
	if w.temp != "" {
		_ = w.dir.Remove(w.temp) // gone after the rename
	}
	w.dir.close(w.done)
	w.dir = nil
}

func (w *replacement) name() string { return filepath.Base(w.place.real) }

func (w *replacement) failed(what string, err error) error {
	if errors.Is(err, tool.ErrOver) {
		return tool.Replyf("%s is not written: %w", w.place.show, err)
	}
	return tool.Replyf("%s: %s: %w", w.place.show, what, err)
}

// still reports, as a reply, that the file is no longer what it was.
func (w *replacement) still() error {
	if w.base == nil {
		if _, err := w.dir.Lstat(w.name()); !errors.Is(err, fs.ErrNotExist) {
			return w.changed()
		}
		return nil
	}
	same, err := w.dir.still(w.name(), *w.base)
	if err == nil && !same {
		return w.changed()
	}
	return err
}

func (w *replacement) changed() error {
	return tool.Replyf("%s was changed by somebody else; nothing was written, read it again first", w.place.show)
}

// diff shows a change to people; empty for contents too big or not text.
func diff(name string, before, after []byte) string { return renamedDiff(name, name, before, after) }

// renamedDiff is diff for a file whose name changes too; a name is empty where
// the file is not there.
func renamedDiff(from, to string, before, after []byte) string {
	if len(before)+len(after) > mostDiff || !isText(before) || !isText(after) {
		return ""
	}
	label := func(side, name string) string {
		if name == "" {
			return "/dev/null"
		}
		return side + name
	}
	if len(before)+len(after) == 0 && from != to { // an empty file comes or goes: there is no line to show
		return "--- " + label("a/", from) + "\n+++ " + label("b/", to) + "\n"
	}
	return udiff.Unified(label("a/", from), label("b/", to), string(before), string(after))
}
