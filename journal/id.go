package journal

import (
	"errors"
	"fmt"

	"github.com/ripcord-go/ripcord/event"
)

// ErrBadID is returned, wrapped, for a session id that is not safe as a file
// name; nothing was read or written.
var ErrBadID = errors.New("not a session id")

// CheckID returns an error matching [ErrBadID] unless id has 1 to 128 letters,
// digits, '_', '-' or '.', and begins with a letter, a digit or '_'. Such an id
// cannot lead out of a store's folder.
func CheckID(id event.SessionID) error {
	ok := len(id) > 0 && len(id) <= 128
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case c == '-', c == '.':
			ok = i > 0
		default:
			ok = false
		}
	}
	if !ok {
		return fmt.Errorf("%w: %.60q: use letters, digits, '_', '-' and '.'", ErrBadID, string(id))
	}
	return nil
}
