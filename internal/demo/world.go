package demo

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/file"
)

// alive lists the processes that carry mark in their environment, zombies and
// this process left out. It is nil where there is no process table to look at.
func alive(mark string) []int {
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(names) == 0 {
		return nil
	}
	out := []int{}
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		env, err := os.ReadFile(name)
		if err != nil || pid == os.Getpid() || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(name), "stat"))
		if err != nil {
			continue
		}
		if i := bytes.LastIndexByte(stat, ')'); i < 0 || i+2 >= len(stat) || stat[i+2] == 'Z' || stat[i+2] == 'X' {
			continue
		}
		out = append(out, pid)
	}
	return out
}

// commands is alive without guardians and runtimes: what a tool started.
func commands(mark string) (out []int) {
	for _, pid := range alive(mark) {
		cmd, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err == nil && !strings.Contains(string(cmd), "ripcord") {
			out = append(out, pid)
		}
	}
	return out
}

// disk reads a journal's bytes with code of its own: lines, no chain, no
// store.
type disk struct {
	bytes []byte
	recs  []event.Record
}

func readDisk(path string) (disk, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return disk{}, err
	}
	d := disk{bytes: b}
	for _, line := range bytes.Split(b, []byte{'\n'}) {
		if r, err := event.Parse(line); err == nil {
			d.recs = append(d.recs, r)
		}
	}
	return d, nil
}

func (d disk) count(t event.Type) (n int) {
	for _, r := range d.recs {
		if r.Type == t {
			n++
		}
	}
	return n
}

// last returns the payload of the last record of type P.
func last[P event.Payload](d disk) (p P, at int) {
	at = -1
	for i := range d.recs {
		if body, err := d.recs[i].Body(); err == nil {
			if v, ok := body.(P); ok {
				p, at = v, i
			}
		}
	}
	return p, at
}

// witness is a file system that watches what was made durable: the size of
// each file at its last successful sync.
type witness struct {
	file.OS
	mu     sync.Mutex
	synced map[string]int64
}

func (w *witness) Open(name string, flag int, perm fs.FileMode) (file.File, error) {
	f, err := w.OS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &watched{File: f, w: w, name: name}, nil
}

func (w *witness) durable(name string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.synced[name]
}

type watched struct {
	file.File
	w    *witness
	name string
}

func (f *watched) Sync() error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := f.File.Sync(); err != nil {
		return err
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.w.synced == nil {
		f.w.synced = map[string]int64{}
	}
	f.w.synced[f.name] = info.Size()
	return nil
}
