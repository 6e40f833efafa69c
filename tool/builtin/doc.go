// Package builtin has the tools that we ship: bash, the tools about files, and
// the list of things to do.
//
//	bash          a command in its own process tree      THREAD_INTERRUPT    asks
//	read          lines of a file, or a picture          NON_INTERRUPTIBLE   asks outside the workspace
//	write         a whole file, atomically               NON_INTERRUPTIBLE   asks
//	edit          one exact passage of a file            NON_INTERRUPTIBLE   asks
//	apply_patch   hunks of several files, checked first  COOPERATIVE         asks
//	grep          lines that match, below a folder       COOPERATIVE         asks outside the workspace
//	glob          files by name, below a folder          COOPERATIVE         asks outside the workspace
//	ls            one folder                             COOPERATIVE         asks outside the workspace
//	todo          the list of things to do               NON_INTERRUPTIBLE
//
// # Files
//
// A path is resolved before it is judged: symbolic links of what exists are
// followed, so that a link inside the workspace does not lead out of it unseen.
// Where a path led at every look while its call was judged it must still lead
// when the call runs, or the call is refused. A file is changed through a handle on its
// folder, opened below the workspace: a link put in the way meanwhile leads
// nowhere. What is no regular file is not opened.
//
// The tools remember what the model of a session has seen of each file, as
// long as the program runs. write replaces an existing file, and apply_patch
// deletes one, only if it was read and has not changed since; edit and an
// update by apply_patch refuse a file that changed since it was read. A new
// content is written to a temporary file beside the target, synced, renamed
// over it behind the call's fence ([tool.FenceOf]), and the folder is synced:
// at every instant the file is the old one or the new one. Its mode stays, and
// its owner where that is allowed. A hard link to the old file keeps the old
// content. edit and apply_patch work on bytes: what they do not name stays,
// a mark at the start, line endings and text that is not UTF-8 included.
//
// apply_patch has one commit point:
//
//	parsed ─▶ worked out ─▶ staged ─▶ put 1 … put n ─▶ synced
//	└─ a stop or an error leaves nothing ┘└ only an error or a closed fence
//	                                        comes in between: told file by file
//
// # Searches
//
// grep, glob and ls follow no link, look at the signal between entries and
// blocks, end at bounds (entries, depth, bytes, results) and say which bound
// they met. They leave out .git and what .gitignore, .ignore and
// .git/info/exclude of the workspace name, unless they are asked for all or
// for an ignored folder by its name.
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
