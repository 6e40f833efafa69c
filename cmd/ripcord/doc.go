// Command ripcord is the terminal agent and its tools: it reads flags,
// environment and settings, lists the drivers, turns signals into interrupts
// and endings into exit codes. What a turn is and how it ends is decided in the
// library; nothing here decides it.
//
//	signals, --timeout ─▶ stops ──┐
//	                              ▼
//	flags, env, files ─▶ verb ─▶ driver ─▶ api.Service ─▶ sessions/<id>/journal.jsonl
//	                              │   ▲                     sessions/<id>/ctl
//	                              ▼   └── live: serves each open session's control socket
//	                 stdout: the promised format and nothing else; all else on stderr
//
// A turn of run and continue passes through these states; only driver.step
// changes them:
//
//	             stop               5 s or a second signal           2 s
//	running ───────────▶ asked ───────────────────────────▶ forced ───────▶ left open
//	   │                   │                                   │
//	   └──── result ───────┴───────────── result ──────────────┴──▶ ended
//
// A stop that comes before the input was handed over ends without a turn:
// nothing starts after it. Running also covers the turns behind the first: what
// that one made way for, and with --drain what waits. The result is the last
// one's.
//
// # Goroutines
//
//   - stops.watch, one a process: reads signals; ends with the process.
//   - driver.work, one a run: opens, submits, waits; its end is the driver's
//     "result", and only a store that does not answer leaves it behind, in a
//     process that is about to exit.
//   - driver.ask, one a request to stop: as driver.work.
//   - driver.show, one a turn that another follows: writes what came of it, behind
//     the one before; a reader that does not read leaves it behind after a stop.
//   - those that hand a stop on, each waited for or ended by what it watches:
//     stoppable (a verb without a turn, the chat's opening), attempt, driver.work,
//     closeBooks; and limit's timer.
//   - follower, one a run: waited for, with a bound, before the
//     last line; a reader of stdout that does not read leaves it behind in an
//     exiting process.
//   - sink.last, one: the bounded last write; aside.write, one a sentence on
//     stderr: left behind, in an exiting process, where nobody reads.
//   - live, one a session open in this process: serves its control socket;
//     live.close waits for all of them.
//   - readStdin, one, and cuttable, one a read: given up when a signal comes
//     first.
//   - confirmed, one: reads an answer; given up when a signal comes first.
//   - closers.close, one each: waited for.
//
// # What it never does
//
// It prints no secret, starts no turn that was not asked for, and writes no escape
// codes where there is no terminal. Of the network it asks the model that was
// chosen, loopback ports for a local one (the chat and doctor alone), the servers
// of tools that the settings name, and what a call of web_fetch names; what hooks
// and the commands of tools ask is theirs.
package main
