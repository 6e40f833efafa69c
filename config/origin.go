package config

import (
	"fmt"
	"log/slog"
	"strconv"
)

// Error says in one sentence what is wrong with the settings, and what to do.
type Error struct{ Message, Hint string }

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

func wrong(hint, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Layer is where a value comes from, the weakest first; a closed set.
type Layer int

const (
	Default Layer = iota
	User
	Project
	Environment
	Flag
)

func (l Layer) String() string {
	switch l {
	case Default:
		return "default"
	case User:
		return "user file"
	case Project:
		return "project file"
	case Environment:
		return "environment"
	case Flag:
		return "flag"
	}
	return "unknown"
}

// Origin is where one value comes from: a file with its line, or the name of a
// variable or flag.
type Origin struct {
	Layer Layer
	Name  string // file, variable or flag; empty for a default
	Line  int    // of the file, 1-based; else 0
}

func (o Origin) String() string {
	switch {
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line)
	case o.Name != "":
		return o.Name
	}
	return o.Layer.String()
}

// Secret is a string that never shows itself.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[set]"
}

// GoString keeps %#v from showing it.
func (s Secret) GoString() string { return s.String() }

// LogValue keeps a log from showing it.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps every encoder from showing it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
