package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/proc"
)

// how a run came to its end; a closed set.
type how int

const (
	answered   how = iota // exit 0, and its decision if it has one
	vetoed                // exit 2
	failed                // another exit code: the one ending that FailOpen is about
	notRun                // not found, not executable, not started
	killed                // no exit code
	unreadable            // exit 0 and an answer that is none
	timedOut              // its own limit
	cut                   // its caller's wait ended first
)

// ending is how a run ended.
type ending struct {
	how  how
	said *gate.Decision // with answered: what it decided, nil if nothing
	why  string
}

// cutOff is the ending of a wait that ended with ctx. Nothing about the hook is
// known, so nothing that is set for a hook's failures is asked (INT-42).
func cutOff(ctx context.Context) ending {
	return ending{how: cut, why: fmt.Sprintf("the wait for it was cut off: %v", context.Cause(ctx))}
}

// verdict is what the ending means at a gate. An allow without a By is no
// objection, not an approval.
func (e ending) verdict(k *Hook) gate.Verdict {
	by := "hook:" + k.Name
	switch e.how {
	case answered:
		if e.said == nil {
			return gate.Verdict{Decision: gate.Allow, Why: e.why}
		}
		return gate.Verdict{Decision: *e.said, By: by, Why: e.why}
	case failed:
		if k.FailOpen {
			return gate.Verdict{Decision: gate.Allow, Why: e.why + "; it is set to fail open"}
		}
	case vetoed, notRun, killed, unreadable, timedOut, cut:
	}
	return gate.Verdict{Decision: gate.Block, By: by, Why: "hook " + k.Name + ": " + e.why}
}

// report is what the ending means where nobody waits for a verdict.
func (e ending) report() (verdict, why string) {
	switch e.how {
	case answered, vetoed, failed, unreadable:
		return "report", e.why
	case notRun, killed, timedOut, cut:
	}
	return "no-answer", e.why
}

// read turns an exit and what was printed into an ending.
func read(exit proc.Exit, stdout, stderr caught) ending {
	said := func(text string) string {
		if s := clean(stderr.b); s != "" {
			return text + ": " + s
		}
		return text
	}
	switch {
	case exit.Code == nil && exit.Signal != "":
		return ending{how: killed, why: said("it was ended by " + exit.Signal)}
	case exit.Code == nil:
		return ending{how: killed, why: said("its exit code is not known")}
	case *exit.Code == 126 || *exit.Code == 127:
		return ending{how: notRun, why: said(fmt.Sprintf("it did not run (exit %d)", *exit.Code))}
	case *exit.Code == 2:
		why := clean(stderr.b)
		if why == "" {
			why = "it refused (exit 2)"
		}
		return ending{how: vetoed, why: why}
	case *exit.Code != 0:
		return ending{how: failed, why: said(fmt.Sprintf("it failed with exit %d", *exit.Code))}
	case stdout.over:
		return ending{how: unreadable, why: fmt.Sprintf("its answer is over %d bytes", mostAnswer)}
	}
	decision, why, err := parse(stdout.b)
	if err != nil {
		return ending{how: unreadable, why: "its answer cannot be read: " + err.Error()}
	}
	return ending{how: answered, said: decision, why: why}
}

// reply is a hook's answer.
type reply struct {
	Decision   *string `json:"decision"`
	Reason     string  `json:"reason"`
	Continue   *bool   `json:"continue"`
	StopReason string  `json:"stopReason"`
	// What belongs into hookSpecificOutput is meant as said where it stands
	// beside it.
	Permission   *string         `json:"permissionDecision"`
	Because      string          `json:"permissionDecisionReason"`
	UpdatedInput json.RawMessage `json:"updatedInput"`
	Specific     *struct {
		Decision     *string         `json:"permissionDecision"`
		Reason       string          `json:"permissionDecisionReason"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
		Behaviour    *struct {
			Behaviour    *string         `json:"behavior"`
			Message      string          `json:"message"`
			UpdatedInput json.RawMessage `json:"updatedInput"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// parse reads stdout. NUL bytes cannot be read; text without a line that begins with "{" is no answer,
// unless it is a list; else all of it must be one object. Of several decisions the strongest counts.
func parse(stdout []byte) (decision *gate.Decision, why string, err error) {
	if bytes.IndexByte(stdout, 0) >= 0 {
		return nil, "", errors.New("it holds NUL bytes, as UTF-16 does; print it in UTF-8")
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(stdout, []byte("\xef\xbb\xbf")))
	if !holdsObject(text) {
		if bytes.HasPrefix(text, []byte("[")) && json.Valid(text) {
			return nil, "", errors.New("it is a list, not one JSON object")
		}
		return nil, "", nil
	}
	var r reply
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, "", errors.New("it is not one JSON object of the known form")
	}
	strongest := -1
	add := func(word *string, reason string) error {
		if word == nil {
			return nil
		}
		d, ok := decisionOf(*word)
		if !ok {
			return fmt.Errorf("%s is no decision: use allow, ask or block", clean([]byte(fmt.Sprintf("%q", *word))))
		}
		if w := weight(gate.Verdict{Decision: d, By: "hook"}); w > strongest {
			strongest, decision, why = w, &d, clean([]byte(reason))
		}
		return nil
	}
	if r.Continue != nil && !*r.Continue {
		no := "block"
		err = add(&no, r.StopReason)
	}
	err = errors.Join(err, add(r.Decision, r.Reason), add(r.Permission, r.Because))
	changed := given(r.UpdatedInput)
	if s := r.Specific; s != nil {
		err = errors.Join(err, add(s.Decision, s.Reason))
		changed = changed || given(s.UpdatedInput)
		if b := s.Behaviour; b != nil {
			err = errors.Join(err, add(b.Behaviour, b.Message))
			changed = changed || given(b.UpdatedInput)
		}
	}
	if changed {
		err = errors.Join(err, errors.New("it changes the call's input, which is not done here"))
	}
	if err != nil {
		return nil, "", errors.New(oneLine(err.Error()))
	}
	return decision, why, nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func holdsObject(text []byte) bool {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t\r"), []byte("{")) {
			return true
		}
	}
	return false
}

func decisionOf(word string) (gate.Decision, bool) {
	switch strings.ToLower(word) {
	case "allow", "approve":
		return gate.Allow, true
	case "ask":
		return gate.Ask, true
	case "block", "deny":
		return gate.Block, true
	}
	return gate.Block, false
}

// clean is text as a record and a model can have it: valid, trimmed, bounded.
func clean(b []byte) string {
	if len(b) > mostReason {
		b = b[:mostReason]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
