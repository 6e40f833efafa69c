package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// alive lists the processes that carry mark in their environment, zombies and
// this process left out.
func alive(mark string) (out []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		if state, _ := stat(pid); state != 0 && state != 'Z' && state != 'X' {
			out = append(out, pid)
		}
	}
	return out
}

// stat reads a process's state and start time; state is 0 if there is none.
func stat(pid int) (state byte, start uint64) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	i := bytes.LastIndexByte(raw, ')')
	f := strings.Fields(string(raw[i+1:]))
	if i < 0 || len(f) < 20 {
		return 0, 0
	}
	start, _ = strconv.ParseUint(f[19], 10, 64)
	return f[0][0], start
}

// running says whether the process of a record still runs: pid and start time
// must agree.
func running(p event.ProcessStarted) bool {
	state, start := stat(p.PID)
	return state != 0 && state != 'Z' && state != 'X' && start == p.Start
}

// disk reads a journal's bytes with code of its own: lines, no chain, no store.
func disk(path string) (out []event.Record) {
	raw, _ := os.ReadFile(path)
	for _, line := range bytes.Split(raw, []byte{'\n'}) {
		if r, err := event.Parse(line); err == nil && len(line) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// all are the payloads of type P, with the calls they name.
func all[P event.Payload](recs []event.Record, call event.CallID) (out []P) {
	for i := range recs {
		if call != "" && recs[i].Call != call {
			continue
		}
		if body, err := recs[i].Body(); err == nil {
			if v, ok := body.(P); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

func lines(path string) []string {
	raw, _ := os.ReadFile(path)
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' })
}

func note(path, line string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// bound is how long any single wait may take; it is no measure of anything.
const bound = 60 * time.Second

// until polls ok until it holds.
func until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("never: %s", what)
		}
	}
	return nil
}

// site is a web server that writes down who came.
type site struct {
	url string
	srv *http.Server

	mu  sync.Mutex
	saw []string
}

func newSite() (*site, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{url: "http://" + l.Addr().String()}
	s.srv = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: bound}
	go func() { _ = s.srv.Serve(l) }() // ends with close
	return s, nil
}

func (s *site) close() { _ = s.srv.Close() }

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "half of it")
	_ = http.NewResponseController(w).Flush()
	s.note("asked")
	if r.URL.Path == "/endless" {
		<-r.Context().Done()
		s.note("left")
		return
	}
	fmt.Fprintln(w, "the whole page")
	s.note("served")
}

func (s *site) note(word string) { s.mu.Lock(); defer s.mu.Unlock(); s.saw = append(s.saw, word) }

func (s *site) log() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.saw) }
