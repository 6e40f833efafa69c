package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/inbox"
)

// snapshotVersion is of the shape below. Another one is not read: the journal
// is, which costs time and nothing else.
const snapshotVersion = 1

// snapshot is a ledger between two turns, as it can be kept beside the journal
// that it was folded from (LOG-16).
type snapshot struct {
	Version int `json:"version"`

	Next     event.Seq                `json:"next"`
	Batch    int64                    `json:"batch"`
	Epoch    event.Epoch              `json:"epoch"`
	Turns    int                      `json:"turns"`
	Steps    int                      `json:"steps"`
	Attempt  int                      `json:"attempt"`
	Message  bool                     `json:"message,omitempty"`
	Seen     []event.CallID           `json:"seen,omitempty"` // sorted
	Late     []event.CallID           `json:"late,omitempty"` // of them, those that may still report
	OpenJobs []event.JobID            `json:"open_jobs,omitempty"`
	Inputs   map[event.InputID]int    `json:"inputs,omitempty"`
	Keys     map[string]event.InputID `json:"keys,omitempty"`
	// Stood are the inputs that a waiting one replaced.
	Stood map[event.InputID][]event.InputID `json:"stood,omitempty"`

	Header   event.SessionOpened    `json:"header"`
	Box      inbox.Snapshot         `json:"box"`
	History  []event.Message        `json:"history,omitempty"`
	Config   json.RawMessage        `json:"config,omitempty"`
	ConfigAt event.Seq              `json:"config_at"`
	Turn     *Turn                  `json:"turn,omitempty"`
	Jobs     []*Job                 `json:"jobs,omitempty"`
	Procs    []event.ProcessStarted `json:"procs,omitempty"`
	Lease    event.Owner            `json:"lease"`
	LastAt   time.Time              `json:"last_at"`
	Usage    Usage                  `json:"usage"`
	Unknown  map[event.Type]int     `json:"unknown,omitempty"`
	TurnOf   map[event.InputID]int  `json:"turn_of,omitempty"`
	Spent    Spent                  `json:"spent"`
	Began    time.Time              `json:"began"`
	Wakes    Wakes                  `json:"wakes"`
	Places   []guard.Place          `json:"places,omitempty"`
	Past     map[int]pastSnapshot   `json:"past,omitempty"`
	News     []string               `json:"news,omitempty"`
	Largest  []largestSnapshot      `json:"largest,omitempty"`
}

type pastSnapshot struct {
	Before int                  `json:"before"`
	Claims []event.InboxClaimed `json:"claims,omitempty"`
	News   []string             `json:"news,omitempty"`
}

type largestSnapshot struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Runes    int    `json:"runes"`
}

// Snapshot returns the ledger as bytes from which [RestoreLedger] makes it
// again. It is for between turns: with a turn, a compaction or a repair open it
// is an error, since nothing is gained by it.
func (l *Ledger) Snapshot() ([]byte, error) {
	if l.turn != 0 || l.open != nil || l.compact || l.repair || len(l.asked) > 0 {
		return nil, fmt.Errorf("snapshot of a ledger with open work")
	}
	s := snapshot{Version: snapshotVersion,
		Next: l.next, Batch: l.batch, Epoch: l.epoch, Turns: l.turns, Steps: l.steps, Attempt: l.attempt, Message: l.message,
		OpenJobs: slices.Sorted(maps.Keys(l.jobs)), Keys: l.keys, Stood: l.stood,
		Header: l.Header, Box: l.Box.Snapshot(), History: l.History, Config: l.config, ConfigAt: l.ConfigAt, Turn: l.Turn,
		Jobs: l.Jobs, Procs: l.Procs, Lease: l.Lease, LastAt: l.LastAt, Usage: l.Usage, Unknown: l.Unknown, TurnOf: l.TurnOf,
		Spent: l.Spent, Began: l.Spent.began, Wakes: l.Wakes, Places: l.Places.All(), News: l.news}
	for id, late := range l.seen {
		s.Seen = append(s.Seen, id)
		if late {
			s.Late = append(s.Late, id)
		}
	}
	slices.Sort(s.Seen)
	slices.Sort(s.Late)
	if len(l.inbox) > 0 {
		s.Inputs = make(map[event.InputID]int, len(l.inbox))
		for id, stage := range l.inbox {
			s.Inputs[id] = int(stage)
		}
	}
	if len(l.past) > 0 {
		s.Past = make(map[int]pastSnapshot, len(l.past))
		for n, p := range l.past {
			s.Past[n] = pastSnapshot{p.before, p.claims, p.news}
		}
	}
	for src, n := range l.largest {
		s.Largest = append(s.Largest, largestSnapshot{src.provider, src.model, n})
	}
	return plainJSON(s)
}

