// Package openai holds two drivers: [Model] for the chat-completions wire, which
// OpenAI and most local and hosted servers speak, and [Responses] for OpenAI's
// newer one. Each is one POST, answered by a stream of server-sent events.
//
//	        ┌── bytes ──▶ events ──▶ deltas
//	socket  │  (model.Wire)   (answer.go, reply.go)
//	        └── Activity
//
// The request is built from the parameter types of the maintained SDK. The
// bytes are ours: the SDK would hide keep-alives, retry, and decode three
// times slower. A differential test holds the decoder to the SDK's.
//
// # How a stream ends
//
//	words ──finish_reason──▶ finished ──usage, [DONE] or UsageWait──▶ settling ──EOF or 10 ms──▶ Finish
//	  │                          └────────────EOF or cut─────────────────────────────────────────▶ Finish
//	  ├──[DONE] or EOF──▶ protocol error: the stream ended early
//	  ├──cut────────────▶ transport error
//	  ├──error object───▶ the error that it names
//	  └──ctx ends───────▶ the context's cause, connection closed
//
// After the finish reason nothing but usage is read. Settling leaves the peer
// a moment to end its body, so that the connection can be used again.
//
// On the responses wire response.completed and response.incomplete are the
// finish and carry the usage; nothing is waited for after them.
//
// # Responses
//
// Nothing is stored at the provider: each request holds the whole history, and
// reasoning comes back sealed. A reasoning item becomes a block whose Data is the
// encrypted content and whose Signature is the rest of the item as it came; both
// go back unchanged, if an item of the model's own follows. Items may stream
// beside each other; blocks may not, so that the second is told when it is whole.
//
// # Liberties with the wire
//
// Reasoning is read from reasoning_content or reasoning and is not sent back
// (with [Config].Echo signed blocks are, in a field of ours). A refusal is
// text. Calls are told apart by index; a server that gives all its calls one
// index is understood by a new id, or a name after whole arguments. A finish
// of "stop" after calls is reported as tools.
//
// # Goroutines
//
// None of ours. The HTTP transport keeps two for each idle connection, for 30 s;
// [Model.Close] ends them. A call's timer is stopped before Stream returns.
package openai
