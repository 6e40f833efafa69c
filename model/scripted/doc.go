// Package scripted is a model server of our own: it speaks chat completions,
// responses and messages over loopback HTTP like any provider, and a script in a
// small text format decides every event and every fault, on each wire the same. It is the chat's model when there is no
// key, the demo's, every test's, and a tool for people who build on such
// streams. It is no AI and says so wherever it talks to people.
//
//	request ──▶ record ──▶ strict check ──▶ choose a block ──▶ play its steps ──▶ body
//	                          │ 400            │ 400: ran out        │
//	                          ▼                ▼                     ▼ hang, drop, client gone
//
// The client side is model/openai or model/anthropic pointed at [Server.URL]. The
// format is in [Help]. What a wire says at a step is its tongue's (chat.go,
// responses.go, messages.go); what it asks is read into the words of chat
// completions (read.go), so that one set of conditions and rules serves all.
//
// # Strict mode
//
// Unless told otherwise the server refuses a history that some provider would
// refuse: a call without its result, a result without its call or not directly
// after it or out of order, an id used twice, an assistant message with
// nothing in it, two user messages in a row, arguments that are not JSON,
// reasoning that was signed here and came back changed. Each wire adds its own:
// messages that do not alternate, ids and names of a form it does not take,
// results behind words, thinking at an end, no limit (messages); reasoning that
// is not followed by what it led to (responses). [Validate] is the same
// judgement over a folded history, [ValidateWire] over a request.
//
// # Goroutines
//
// One that accepts, owned by [Server] and joined by Close, and those of
// net/http, one a connection, which Close ends too.
package scripted
