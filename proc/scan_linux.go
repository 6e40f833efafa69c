package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is one entry of the process table. pid and start together name one
// process and no other, as long as the system runs.
type process struct {
	pid, ppid, pgrp int
	state           byte
	threads         int
	start           uint64 // clock ticks since boot
}

// alive reports whether it can still run. A leader that has ended while other
// threads of it run is a zombie by its state, and alive.
func (p process) alive() bool {
	return p.state != 'X' && p.state != 'x' && (p.state != 'Z' || p.threads > 1)
}

// look reads one process's entry.
func look(pid int) (process, bool) {
	var buf [1024]byte
	b, err := readSmall("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return process{}, false
	}
	return parseStat(pid, b)
}

// parseStat reads "pid (comm) state ppid pgrp …"; comm may hold anything.
func parseStat(pid int, b []byte) (p process, ok bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return p, false
	}
	p.pid = pid
	n := 0
	for f := range bytes.FieldsSeq(b[i+1:]) {
		switch n {
		case 0:
			p.state = f[0]
		case 1:
			p.ppid = atoi(f)
		case 2:
			p.pgrp = atoi(f)
		case 17:
			p.threads = atoi(f)
		case 19:
			p.start = uint64(atoi(f))
			return p, true
		}
		n++
	}
	return p, false
}

func atoi(b []byte) (n int) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return n
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func readSmall(name string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	return buf[:max(n, 0)], err
}

// descendants lists what root started, and what that started, alive, parents
// first; root itself is not in it. Thorough looks at every process of the
// system instead of following the kernel's lists of children, which may miss
// one while processes come and go.
func descendants(root int, thorough bool) []process {
	if !thorough {
		if out, ok := followChildren(root); ok {
			return out
		}
	}
	kids := map[int][]process{}
	for _, pid := range allPIDs() {
		if p, ok := look(pid); ok {
			kids[p.ppid] = append(kids[p.ppid], p)
		}
	}
	var out []process
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		for _, p := range kids[todo[0]] {
			todo = append(todo, p.pid)
			if p.alive() {
				out = append(out, p)
			}
		}
	}
	return out
}

// followChildren walks /proc/PID/task/TID/children; ok is false where the
// kernel does not offer them.
func followChildren(root int) (out []process, ok bool) {
	seen := map[int]bool{root: true}
	threads := 2 // more than one: list the tasks
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		if todo[0] != root {
			p, there := look(todo[0])
			if !there {
				continue
			}
			if p.alive() {
				out = append(out, p)
			}
			threads = p.threads
		}
		kids, there := children(todo[0], threads)
		if todo[0] == root && !there {
			return nil, false
		}
		for _, pid := range kids {
			if !seen[pid] {
				seen[pid] = true
				todo = append(todo, pid)
			}
		}
	}
	return out, true
}

func children(pid, threads int) (kids []int, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tids := []string{strconv.Itoa(pid)}
	if threads > 1 {
		d, err := os.Open(dir)
		if err != nil {
			return nil, false
		}
		tids, _ = d.Readdirnames(-1)
		d.Close()
	}
	for _, tid := range tids {
		b, err := os.ReadFile(dir + tid + "/children")
		if err != nil {
			continue
		}
		ok = true
		for f := range bytes.FieldsSeq(b) {
			kids = append(kids, atoi(f))
		}
	}
	return kids, ok
}

func allPIDs() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// markName is the variable by which the processes of a tree are found when the
// guardian that knew them is dead. Trees within trees are joined by colons.
const markName = "RIPCORD_TREE"

// markOf is the mark of the trees of one guardian: a process and its start,
// so no two are the same while the system runs.
func markOf(pid int, start uint64) string {
	return strconv.Itoa(pid) + "." + strconv.FormatUint(start, 10)
}

// marked lists the living processes that carry mark.
func marked(mark string) (out []process) {
	for _, pid := range allPIDs() {
		p, ok := look(pid)
		if !ok || !p.alive() || !carries(pid, mark) {
			continue
		}
		if again, ok := look(pid); ok && again.start == p.start {
			out = append(out, p)
		}
	}
	return out
}

func carries(pid int, mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if val, ok := strings.CutPrefix(string(kv), markName+"="); ok {
			return slices.Contains(strings.Split(val, ":"), mark)
		}
	}
	return false
}

// signalExactly signals the process that p names and no other: the handle
// first, then the comparison, then the signal through the handle.
func signalExactly(p process, sigs ...unix.Signal) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return false
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := look(p.pid); !ok || now.start != p.start {
		return false
	}
	done := true
	for _, sig := range sigs {
		var e error
		if err == nil {
			e = unix.PidfdSendSignal(fd, sig, nil, 0)
		} else {
			e = unix.Kill(p.pid, sig) // a kernel before 5.3: the comparison is all there is
		}
		done = done && e == nil
	}
	return done
}
