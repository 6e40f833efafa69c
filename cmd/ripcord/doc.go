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
//   - follower, one a run: waited for, with a bound, before the
//     last line; a reader of stdout that does not read leaves it behind in an
//     exiting process.
//   - sink.last, one: the bounded last write.
//   - live, one a session open in this process: serves its control socket;
//     live.close waits for all of them.
//   - readStdin, one: given up when a signal comes first.
//   - confirmed, one: reads an answer; given up when a signal comes first.
//
// # What it never does
//
// It prints no secret, asks no network but the model that was chosen (and, in
// the chat alone, loopback ports for a local one), starts no turn that was not
// asked for, and writes no escape codes where there is no terminal.
package main
