package workflow

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// mostFrame is the length of a frame's body, in bytes; what could be longer is
// cut before it is put into one.
const mostFrame = 4 << 20

// kind is what a frame says.
type kind string

const (
	// from the runtime
	kindRun    kind = "run"    // the first frame, once
	kindResult kind = "result" // a step's end
	kindStop   kind = "stop"   // interrupt the script

	// from the engine
	kindReady kind = "ready" // the script begins
	kindCall  kind = "call"  // a step is asked for
	kindEnd   kind = "end"   // the script has ended; the process is about to
)

// frame is one message, four bytes of length and a JSON body.
type frame struct {
	Kind   kind            `json:"kind"`
	ID     int             `json:"id,omitempty"`   // of a call, counted by the engine
	Name   string          `json:"name,omitempty"` // of the tool
	Args   json.RawMessage `json:"args,omitempty"` // of the call, or of the script
	Script string          `json:"script,omitempty"`
	Limits *limits         `json:"limits,omitempty"`
	Result *result         `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"` // of a step that was not made; of an end that is none
	How    how             `json:"how,omitempty"`
}

// limits are what the engine holds by itself.
type limits struct {
	Memory int64         `json:"memory"` // bytes
	Value  int           `json:"value"`  // bytes of the returned value
	CPU    time.Duration `json:"cpu"`
}

// result is a step's end as the script sees it.
type result struct {
	N         int    `json:"n"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	Success   bool   `json:"success"`
	Outcome   string `json:"outcome"`
	ExitCode  *int   `json:"exitCode"`
	Signal    string `json:"signal,omitempty"`
	TimedOut  bool   `json:"timedOut"`
	Denied    string `json:"denied,omitempty"`
}

// how a script ended.
type how string

const (
	howReturned    how = "returned"
	howThrew       how = "threw"
	howSyntax      how = "syntax" // it never ran
	howStuck       how = "stuck"  // it waited for what never comes
	howInterrupted how = "interrupted"
	howDeep        how = "deep" // calls within calls
	howMemory      how = "memory"
)

// errFrame is matched by the error for bytes that are no frame.
var errFrame = errors.New("no frame")

func writeFrame(w io.Writer, f frame) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it makes six bytes of one: what is within its own bound would fit no frame
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	body := b.Bytes()
	if len(body) > mostFrame {
		return fmt.Errorf("%w: %d bytes, at most %d are sent", errFrame, len(body), mostFrame)
	}
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func readFrame(r io.Reader) (f frame, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > mostFrame {
		return f, fmt.Errorf("%w: its length says %d", errFrame, n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return f, err
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, fmt.Errorf("%w: %w", errFrame, err)
	}
	return f, nil
}
