// Package mcp lets a model use the tools of servers that speak the Model
// Context Protocol: processes that we start, or hosts that answer over HTTP.
//
//	.mcp.json ──Parse──▶ []Server ──Start──▶ Manager ──Tools──▶ []tool.Tool
//	                                           │ one supervisor a server
//	                                           ▼
//	     pipes, bounded ◀── SDK session ──▶ HTTP, one origin
//	          │
//	     proc tree, owner "mcp" (guardian, stderr kept in a ring)
//
// A server's life, changed by one function ([server.to]):
//
//	               first try fails
//	┌───────────▶ connecting ─────────▶ failed ◀─┐
//	│ Restart       │      ▲              │      │
//	│    initialize,│      │ delay        │ Restart
//	│    list tools │      │ is over      ▼
//	│               ▼      │          connecting
//	│             ready ──▶ waiting
//	│               ended, broken, silent
//	│                      │ five times within a minute
//	└─────────────────── down
//
//	closed can be reached from each, by Close
//
// # A call
//
// A tool is COOPERATIVE: its call waits for the answer, the turn's signal and
// its own limit, whichever comes first. On a trip the server is sent
// notifications/cancelled with words that tell nothing, is given a moment to
// answer, and then the call ends as stopped. An answer that comes later has no
// call any more and is dropped. What a server says, errors included, is a
// result (layer 1); what could not be asked is a reply (layer 2). Nothing that
// a server does is fatal.
//
// # What it never does
//
// It decides no trust and reads no file: who may configure servers is the
// caller's to know. It never ends a server because a call was interrupted. It
// logs no header, no argument and no variable. It offers servers nothing: no
// sampling, no elicitation, no roots.
//
// # Goroutines
//
// A [Manager] owns one supervisor a server, which owns what belongs to its
// connection: a reader of its output and a waiter for the session's end;
// [Manager.Close] waits for all of them. A call owns one goroutine, and a
// second one while it is given up, and waits for both. The SDK starts its own
// for each connection; they end with it.
package mcp
