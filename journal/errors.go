package journal

import (
	"fmt"
	"strings"
)

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s is in use by process %d on %s; interrupt it with `ripcord interrupt %s` or wait", e.ID, e.Owner.PID, e.Owner.Host, e.ID)
}

func (e *DamagedError) Error() string {
	what := "damaged"
	if e.Forked {
		what = "forked"
	}
	var b strings.Builder
	for i, r := range e.Ranges {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "bytes %d-%d (%s)", r.From, r.To, r.Why)
	}
	return fmt.Sprintf("session %s is %s at %s; nothing was changed: see `ripcord log verify %s`", e.ID, what, b.String(), e.ID)
}

func (e *FutureError) Error() string {
	requires := ""
	if len(e.Requires) > 0 {
		requires = ", requires " + strings.Join(e.Requires, " ")
	}
	return fmt.Sprintf("session %s was written by a newer version (format %d%s): upgrade ripcord, or read the raw file %s", e.ID, e.Version, requires, e.Path)
}
