package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ripcord-go/ripcord/proc"
)

// Server says how one server is reached: by a Command that is started, or by
// a URL.
type Server struct {
	Name string

	Command string            // a program's name or path
	Args    []string          //
	Env     map[string]string // added to the scrubbed environment
	Dir     string            // working directory, seen from [Options.Dir]

	URL     string            // http or https
	Headers map[string]string // sent to the URL's origin only, never logged

	// Timeout is how long a call may be without an answer and without
	// progress; 0 means [Options.Call].
	Timeout  time.Duration
	Disabled bool // known, not started

	// Trusted says that the server's hints about its tools are believed. It is
	// the caller's word, from a configuration that is the person's own; no
	// file of servers can say it.
	Trusted bool

	secrets []string // what was filled in from the environment
}

// HTTP says whether the server is reached over HTTP.
func (s Server) HTTP() bool { return s.URL != "" }

// Where says how the server is reached, without arguments, queries and
// whatever else may hold a secret.
func (s Server) Where() string {
	if !s.HTTP() {
		return s.clean(s.Command)
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "an address that cannot be read"
	}
	return s.clean(u.Scheme + "://" + u.Host + u.Path)
}

func (s Server) String() string       { return s.Name + " (" + s.Where() + ")" }
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// clean takes out of text what must not be shown, what could steer a terminal,
// and the SDK's long way of saying that a request was not sent.
func (s Server) clean(text string) string {
	if _, cause, ok := strings.Cut(text, "rejected by transport: "); ok {
		text = cause
	}
	secrets := slices.Clone(s.secrets)
	for _, v := range s.Headers {
		secrets = append(secrets, v)
	}
	for name, v := range s.Env {
		if len(proc.Environ([]string{name + "=" + v}, nil)) == len(proc.Environ(nil, nil)) {
			secrets = append(secrets, v) // a name of those that commands do not get
		}
	}
	if s.HTTP() {
		if u, err := url.Parse(s.URL); err == nil && u.RawQuery != "" {
			secrets = append(secrets, u.RawQuery)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, v := range secrets {
		if len(v) >= leastSecret {
			text = strings.ReplaceAll(text, v, "…")
		}
	}
	return printable(text)
}

// printable takes out what could steer a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

const (
	leastSecret   = 4        // shorter values are no secrets, and everywhere
	mostConfig    = 1 << 20  // bytes of a file of servers
	mostExpanded  = 64 << 10 // bytes of one value
	mostServers   = 100
	mostNameBytes = 64
)

// Parse reads a file of servers, the shape that clients of the protocol share:
//
//	{"mcpServers": {"name": {"command": …, "args": […], "env": {…}, "cwd": …}
//	               ,"other": {"url": …, "headers": {…}, "timeout": "90s"}}}
//
// In values, ${NAME} and ${NAME:-otherwise} stand for variables, which look
// finds; what they hold is not looked at again. timeout is a duration or a
// number of milliseconds.
//
// The servers without fault are returned, by name; the error joins one
// sentence for each fault, in the file's order.
func Parse(data []byte, look func(name string) (value string, ok bool)) ([]Server, error) {
	if len(data) > mostConfig {
		return nil, fmt.Errorf("the file of servers has %d bytes: %d are the most", len(data), mostConfig)
	}
	top, err := object(data)
	if err != nil {
		return nil, fmt.Errorf("the file of servers cannot be read: %w", err)
	}
	var faults []error
	var list []member
	for _, m := range top {
		switch m.key {
		case "mcpServers":
			if list, err = object(m.raw); err != nil {
				faults = append(faults, fmt.Errorf("mcpServers: %w", err))
			}
		case "$schema":
		default:
			faults = append(faults, fmt.Errorf("the field %q is not known at the top: servers belong into mcpServers", m.key))
		}
	}
	if len(list) > mostServers {
		return nil, fmt.Errorf("mcpServers names %d servers: %d are the most", len(list), mostServers)
	}
	var out []Server
	for _, m := range list {
		s, err := parseServer(m, expander{look})
		if err != nil {
			faults = append(faults, err)
			continue
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(faults...)
}

// member is one field of an object.
type member struct {
	key string
	raw json.RawMessage
}

// object gives the fields of a JSON object in their order; a field given twice
// is a fault, because nobody could say which one counts.
func object(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if tok != json.Delim('{') {
		return nil, errors.New("it must be a JSON object")
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		name := key.(string) // a key of an object
		if slices.ContainsFunc(out, func(m member) bool { return m.key == name }) {
			return nil, fmt.Errorf("%q stands there twice: take one out", name)
		}
		out = append(out, member{name, raw})
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if dec.More() {
		return nil, errors.New("something follows the JSON object: take it out")
	}
	return out, nil
}

func parseServer(m member, x expander) (Server, error) {
	s := Server{Name: m.key}
	if err := checkName(s.Name); err != nil {
		return s, err
	}
	fields, err := object(m.raw)
	if err != nil {
		return s, fmt.Errorf("server %q: %w", s.Name, err)
	}
	kind := ""
	for _, f := range fields {
		if err := s.field(f, &kind, x); err != nil {
			return s, fmt.Errorf("server %q: %w", s.Name, err)
		}
	}
	if err := s.whole(kind); err != nil {
		return s, fmt.Errorf("server %q: %w", s.Name, err)
	}
	return s, nil
}

func checkName(name string) error {
	switch {
	case name == "" || len(name) > mostNameBytes:
		return fmt.Errorf("the server name %q is not usable: give 1 to %d bytes", name, mostNameBytes)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the server name %q holds characters that cannot be shown: use others", name)
	}
	return nil
}

func (s *Server) field(f member, kind *string, x expander) error {
	switch f.key {
	case "type", "transport":
		return text(f, kind)
	case "command":
		return x.text(f, s, &s.Command)
	case "cwd":
		return x.text(f, s, &s.Dir)
	case "url":
		return x.text(f, s, &s.URL)
	case "args":
		if err := json.Unmarshal(f.raw, &s.Args); err != nil || string(f.raw) == "null" {
			return errors.New("args must be a list of texts")
		}
		for i := range s.Args {
			if err := x.expand(s, &s.Args[i]); err != nil {
				return fmt.Errorf("args: %w", err)
			}
		}
		return nil
	case "env":
		return x.texts(f, s, &s.Env)
	case "headers":
		return x.texts(f, s, &s.Headers)
	case "timeout":
		return duration(f, &s.Timeout)
	case "disabled":
		if err := json.Unmarshal(f.raw, &s.Disabled); err != nil || string(f.raw) == "null" {
			return errors.New("disabled must be true or false")
		}
		return nil
	}
	return fmt.Errorf("the field %q is not known; the fields are command, args, env, cwd or url, headers, and type, timeout, disabled", f.key)
}

// whole checks what the fields come to together.
func (s *Server) whole(kind string) error {
	switch kind {
	case "", "stdio", "http", "streamable-http", "streamableHttp":
	case "sse":
		return errors.New("its type is sse, which was given up by the protocol: give the address for streamable HTTP")
	default:
		return fmt.Errorf("its type %q is not known: stdio or http", kind)
	}
	switch {
	case s.Command == "" && s.URL == "":
		return errors.New("it has neither a command nor a url: give one")
	case s.Command != "" && s.URL != "":
		return errors.New("it has a command and a url: take one out")
	case s.URL == "" && kind != "" && kind != "stdio", s.URL != "" && kind == "stdio":
		return fmt.Errorf("its type is %q, which its other fields do not fit", kind)
	case s.URL == "" && s.Headers != nil:
		return errors.New("headers are for servers with a url")
	case s.URL != "" && (s.Args != nil || s.Env != nil || s.Dir != ""):
		return errors.New("args, env and cwd are for servers with a command")
	}
	for _, v := range append(slices.Clone(s.Args), s.Command, s.Dir) {
		if strings.ContainsRune(v, 0) {
			return errors.New("a value holds a NUL byte: take it out")
		}
	}
	for name, v := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(v, 0) {
			return fmt.Errorf("the variable %q is not usable: no '=' in its name and no NUL byte", name)
		}
	}
	for name, v := range s.Headers {
		if !headerName(name) || strings.ContainsAny(v, "\r\n\x00") {
			return fmt.Errorf("the header %q is not usable: it must fit on one line", name)
		}
	}
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("its url is not an http or https address")
	}
	if u.User != nil || u.Fragment != "" {
		return errors.New("its url holds a user or a fragment: credentials belong into headers")
	}
	return nil
}

func headerName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

func text(f member, to *string) error {
	if err := json.Unmarshal(f.raw, to); err != nil || string(f.raw) == "null" {
		return fmt.Errorf("%s must be a text", f.key)
	}
	return nil
}

// duration reads "90s" or a number of milliseconds. A small number is refused:
// whoever wrote 60 meant seconds.
func duration(f member, to *time.Duration) error {
	var ms float64
	if json.Unmarshal(f.raw, &ms) == nil && string(f.raw) != "null" {
		if ms < 1000 || ms > 24*3600*1000 {
			return fmt.Errorf("timeout is %g milliseconds, which is not between a second and a day: write for example \"60s\"", ms)
		}
		*to = time.Duration(ms * float64(time.Millisecond))
		return nil
	}
	var s string
	if err := text(f, &s); err != nil {
		return errors.New("timeout must be a text such as \"60s\" or a number of milliseconds")
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return fmt.Errorf("timeout %q is not a duration up to a day, such as \"60s\"", s)
	}
	*to = d
	return nil
}

// expander fills in variables.
type expander struct {
	look func(string) (string, bool)
}

func (x expander) text(f member, s *Server, to *string) error {
	if err := text(f, to); err != nil {
		return err
	}
	if err := x.expand(s, to); err != nil {
		return fmt.Errorf("%s: %w", f.key, err)
	}
	return nil
}

func (x expander) texts(f member, s *Server, to *map[string]string) error {
	var m map[string]string
	if err := json.Unmarshal(f.raw, &m); err != nil || m == nil {
		return fmt.Errorf("%s must be an object of texts", f.key)
	}
	for _, name := range sortedKeys(m) {
		v := m[name]
		if err := x.expand(s, &v); err != nil {
			return fmt.Errorf("%s: %s: %w", f.key, name, err)
		}
		m[name] = v
	}
	*to = m
	return nil
}

// expand fills in the variables of *v, once, from left to right.
func (x expander) expand(s *Server, v *string) error {
	rest, out := *v, ""
	for {
		before, after, found := strings.Cut(rest, "${")
		out += before
		if !found {
			break
		}
		inner, tail, closed := strings.Cut(after, "}")
		if !closed {
			return errors.New("a \"${\" has no \"}\"")
		}
		name, otherwise, has := strings.Cut(inner, ":-")
		if !variable(name) {
			return fmt.Errorf("${%s} does not name a variable: letters, digits and '_'", inner)
		}
		value, ok := "", false
		if x.look != nil {
			value, ok = x.look(name)
		}
		switch {
		case ok && value != "":
			s.secrets = append(s.secrets, value)
		case has:
			value = otherwise
		case !ok:
			return fmt.Errorf("the variable %s is not set: set it, or write ${%s:-otherwise}", name, name)
		}
		if out, rest = out+value, tail; len(out) > mostExpanded {
			return fmt.Errorf("a value has more than %d bytes", mostExpanded)
		}
	}
	*v = out
	return nil
}

func variable(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
