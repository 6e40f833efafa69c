// Package builtin has the tools that we ship: bash, read, write, edit.
//
//	bash    a command in its own process tree      THREAD_INTERRUPT    asks
//	read    lines of a file, or a picture          NON_INTERRUPTIBLE   asks outside the workspace
//	write   a whole file, atomically               NON_INTERRUPTIBLE   asks
//	edit    one exact passage of a file            NON_INTERRUPTIBLE   asks
//
// # Files
//
// A path is resolved before it is judged: symbolic links of what exists are
// followed, so that a link inside the workspace does not lead out of it unseen.
// What is resolved when the approval is asked must still be so when the call
// runs, or the call is refused.
//
// The tools remember what the model of a session has seen of each file. write
// replaces an existing file only if it was read and has not changed since;
// edit refuses a file that changed since it was read. A new content is written
// to a temporary file beside the target, synced, renamed over it behind the
// call's fence ([tool.FenceOf]), and the folder is synced: at every instant the
// file is the old one or the new one. A hard link to the old file keeps the old
// content.
//
// # Commands
//
// A command is handed to the shell as one argument, never rendered into
// another command line. It gets no input, no terminal, no pager and no secrets.
// Non-zero exit, signal and time-out are results, not failures. The call ends
// when the command does: what it left running becomes a job of the session, or
// is ended where nobody can own it. A trip ends the whole tree by the ladder;
// the result then holds the output so far and the pids that outlived it.
//
// # Who owns which goroutine
//
// bash starts one while it stops a tree, to hasten the stop when the signal is
// forced, and waits for it. The others start none.
//
// # What it never does
//
// It asks for no approval itself, keeps no process that it started without an
// owner, follows no pipe to its end, and touches no file that a call did not
// name.
package builtin
