// Package tui is the chat: an inline terminal UI over [api.Service] alone.
//
// Finished text is printed for good and belongs to the terminal's scrollback;
// below it stands a small live part: what streams, what runs, the question
// that is open, the line being typed, and a footer that always says what Esc
// will do. There is no alternate screen and no mouse mode, so that nothing of
// either can be left behind. Where there is no terminal, or with Plain, the
// same chat is a loop over lines without cursor movement.
//
// # The state
//
// [Run] joins three things: chat, the pure state, changed by chat.apply alone,
// which gives back what is to be done as data; a face (screen or lines), which
// draws it; and a runner, which does it: the service's calls, the timers.
//
//	         enter, c                  turn/start               esc, ^C
//	┌──────┐ ────────────▶ ┌─────────┐ ─────────▶ ┌─────────┐ ─────────▶ ┌──────────┐
//	│ idle │               │ sending │            │ running │            │ stopping │
//	└──────┘ ◀──────────── └─────────┘            └─────────┘            └──────────┘
//	  ▲  ▲  refused, queued     │ esc: stop, as soon as    │ turn/end       │      │ esc, ^C
//	  │  │                      ▼ it has an address        │                │      ▼
//	  │  │                   stopping                      │                │  ┌─────────┐
//	  │  └─────────────────────────────────────────────────┴────────────────┘  │ killing │
//	  └────────────────────────────── turn/end ────────────────────────────────┴─────────┘
//
// What is typed while a turn runs is sent with a priority: Enter steers the turn
// (NEXT), Tab queues behind it (LATER), Alt+Enter, Ctrl+Enter and /now stop it
// for the text (NOW). A text that waits is in the session's inbox and nowhere
// else:
//
//	          enter, tab                 esc, by OnInterrupt
//	draft ───────────────▶ waits ───────────────────────────▶ held ──── ctrl+x ───▶ dropped unrun
//	  ▲ ▲                  │   │                              │  ▲
//	  │ └── alt+↑: removed ┘   └─▶ in the turn          lent: │  │ ctrl+c, esc, emptied
//	  └──────────────────────────────── its words in the line ┘──┘
//
// Lent words stay held until the line is sent, which replaces them in the
// inbox in one write: a kill at any moment loses nothing that was sent. The
// same goes for a text that a rewind brings back.
//
// Beside it stand a layer (help, lists, completion, a draft: what Esc closes
// first, one per press), the open approvals, and the time of the last Ctrl+C
// that counts as a knock: a second one within two seconds leaves with 130. A
// real SIGINT is the same knock as the key.
//
// An interrupt is addressed by the input that the running turn processes, so
// that a late Esc cannot reach the next turn.
//
// # What it never does
//
// It decides nothing about a turn, touches no journal, and sends no byte to
// the terminal that a model, a tool or a file brought and that did not pass
// clean or oneLine.
//
// # Who owns which goroutine
//
// Run starts and waits for all of them: one that runs the program (Bubble Tea,
// which owns its reader, its renderer and its resize listener), one that
// follows the session, one that hands events to the program in order, one that
// renders and prints in order, one that submits, takes back, drops and rewinds
// in order, and one for each other call to the service, each picture that is
// read and each timer; they end with Run's own context. A service call that
// ignores its context, or a terminal that takes no more output, is left behind
// after [Closing], and Run returns all the same.
//
// Run releases the session on every way out, within [Closing]; when the
// context that it was given has ended it can ask the service nothing more, and
// releasing is the caller's.
package tui
