package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// socketMax is what a socket's path may take on every system.
const socketMax = 100

// socketPath returns where a kept tree's guardian listens: beside the spool,
// under a short name if the spool's is too long.
func socketPath(spool string) string {
	name := filepath.Base(spool) + ".sock"
	if len(name) > 64 {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:12]) + ".sock"
	}
	return filepath.Join(filepath.Dir(spool), name)
}

// viaFolder calls use with a path to name that is short enough for a socket
// address however deep its folder is.
func viaFolder(path string, use func(path string) error) error {
	if len(path) <= socketMax {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return use("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path))
}

// setKeep says whether the tree outlives its runtime. A kept tree's guardian
// listens, so that the next runtime finds it.
func (g *guardian) setKeep(keep bool) error {
	switch {
	case g.phase == phaseIdle:
		return errors.New("nothing runs")
	case keep && g.ord.Temporary:
		return errors.New("a tree with a temporary spool cannot be kept: give it a spool")
	case keep == g.keep:
		return nil
	case !keep:
		g.keep = false
		g.stopListening()
		return nil
	}
	path := socketPath(string(g.ord.Spool))
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	err := viaFolder(path, func(short string) (err error) {
		g.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: short, Net: "unixpacket"})
		return err
	})
	if err != nil {
		return err
	}
	g.listener.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		g.stopListening()
		return err
	}
	g.keep = true
	go acceptRuntimes(g.listener, g.frames)
	return nil
}

func (g *guardian) stopListening() {
	if g.listener != nil {
		g.listener.Close()
		_ = os.Remove(socketPath(string(g.ord.Spool)))
		g.listener = nil
	}
}

// acceptRuntimes hands on the first message of whoever calls, if it is of our
// user. It ends with the listener.
func acceptRuntimes(l *net.UnixListener, out chan<- frame) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		if cred, err := peer(c); err != nil || int(cred.Uid) != os.Geteuid() {
			c.Close()
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		f, err := receive(c)
		if err != nil || f.kind != kindHello {
			c.Close()
			continue
		}
		_ = c.SetReadDeadline(time.Time{})
		out <- f
	}
}

func peer(c *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); e != nil {
		return nil, e
	}
	return cred, err
}

// newcomer lets a runtime take a kept tree over, or says that it is taken.
func (g *guardian) newcomer(f frame) {
	if f.kind != kindHello {
		return // a late word of a runtime that is gone
	}
	cred, err := peer(f.from)
	if err != nil || g.ctl != nil || !g.keep {
		_ = send(f.from, kindFailed, "another runtime holds this tree")
		f.from.Close()
		return
	}
	g.attach(f.from, int(cred.Pid))
	h := hello{Started: g.started, TTY: g.ord.TTY}
	h.Started.Keep = true
	if g.told {
		h.Exit = g.record
	}
	if g.hold != nil {
		g.tell(kindHello, h, g.hold)
		return
	}
	g.tell(kindHello, h)
}

// dialGuardian reaches the guardian of a kept tree, which must be process pid.
func dialGuardian(spool string, pid int) (*net.UnixConn, error) {
	var c *net.UnixConn
	err := viaFolder(socketPath(spool), func(short string) (err error) {
		c, err = net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: short, Net: "unixpacket"})
		return err
	})
	if err != nil {
		return nil, err
	}
	cred, err := peer(c)
	if err == nil && (int(cred.Pid) != pid || int(cred.Uid) != os.Geteuid()) {
		err = fmt.Errorf("process %d of user %d listens there", cred.Pid, cred.Uid)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
