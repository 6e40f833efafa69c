//go:build !unix

package tui

import (
	"errors"
	"io"
)

// suspender says that this system cannot suspend.
type suspender struct{}

func (suspender) SetStdin(io.Reader)  {}
func (suspender) SetStdout(io.Writer) {}
func (suspender) SetStderr(io.Writer) {}
func (suspender) Run() error          { return errors.New("this system cannot suspend") }
