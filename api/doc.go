// Package api is what every edge of Ripcord stands on: one interface,
// [Service], and plain data.
//
//	terminal UI ─┐                       ┌─▶ ripcord.Runtime (this process)
//	server, acp ─┼──▶ api.Service ───────┤
//	command     ─┘                       └─▶ remote.Dial ──socket──▶ remote.Handler ──▶ ripcord.Runtime
//
// An edge that works over one implementation works over the other: package
// apitest holds both to the same suite.
//
// # Data
//
// Names in JSON are snake_case, times RFC 3339 with nanoseconds, and what is
// not known is null, never 0 and never missing. [Result] is the one shape of a
// turn's end, whoever asks for it and however it ended. Every error is an
// [*Error]: a code for programs, a sentence for people, the next step.
//
// # Ownership
//
// A context given to a method bounds that call alone. It ends no session and
// no turn: those end by Release, by Interrupt and by themselves. A caller that
// goes away while it follows or waits changes nothing for anybody else.
//
// # What it never does
//
// No rule of the product lives here, nothing is started, nothing is stored. The
// package starts no goroutine.
package api
