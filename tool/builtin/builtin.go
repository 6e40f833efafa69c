package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
		o.Shell = "sh"
		if path, err := exec.LookPath("bash"); err == nil {
			o.Shell = path
		}
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

// decode reads arguments; a type that does not fit is a reply.
func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return tool.Replyf("the arguments can't be read; send the call again with a JSON object that fits the schema: %w", err)
	}
	return nil
}

// oneLine makes s fit for a question to a person: on one line, nothing in it
// that a terminal would act on or that looks like nothing.
func oneLine(s string, limit int) string {
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= limit {
			fmt.Fprintf(&b, " … (%d bytes more)", len(s)-i)
			break
		}
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}
