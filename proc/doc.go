// Package proc runs commands as process trees that can be ended whole: the
// command, its children, its daemons, whoever ignores signals, is stopped or
// holds the output pipe.
//
//	runtime ──order──▶ guardian ──fork──▶ command ──▶ children, daemons …
//	   │ ◀──started, exited, gone──┤           │
//	   │ ◀──live output────────────┤ ◀──pipe───┘
//	   ▼                           └──▶ spool.out, spool.exit
//	 journal
//
// On Linux each tree has a guardian, a re-execution of the same binary ([Main])
// that waits ready before it is needed. The guardian is the subreaper of its
// tree: whoever loses a parent becomes its child, so that "no child is left to
// wait for" is the kernel's own proof that nothing of the tree is alive. It
// alone forks, signals and reaps, on one goroutine. It catches the output in a
// spool of bounded size, enforces the time-out, ends the tree when the runtime
// dies, and leaves an exit record beside the spool before it tells anybody.
//
//	        order             ask                    force
//	idle ──────────▶ running ──────▶ asked ─────────────▶ forced
//	 │                  │  └───────────│──(no grace)────────▲ │ ⟲ sweep
//	 │ runtime died     │ no child     │ no child             │ no child
//	 ▼                  ▼              ▼                      ▼
//	end               gone ◀───────── gone ◀──────────────── gone ──▶ sync, end
//
//	ask:   the runtime says so, time-out, the runtime died
//	force: the runtime says so, the grace is over
//
// Lanes differ in how they force. With a cgroup: cgroup.kill, then a sweep for
// whoever was moved out. Without: sweeps until nobody is left. Process groups,
// the lane of other systems and of programs that do not call [Main], reach what
// stayed in the group; daemons escape, and nobody acts when the runtime is
// killed. [Describe] says which lane a host has and why.
//
// Every process of a guardian's tree carries a mark in its environment
// (RIPCORD_TREE). By it the tree is found when its guardian was killed, and by
// recovery ([Find], [End]) when runtime and guardian were. A pid is never
// signalled because a number says so: boot, pid and start time must agree, and
// the signal goes through a handle that was opened before they were compared.
//
// A command can be given a terminal, or a pipe as its input, whose other end its
// keeper holds ([Spec.Hold], [InputOf]): the guardian pumps the terminal into
// the spool, neither hangs up nor closes when the runtime dies, and passes the
// end on to the runtime that adopts the tree. Everybody who holds it keeps it
// non-blocking; the file description is one.
//
// # What it never does
//
// It renders nothing into a shell, decides no policy (what is foreground, kept,
// asked first), writes no journal and knows no session. It does not start
// anything twice. It does not reach what another daemon starts on the command's
// behalf (containers, at, systemd-run, ssh), nor a process in uninterruptible
// sleep before it wakes, nor a tree whose runtime and guardian were both killed
// before recovery runs.
//
// # Goroutines
//
// A host owns, for each guardian, one that reads what it says and waits for its
// end, and one that keeps count of its tree; one for each live stream, which
// ends with the stream and the writer's last call; and one while a guardian is
// being made ready; and two for each guardian that it let go of ([Leave]), until
// that ends or the host closes. In the group lane: a pump and a watch for each
// tree, a waiter for its leader, and one while a time-out is enforced. [Host.Close]
// waits for all of them, ten seconds at most. A guardian, a process of its own,
// has one that acts and others that wait for it: for messages, the runtime's
// end, callers, output. One more makes the record of the leader's end durable
// while others of the tree live on; the guardian's own end waits for it.
package proc
