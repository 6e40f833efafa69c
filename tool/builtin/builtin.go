package builtin

import (
	"os"
	"strconv"
	"time"

	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// Options set the tools up. All but Host have useful zero values.
type Options struct {
	Host proc.Host // starts commands; nil: there is no bash
	// Env is the environment that commands are given after [proc.Environ] took
	// from it what Deny names; nil means this process's own.
	Env  []string
	Deny []string // patterns; nil means [proc.DefaultDeny]

	Shell   string        // path; empty: bash, or sh where there is none
	Timeout time.Duration // of a command that names none; 0 means 120 s
	Longest time.Duration // that a command may name; 0 means 600 s
	Grace   time.Duration // between TERM and KILL; 0 means 2 s, negative none
	Reap    time.Duration // between KILL and giving up; 0 means 5 s
	Settle  time.Duration // for children to end with their command; 0 means 100 ms

	// Hidden names, by absolute path, what searches must not show: grep, glob
	// and ls leave it out, and say that they left something out. nil: nothing.
	Hidden func(path string) bool
}

// Tools makes a set of tools with one memory of what the models have seen,
// apart for each session.
func Tools(o Options) []tool.Tool {
	m := newMemory()
	if m.hidden = o.Hidden; m.hidden == nil {
		m.hidden = func(string) bool { return false }
	}
	tools := []tool.Tool{&read{m}, &write{m}, &edit{m}, &patch{m}, &grep{m}, &glob{m}, &ls{m}, todo{}}
	if o.Host != nil {
		tools = append([]tool.Tool{newBash(o)}, tools...)
	}
	return tools
}

func newBash(o Options) *bash {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	o.Env = proc.Environ(o.Env, o.Deny)
	if o.Shell == "" {
		o.Shell = proc.Shell()
	}
	if o.Timeout == 0 {
		o.Timeout = 120 * time.Second
	}
	if o.Longest == 0 {
		o.Longest = 600 * time.Second
	}
	switch {
	case o.Grace == 0:
		o.Grace = 2 * time.Second
	case o.Grace < 0:
		o.Grace = 0
	}
	if o.Reap == 0 {
		o.Reap = 5 * time.Second
	}
	if o.Settle == 0 {
		o.Settle = 100 * time.Millisecond
	}
	return &bash{o}
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}
