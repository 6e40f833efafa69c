// Package event is the vocabulary of Ripcord: the facts a session's journal
// may hold, the content they carry, the scope of each, and the bytes they are
// written as.
//
// A fact is a [Record]: an envelope (sum, batch, epoch, seq, time, type, turn,
// step, call) around one [Payload]. The set of payloads is closed: [Types]
// lists every one with its [Scope], and a test enumerates them, so that a new
// fact cannot fall through a switch unseen. A type that this build does not
// know is kept as it was read (LOG-05) and decodes to [Unknown].
//
// # Bytes
//
// One record is one line of JSON. Its canonical bytes are the line without its
// newline. The first field is always the sum and data is always last, so that
// sums and order can be scanned without decoding data:
//
//	{"crc":"9f3a0b1c","v":1,"b":3,"epoch":1,"seq":17,"time":"…","type":"turn/start","turn":1,"data":{…}}
//
// The sum is CRC-32C (Castagnoli, as in RFC 3720 appendix B.4) over the
// previous record's eight hex digits followed by this line from its second
// field on; see [Encode]. A cut, a flipped bit, a swapped or a doubled record
// therefore shows where it happened.
//
// # What it never does
//
// It decides nothing, waits for nothing, does no input or output, starts no
// goroutine and imports nothing of ours. All values are plain data; a payload
// must not be changed once it was handed to a writer.
package event
