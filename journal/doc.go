// Package journal keeps sessions: it says what a store of journals owes
// ([Store], [Writer]), and holds the one scanner that judges a journal's bytes
// ([Scanner]) and the one framing that writes them ([Frame]), so that every
// store judges and writes alike.
//
// A journal is one line of JSON a record (see package event). A reader walks
// it once, front to back:
//
//	        chain, seq, batch, epoch hold
//	     ┌───────────────────────────────┐
//	     ▼                               │
//	┌─────────┐   sum does not hold   ┌─────────┐  nothing behind it proves
//	│ reading │──────────────────────▶│ probing │  that its batch was synced    ┌──────┐
//	│         │◀──────────────────────│         │──────────────────────────────▶│ torn │ end
//	└─────────┘  a later batch proves └─────────┘                               └──────┘
//	     │       it: damaged range, go
//	     │       on at the next record
//	     │       that can be verified
//	     ├──▶ forked at N: a record that chains from an earlier one; go on
//	     └──▶ future: written by a newer version; end
//
// # Torn or damaged
//
// A record of batch b+1 proves that batch b was synced. Each record carries
// its index in its batch (the envelope field "i", left out at the first), so a
// single later record tells where its batch began. Bytes that do not hold are
// damage exactly when the first record that should stand there belongs to a
// batch that such a record proves synced; else they are a tear, which a crash
// may leave and opening cuts. A flip in the last batch cannot be told from a
// tear. A group of closers (repair/begin … repair/commit) that the journal ends
// within is torn as a whole. A whole last record without its newline is a
// record.
//
// Behind a damaged range, reading goes on at the first line whose own sum can
// be verified against the line before it; a line that cannot be verified
// belongs to the range, however well it reads.
//
// # What it never does
//
// It does not interpret facts for a model, knows no store below one level, and
// the scanner and the framing do no input or output but the [io.ReaderAt] they
// are given. It starts no goroutine. Stores live one level below (file, mem);
// journaltest is the suite that holds each of them to the contract.
package journal
