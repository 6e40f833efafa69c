package web

import (
	"fmt"
	"net/netip"
	"slices"
)

// blockedError says that an address may not be reached. It is a reply.
type blockedError struct {
	host string
	addr netip.Addr
	why  string
}

func (e *blockedError) Error() string {
	return fmt.Sprintf("%s is at %s, %s: such addresses are reached only if a rule allows the host", e.host, e.addr, e.why)
}

// judge says why addr may not be reached, "" for global unicast.
func judge(addr netip.Addr) string {
	if addr.Zone() != "" {
		return "an address of one network link"
	}
	addr = addr.Unmap() // IPv4 in IPv6
	switch {
	case addr.IsLoopback():
		return "this machine"
	case addr.IsUnspecified():
		return "no address"
	case addr.IsPrivate():
		return "a private network"
	case addr.IsLinkLocalUnicast():
		return "an address of one network link"
	case addr.IsMulticast():
		return "a group of machines"
	case addr.Is4():
		return judge4(addr)
	}
	return judge6(addr)
}

func judge4(addr netip.Addr) string {
	in := func(prefixes ...string) bool { return within(addr, prefixes...) }
	switch {
	case in("100.64.0.0/10"):
		return "a provider's private network"
	case in("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"):
		return "a reserved address"
	}
	return ""
}

// judge6 lets global unicast through and, of the forms that carry an IPv4
// address, only the translation prefix, judged by what it carries: networks
// without IPv4 reach the rest of the world by it.
func judge6(addr netip.Addr) string {
	in := func(prefixes ...string) bool { return within(addr, prefixes...) }
	switch {
	case in("64:ff9b::/96"):
		b := addr.As16()
		if why := judge(netip.AddrFrom4([4]byte(b[12:]))); why != "" {
			return "a translated address of " + why
		}
		return ""
	case in("2002::/16"):
		return "a 6to4 address"
	case !in("2000::/3"), in("2001::/23", "2001:db8::/32", "3fff::/20"):
		return "a reserved address"
	}
	return ""
}

func within(addr netip.Addr, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return netip.MustParsePrefix(p).Contains(addr) })
}
