package web

import "net/netip"

// Judge says why an address may not be reached.
func Judge(addr string) string { return judge(netip.MustParseAddr(addr)) }

// Tidied brings HTML into shape.
func Tidied(in string) (title, out string) { return tidied(in) }

// Plain takes the tags out.
func Plain(in string) string { return plain(in) }

// Depth is the deepest that tidied HTML may be.
const Depth = mostDeep
