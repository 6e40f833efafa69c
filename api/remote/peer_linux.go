package remote

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID asks the system who is at the other end.
func peerUID(c *net.UnixConn) (uid int, known bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, true
	}
	uid = -1 // nobody: an answer that cannot be had is a refusal
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	return uid, true
}
