// Package file keeps journals in files, one folder a session:
//
//	DIR/sessions/ID/journal.jsonl        the journal, one record a line
//	DIR/sessions/ID/lock                 held by the writer; names it for others
//	DIR/sessions/ID/reserve              space kept back for a full disk
//	DIR/sessions/ID/snapshot             what the journal folds to, at some record; disposable
//	DIR/sessions/ID/blobs/HEX            large values, by SHA-256
//	DIR/sessions/ID/journal.torn.OFFSET  a tail that was set aside
//	DIR/sessions/.trash-ID               a session that is being deleted
//
// # Writing
//
// The writer holds an OS lock for its life. The lock dies with its process;
// the owner's name in the lock file is for messages alone. The lock is not
// trusted: each write compares the file's size and the last record's sum with
// the writer's account, appends, and looks where it landed; each sync looks
// again before it acknowledges. A writer that finds foreign bytes is fenced for
// good and never acknowledges what it wrote.
//
//	          Append                    Sync
//	┌─ sound ─────────▶ sound, pending ─────────▶ sound, acknowledged
//	│    │ write failed with bytes left over         │ sync failed, EIO
//	│    ▼                                           ▼
//	│  ragged: cut back to the last              dead: the descriptor is given
//	│  whole record before anything else         up; a new one is opened, the
//	│                                            acknowledged end is verified and
//	│                                            all that was pending is written again
//	└────┴───────────────────┬───────────────────────┘
//	                         ▼ foreign bytes
//	                       fenced (for good)
//
// Only bytes behind the acknowledged end are ever cut or written again: no
// byte that was acknowledged is rewritten. What is written again is the same
// bytes at the same place. Both repairs run at the next Append or Sync, so a
// writer works again as soon as its disk does.
//
// # Reading
//
// Readers take no lock, repair nothing and see what was appended, synced or
// not: that a record was read does not say that it is durable. Follow is woken
// at once by a writer of the same store and polls for others.
//
// # Goroutines
//
// None is started here; Follow waits on its caller's.
//
// # What it never does
//
// It does not interpret records, and never changes a journal that it refuses.
package file
