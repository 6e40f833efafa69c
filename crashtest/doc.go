// Package crashtest holds a session to its word after a crash. It records real
// runs, breaks their journals in every way that a dying process or a lying
// disk can, recovers what is left, and asks one oracle whether it is true.
//
//	Scenario ──Record──▶ Recording ──cut, flip, zero, …──▶ bytes
//	                                                         │ recover
//	                                          Judge ◀── journal, history
//	                                            │
//	                                            ▼ violations, each by its number
//
// [Judge] is the one oracle of the invariants. It reads a journal by itself,
// with its own walk, and asks package turn only for the folded history, so that
// a rule that is broken there is seen here. What it needs from outside is in
// [Case]: what was intended, what had been acknowledged, how often each effect
// was seen.
//
// A [Recording] is made by a real runtime over the memory store and the
// scripted model server in strict mode, with the product's own gates, questions,
// terminals, sub-agents and clients of servers of tools where its scenario is
// about them ([Gear]); only the processes are made up. Sub-agents leave
// recordings of their own, and a family is broken and recovered as one
// ([Recording.Kin]). [Tap] stands between a runtime and its
// store: it writes down what was acknowledged when, and can stop the process
// at a named point of a write.
//
// # Goroutines
//
// [Record] starts none itself; the runtime and the servers that it makes have
// ended when it returns. A script's steps that run side by side have one each,
// which its call waits for.
//
// # What it never does
//
// It touches no process that it did not start, no file outside the folder it
// was given, and changes nothing that it judges.
package crashtest
