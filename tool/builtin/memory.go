package builtin

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

// memory is what the models have seen: for each session the state of each file
// when it was last read or written here, and where a call led when it was
// judged. It forgets the oldest; what is forgotten has to be read again.
type memory struct {
	mu     sync.Mutex
	seen   recent[seenKey, stamp]
	judged recent[judgedKey, string]
}

type seenKey struct {
	session event.SessionID
	path    string
}

type judgedKey struct {
	session event.SessionID
	call    event.CallID
}

const (
	mostSeen   = 1 << 16
	mostJudged = 1 << 10 // a denied call never comes to take its entry
)

func newMemory() *memory {
	return &memory{seen: newRecent[seenKey, stamp](mostSeen), judged: newRecent[judgedKey, string](mostJudged)}
}

// recent is a map that forgets its oldest entries beyond a number of them.
type recent[K comparable, V any] struct {
	most   int
	values map[K]V
	order  []K // oldest first
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, values: map[K]V{}}
}

func (r *recent[K, V]) put(k K, v V) {
	if _, again := r.values[k]; !again {
		r.order = append(r.order, k)
	}
	r.values[k] = v
	if len(r.order) > r.most {
		delete(r.values, r.order[0])
		r.order = r.order[1:]
	}
}

// stamp tells one state of a file from another.
type stamp struct {
	mod  time.Time
	size int64
	sum  [sha256.Size]byte // zero for a file too big to be looked at whole
}

func (m *memory) see(call *tool.Call, path string, s stamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen.put(seenKey{call.Session, path}, s)
}

func (m *memory) of(call *tool.Call, path string) (stamp, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen.values[seenKey{call.Session, path}]
	return s, ok
}

// locate resolves the path of a call that is about to run and refuses one that
// leads elsewhere than when it was judged.
func (m *memory) locate(call *tool.Call, path string) (place, error) {
	p, err := locate(call.Dir, path)
	if err != nil {
		return p, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.judged.values[judgedKey{call.Session, call.ID}]; ok && was != p.real {
		return p, tool.Replyf("%s led to %s when it was approved and leads to %s now; nothing was done, send the call again", path, was, p.real)
	}
	return p, nil
}

// judge resolves the path of a call for the gate and keeps where it led.
func (m *memory) judge(call *tool.Call, path string) (place, error) {
	p, err := locate(call.Dir, path)
	if err != nil {
		return p, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if call.ID != "" {
		m.judged.put(judgedKey{call.Session, call.ID}, p.real)
	}
	return p, nil
}

// asking resolves a path for the gate; one that can't be resolved counts as
// outside.
func (m *memory) asking(call *tool.Call, path string) place {
	p, err := m.judge(call, path)
	if err != nil {
		return place{named: path, show: path, outside: true}
	}
	return p
}

// touches resolves the one path that a call names, for rules about paths.
func (m *memory) touches(call *tool.Call) (paths []string, ok bool) {
	var a struct {
		Path string `json:"path"`
	}
	if decode(call.Args, &a) != nil {
		return nil, false
	}
	p, err := m.judge(call, a.Path)
	return []string{p.real}, err == nil
}

// stampOf stamps a file whose content is known.
func stampOf(fi fs.FileInfo, content []byte) stamp {
	return stamp{mod: fi.ModTime(), size: fi.Size(), sum: sha256.Sum256(content)}
}

// unchanged reports whether the file at path is still in state s. A new time
// on the same bytes is no change.
func unchanged(path string, s stamp) (bool, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || fi.Size() != s.size {
		return false, err
	}
	if s.sum == ([sha256.Size]byte{}) {
		return fi.ModTime().Equal(s.mod), nil
	}
	content, err := os.ReadFile(path)
	return err == nil && sha256.Sum256(content) == s.sum, err
}
