// Package terminal has the tools that talk to programs: shells, debuggers,
// servers that are watched.
//
//	terminal_start   run a command in a terminal    EXTERNALLY_TERMINATED   asks
//	terminal_write   bytes, end of input, size      EXTERNALLY_TERMINATED   asks
//	terminal_poll    what was printed since         EXTERNALLY_TERMINATED
//	terminal_kill    end one, its whole tree        COOPERATIVE
//	terminal_list    which there are                NON_INTERRUPTIBLE
//
// Five tools and not one: what a call may do (ask, change, wait) is declared,
// and allowed by rules, for each tool by name.
//
// # One terminal
//
// A command runs on a pseudo-terminal, or with pipes, as a process tree of
// [proc.Host], whose keeper holds the other end ([proc.Spec.Hold]) and keeps
// the output in the spool. Here is no copy of it, only a cursor.
//
//	          the command ended while the call waited
//	opening ───────────────────────────────────────────▶ told
//	   │ the call's wait is over: a job of the session     ▲
//	   ▼              its tree is gone          a poll     │
//	running ──────────────────────────▶ ended ─────────────┘
//	   │   a trip of a waiting call of its own turn, kill  ▲
//	   └───────────────────────────────────────────────────┘
//
// While it runs it is named by its job ([tool.Jobs]), which the session ends
// unless it is kept. What was told is remembered as one sentence.
//
// # Foreground and background
//
// A call that waits on a terminal which its own turn opened registers a
// terminator: a trip ends the tree and the call is stopped with the output so
// far. On an older terminal a trip ends the waiting only. When nobody waits, no
// trip reaches a terminal.
//
// # Who owns what
//
// [Terminals] holds the state, apart for each session, for whoever made it, who
// closes it. It starts one goroutine, while a tree is being ended for a trip,
// and waits for it. Live output comes on the host's goroutine.
//
// # What it never does
//
// It decides no policy about what may run, writes no journal but through the
// call's recorder, renders nothing into a command line, and ends no terminal
// that is kept or of an earlier turn because of a trip.
package terminal