// plainJSON encodes v with raw JSON as it came: a model's arguments that were
// escaped for HTML on the way would be other bytes for the provider.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// RestoreLedger makes the ledger that a snapshot was taken of.
func RestoreLedger(raw []byte) (*Ledger, error) {
	var s snapshot
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if s.Version != snapshotVersion {
		return nil, fmt.Errorf("snapshot: version %d, this build reads %d", s.Version, snapshotVersion)
	}
	l := NewLedger()
	l.Checker = s.checker()
	l.Header, l.Box, l.History, l.config, l.ConfigAt, l.Turn = s.Header, inbox.Restore(s.Box), s.History, s.Config, s.ConfigAt, s.Turn
	l.Jobs, l.Procs, l.Lease, l.LastAt, l.Usage, l.Unknown = s.Jobs, s.Procs, s.Lease, s.LastAt, s.Usage, s.Unknown
	l.Spent, l.Wakes, l.Places, l.news = s.Spent, s.Wakes, guard.PlacesOf(s.Places), s.News
	l.Spent.began = s.Began
	if s.TurnOf != nil {
		l.TurnOf = s.TurnOf
	}
	if len(s.Config) > 0 {
		l.Config = &event.ModelConfig{}
		if err := json.Unmarshal(s.Config, l.Config); err != nil {
			return nil, fmt.Errorf("snapshot: its model's settings: %w", err)
		}
	}
	for n, p := range s.Past {
		if p.Before > len(l.History) {
			return nil, fmt.Errorf("snapshot: turn %d begins at message %d of %d", n, p.Before, len(l.History))
		}
		l.past[n] = &past{p.Before, p.Claims, p.News}
	}
	for _, x := range s.Largest {
		l.largest[source{x.Provider, x.Model}] = x.Runes
	}
	return l, nil
}

// CheckFrom returns the checker of the ledger that a snapshot was taken of: it
// stands where the snapshot does.
func CheckFrom(raw []byte) (*Checker, error) {
	l, err := RestoreLedger(raw)
	if err != nil {
		return nil, err
	}
	return &l.Checker, nil
}

func (s *snapshot) checker() Checker {
	c := Checker{next: s.Next, batch: s.Batch, epoch: s.Epoch, turns: s.Turns, steps: s.Steps, attempt: s.Attempt, message: s.Message, keys: s.Keys, stood: s.Stood}
	if len(s.Seen) > 0 {
		c.seen = make(map[event.CallID]bool, len(s.Seen))
		for _, id := range s.Seen {
			c.seen[id] = false
		}
		for _, id := range s.Late {
			c.seen[id] = true
		}
	}
	if len(s.OpenJobs) > 0 {
		c.jobs = make(map[event.JobID]bool, len(s.OpenJobs))
		for _, id := range s.OpenJobs {
			c.jobs[id] = true
		}
	}
	if len(s.Inputs) > 0 {
		c.inbox = make(map[event.InputID]inboxStage, len(s.Inputs))
		for id, stage := range s.Inputs {
			c.inbox[id] = inboxStage(stage)
		}
	}
	return c
}
