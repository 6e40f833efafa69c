// Package anthropic is the driver for the messages wire: one POST, answered by
// server-sent events about blocks of content.
//
//	        ┌── bytes ──▶ events ──▶ deltas
//	socket  │  (model.Wire)   (answer.go)
//	        └── Activity
//
// The request is built from the parameter types of the maintained SDK. The
// bytes are ours: the SDK passes over pings, retries, and reads keys from the
// environment. A differential test holds the decoder to the SDK's.
//
// # How a stream ends
//
//	blocks ──stop_reason──▶ finished ──usage, message_stop or UsageWait──▶ Finish
//	  ├──message_stop or EOF──▶ protocol error: the stream ended early
//	  ├──cut────────────▶ transport error
//	  ├──error event────▶ the error that its type names, whatever the status was
//	  └──ctx ends───────▶ the context's cause, connection closed
//
// A call whose arguments are no JSON when its block stops may have been cut at
// the limit. Its end is held back until the next block or the stop reason says.
//
// # What is sent
//
// Users and assistant alternate; a user message holds the results of the calls
// before it first, with their error flags and images. Thinking goes back byte
// for byte, with its signature, if this wire signed it; what another provider
// signed, what was cut before its signature, and thinking that led to nothing is
// left out. Ids that another provider gave and this wire would refuse are
// mapped, always to the same. A history that ends with the model's own words is
// followed by a word of the user's: newer models refuse to go on in the middle.
//
// # What it never does
//
// It repairs no history: a call without its result is sent as it is, and
// refused. It starts no goroutine; those of the HTTP transport are ended by
// [Model.Close].
package anthropic
