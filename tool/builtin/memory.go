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

// memory is what the model has seen: the state of each file when it was last
// read or written here, and where a call led when it was judged.
type memory struct {
	mu     sync.Mutex
	seen   map[string]stamp
	judged map[event.CallID]string
	order  []event.CallID // of judged, oldest first
}

const mostJudged = 256 // a denied call never comes to take its entry

func newMemory() *memory {
	return &memory{seen: map[string]stamp{}, judged: map[event.CallID]string{}}
}

// stamp tells one state of a file from another.
type stamp struct {
	mod  time.Time
	size int64
	sum  [sha256.Size]byte // zero for a file too big to be looked at whole
}

func (m *memory) see(path string, s stamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[path] = s
}

func (m *memory) of(path string) (stamp, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[path]
	return s, ok
}

// judge keeps where a call led when its approval was asked.
func (m *memory) judge(id event.CallID, real string) {
	if id == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, again := m.judged[id]; !again {
		m.order = append(m.order, id)
	}
	m.judged[id] = real
	if len(m.order) > mostJudged {
		delete(m.judged, m.order[0])
		m.order = m.order[1:]
	}
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
	if was, ok := m.judged[call.ID]; ok && was != p.real {
		return p, tool.Replyf("%s led to %s when it was approved and leads to %s now; nothing was done, send the call again", path, was, p.real)
	}
	return p, nil
}

// asking resolves a path for the gate; one that can't be resolved counts as
// outside.
func (m *memory) asking(call *tool.Call, path string) place {
	p, err := locate(call.Dir, path)
	if err != nil {
		return place{named: path, show: path, outside: true}
	}
	m.judge(call.ID, p.real)
	return p
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
