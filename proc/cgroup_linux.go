package proc

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const cgroupPrefix = "ripcord-"

// cgroupRoot finds where this process may make cgroups of its own: its own
// cgroup in the version 2 hierarchy, wherever that is mounted.
func cgroupRoot() (dir string, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	path, ok := "", false
	for line := range strings.Lines(string(own)) {
		if p, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::"); is {
			path, ok = p, true
		}
	}
	if !ok {
		return "", fmt.Errorf("this process is in no cgroup of version 2")
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root, at := unescapeMount(f[3]), unescapeMount(f[4])
		rel, err := filepath.Rel(root, path)
		if err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		return filepath.Join(at, rel), nil
	}
	return "", fmt.Errorf("no cgroup hierarchy of version 2 is mounted")
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// probeCgroup says whether trees can be given cgroups below root, by making
// one.
func probeCgroup(root, name string) error {
	dir := filepath.Join(root, cgroupPrefix+"probe-"+name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.Remove(dir)
	if err := unix.Access(filepath.Join(dir, "cgroup.kill"), unix.W_OK); err != nil {
		return fmt.Errorf("cgroup.kill (Linux 5.14): %w", err)
	}
	// To put a process in, its old cgroup must be writable too.
	if err := unix.Access(filepath.Join(root, "cgroup.procs"), unix.W_OK); err != nil {
		return fmt.Errorf("cgroup.procs: %w", err)
	}
	return nil
}

// tidyCgroups removes the empty cgroups of guardians that were killed. One that
// holds a process cannot be removed, so nothing is lost by trying.
func tidyCgroups(root string) {
	left, _ := filepath.Glob(filepath.Join(root, cgroupPrefix+"*"))
	for _, dir := range left {
		mark := dir[strings.LastIndexByte(dir, '-')+1:]
		pid, start, ok := strings.Cut(mark, ".")
		n, err := strconv.Atoi(pid)
		if !ok || err != nil {
			continue
		}
		if p, there := look(n); there && strconv.FormatUint(p.start, 10) == start {
			continue // its guardian lives and may be about to use it
		}
		_ = removeCgroup(dir)
	}
}

// cgroupName makes a folder name of a tree's owner and its guardian's mark.
func cgroupName(id, mark string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
	return cgroupPrefix + clean[:min(len(clean), 64)] + "-" + mark
}

// ownCgroup reports whether dir is a cgroup that the guardian with this mark
// made, so that a record's path can be trusted before anything in it is killed.
func ownCgroup(dir, mark string) bool {
	base := filepath.Base(dir)
	if dir == "" || !strings.HasPrefix(base, cgroupPrefix) || !strings.HasSuffix(base, "-"+mark) {
		return false
	}
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// inCgroup lists the living processes in dir and below.
func inCgroup(dir string) (out []process) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil
		}
		for f := range strings.FieldsSeq(string(b)) {
			pid, _ := strconv.Atoi(f)
			if p, ok := look(pid); ok && p.alive() {
				out = append(out, p)
			}
		}
		return nil
	})
	return out
}

// killCgroup kills everything in dir and below, forks in flight included.
func killCgroup(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, "cgroup.kill"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("1"))
	return err
}

// removeCgroup removes dir and what the tree made below it.
func removeCgroup(dir string) error {
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	var err error
	for i := len(dirs) - 1; i >= 0; i-- {
		err = unix.Rmdir(dirs[i])
	}
	return err
}
