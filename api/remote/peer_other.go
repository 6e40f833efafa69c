//go:build !linux && !darwin

package remote

import "net"

// peerUID does not know here: the socket's mode and its folder's guard it.
func peerUID(*net.UnixConn) (uid int, known bool) { return 0, false }
