// Package web has web_fetch: one page of the web, read with a GET.
//
//	web_fetch   COOPERATIVE   asks, unless a rule allows the host
//
// # A fetch
//
//	URL checked ─▶ dialled ─▶ answered ─▶ body read ─▶ decoded ─▶ Markdown
//	    ▲            │ each address     │        │ a stop, a bound: cut, and said
//	    └─ redirect ─┘ judged when it is dialled └ what came so far is shown
//
// The address is judged when it is dialled, whatever a name, a redirect or a
// second answer of the same name says: only global unicast addresses are let
// through, so that private networks, this machine, metadata services and the
// forms that hide them (IPv4 in IPv6, 6to4, NAT64) are not reached unless
// [Config.AllowPrivate] names the place. A redirect is followed on the same host,
// or to one that [Config.Allow] names; another one is told to the model, who
// can ask for it: an approval is for one place.
//
// Each bound is given in [Config]: time, bytes before and after decompression,
// redirects. HTML is brought into a shape of bounded depth before a library
// makes Markdown of it; other text is shown as it is; what is not text is
// refused with its type.
//
// An answer of any status is a result (TOL-02); an address that may not or
// can't be reached is a reply (TOL-03).
//
// # Who owns which goroutine
//
// The package starts none. net/http has its own for each connection; a
// connection belongs to one call, is used once and is closed before the call
// returns, and a dial under way is waited for.
//
// # What it never does
//
// It sends no cookies, no credentials and no referrer, reads no proxy from the
// environment, keeps no connection and no cache, runs no script and loads
// nothing that a page names.
package web
