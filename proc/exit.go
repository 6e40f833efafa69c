package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ExitRecord is what a guardian leaves beside the spool when a command has
// ended: after a crash it turns "unknown" into "finished". It is written when
// the leader ends and once more when the tree is gone.
type ExitRecord struct {
	Exit
	Owner     string    `json:"owner"`
	ID        string    `json:"id"`
	PID       int       `json:"pid"`
	Start     uint64    `json:"start"`
	Boot      string    `json:"boot,omitempty"`
	How       How       `json:"how"`
	Gone      bool      `json:"gone"`    // nothing of the tree is left
	Bytes     int64     `json:"bytes"`   // produced in all; 0 until the tree is gone
	Dropped   int64     `json:"dropped"` // of them kept nowhere
	Survivors []int     `json:"survivors,omitempty"`
	Ended     time.Time `json:"ended"` // wall clock, for people
}

// seen is the end as a [Tree] tells it.
func (r ExitRecord) seen() Exit {
	e := r.Exit
	e.Own = r.How == HowExited
	return e
}

// How is why a command came to its end.
type How string

const (
	HowExited      How = "exited"       // by itself
	HowStopped     How = "stopped"      // somebody asked
	HowTimedOut    How = "timed_out"    // its own limit
	HowRuntimeDied How = "runtime_died" // the guardian ended it because the runtime was gone
)

// ReadExit returns the exit record beside spool. The error matches
// [os.ErrNotExist] when the command is not known to have ended.
func ReadExit(spool string) (ExitRecord, error) {
	var r ExitRecord
	b, err := os.ReadFile(spool + ".exit")
	if err != nil {
		return r, fmt.Errorf("read exit record: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("read exit record: %w", err)
	}
	return r, nil
}

// writeExit replaces the record beside spool. A reader sees the old or the new
// one; [syncExit] makes it durable.
func writeExit(spool string, r ExitRecord) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(spool+".exit.tmp", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(spool+".exit.tmp", spool+".exit")
}

// syncExit makes output, record and their folder durable, in this order.
func syncExit(spool string) error {
	for _, name := range []string{spool + ".out", spool + ".exit", filepath.Dir(spool)} {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = f.Sync()
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// firstHow keeps the first reason.
func firstHow(had, now How) How {
	if had != HowExited {
		return had
	}
	return now
}
