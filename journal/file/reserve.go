package file

import (
	"os"
)

// keepSpare makes the reserve file if it is not there. It fails quietly: a full
// disk is no reason to refuse what still fits, and the next good sync tries
// again.
func (w *writer) keepSpare() {
	if w.spare || w.s.reserve < 0 {
		return
	}
	name := w.s.path(w.id, reserveName)
	f, err := w.s.fs.Open(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Allocate(w.s.reserve)
		f.Close()
		if err != nil { // an empty reserve reserves nothing
			_ = w.s.fs.RemoveAll(name)
		}
	}
	if err != nil {
		w.s.log.Debug("no space is kept in reserve", "session", w.id, "error", err)
	}
	w.spare = err == nil
}

// Free releases the reserve, so that closing records fit on a full disk. A
// later Sync that succeeds makes it anew once there is space.
func (w *writer) Free() {
	if !w.spare {
		return
	}
	if err := w.s.fs.RemoveAll(w.s.path(w.id, reserveName)); err != nil {
		w.s.log.Warn("the reserve could not be released", "session", w.id, "error", err)
		return
	}
	w.spare = false
}
