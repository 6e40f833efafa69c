package builtin

import (
	"cmp"
	"crypto/sha256"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

// memory is what the models have seen: for each session the state of each file
// when it was last read or written here, and where a call led when it was
// judged. It forgets the oldest, and everything when the program ends; what is
// forgotten has to be read again.
type memory struct {
	hidden func(path string) bool // does not change

	mu     sync.Mutex
	seen   recent[seenKey, stamp]
	judged recent[judgedKey, aim]
}

type seenKey struct {
	session event.SessionID
	path    string
}

type judgedKey struct {
	session event.SessionID
	call    event.CallID // its name when it is judged
	path    string       // as the call names it
}

// aim is where a path led while its call was judged. A gate looks several times,
// at what rules say and at what a person is asked, and all must have looked at
// one place.
type aim struct {
	real  string // "" if it could not be resolved
	moved bool   // it led elsewhere at a later look: no place of it was judged
}

func judgement(call *tool.Call, path string) judgedKey {
	return judgedKey{call.Session, cmp.Or(call.Asked, call.ID), path}
}

const (
	mostSeen   = 1 << 16
	mostJudged = 1 << 16 // a denied call never comes to take its entry
)

func newMemory() *memory {
	return &memory{seen: newRecent[seenKey, stamp](mostSeen), judged: newRecent[judgedKey, aim](mostJudged)}
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

func (r *recent[K, V]) drop(k K) {
	if _, there := r.values[k]; there {
		delete(r.values, k)
		r.order = slices.DeleteFunc(r.order, func(o K) bool { return o == k })
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

func (m *memory) forget(call *tool.Call, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen.drop(seenKey{call.Session, path})
}

func (m *memory) of(call *tool.Call, path string) (stamp, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen.values[seenKey{call.Session, path}]
	return s, ok
}

// locate resolves the path of a call that is about to run and refuses one that
// leads elsewhere than at every look when it was judged.
func (m *memory) locate(call *tool.Call, path string) (place, error) {
	p, err := locate(call.Dir, path)
	if err != nil {
		return p, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	was, judged := m.judged.values[judgement(call, path)]
	switch {
	case !judged || was == aim{real: p.real}:
		return p, nil
	case was.moved:
		return p, tool.Replyf("%s led to one place and then to another while it was judged, so that neither was approved; nothing was done, send the call again", path)
	case was.real == "":
		return p, tool.Replyf("%s could not be resolved when it was approved and leads to %s now; nothing was done, send the call again", path, p.real)
	}
	return p, tool.Replyf("%s led to %s when it was approved and leads to %s now; nothing was done, send the call again", path, was.real, p.real)
}

// judge resolves the path of a call for the gate and keeps where it led.
func (m *memory) judge(call *tool.Call, path string) (place, error) {
	p, err := locate(call.Dir, path)
	k := judgement(call, path)
	if k.call == "" {
		return p, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	was, again := m.judged.values[k]
	m.judged.put(k, aim{real: p.real, moved: again && (was.moved || was.real != p.real)})
	return p, err
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
	if tool.DecodeArgs(call.Args, &a) != nil {
		return nil, false
	}
	p, err := m.judge(call, a.Path)
	return []string{p.real}, err == nil
}

// stampOf stamps a file whose content is known.
func stampOf(fi fs.FileInfo, content []byte) stamp {
	return stamp{mod: fi.ModTime(), size: fi.Size(), sum: sha256.Sum256(content)}
}
