// Command matrix drives every kind of tool to every end that a call can have
// and compares what is said of it in five places with what was really done.
//
//	go run ./internal/matrix                   all cells, as a table
//	go run ./internal/matrix -v                and what was seen in each cell
//	go run ./internal/matrix -only bash        the cells whose name holds it
//	go run ./internal/matrix -wire openai-chat on another wire
//
// It exits with 1 when a cell is wrong.
//
//	            ┌─ call/ended in the journal's bytes ─┐
//	            ├─ the result object                  │
//	one cell ──▶├─ what the chat prints               ├──▶ [rules] ──▶ right or wrong
//	            ├─ the next request, on a strict model│
//	            └─ reality: files, ledgers, /proc,    │
//	               what servers wrote down            ┘
//
// A cell is a session of its own: the runtime, the tools, the processes, the
// files and the servers are real, the model is a strict script on loopback.
// Where a tool can't come to an end by itself it is decorated, and the column
// says so: finished_late holds a real result back, quarantined holds it back
// longer than the bound, quarantined* lets the tool begin only after that (what
// it does then must have no effect), fatal throws it away. The runtime of unknown is a
// process of its own (this binary) that is killed with SIGKILL.
//
// # Goroutines
//
// One worker for each cell that runs, and those of the parts; all have ended
// when the table is printed.
//
// # What it never does
//
// It asks nothing of the code under test about whether it worked, ends no
// process but those it started, and leaves no cell out: one that can't exist
// carries its reason.
package main
