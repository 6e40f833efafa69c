package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ripcord-go/ripcord/api"
)

// longest is how many bytes a socket's path may have on every system we know:
// 104 with the byte that ends it.
const longest = 103

// SocketPath returns where the session in sessionDir has its control socket:
// "ctl" in its folder, or, where that would be over the system's limit, a name
// made from it in runtimeDir. Both ends must give the same folders.
func SocketPath(sessionDir, runtimeDir string) string {
	p := filepath.Join(sessionDir, "ctl")
	if len(p) <= longest {
		return p
	}
	sum := sha256.Sum256([]byte(p))
	return filepath.Join(runtimeDir, "ripcord-"+hex.EncodeToString(sum[:12]))
}

// Listen makes a Unix socket at path that only this user can reach: mode 0600
// before it has its name, and every peer's uid is checked where the system
// tells it. A socket left by a dead process is replaced; the caller must own
// what the socket stands for, for a live one's is replaced as well. Closing the
// listener removes the name if it is still its own.
func Listen(path string) (net.Listener, error) {
	if len(path) > longest {
		return nil, fmt.Errorf("the control socket's path %s is over %d bytes; use SocketPath", path, longest)
	}
	making := path[:len(path)-1] + "~"
	if err := os.Remove(making); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove a half-made control socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: making, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make the control socket %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	own, err := publish(making, path)
	if err != nil {
		_ = l.Close()
		_ = os.Remove(making)
		return nil, fmt.Errorf("make the control socket %s: %w", path, err)
	}
	return &listener{l, path, own}, nil
}

func publish(making, path string) (os.FileInfo, error) {
	if err := os.Chmod(making, 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(making, path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

type listener struct {
	*net.UnixListener
	path string
	own  os.FileInfo
}

// Accept returns the next connection of this user; others are closed without
// a word.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, known := peerUID(c); !known || uid == os.Geteuid() {
			return c, nil
		}
		_ = c.Close()
	}
}

func (l *listener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.own) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}

// Serve answers on l with svc until ctx ends, then closes l and every
// connection, and returns when all of its goroutines have ended. The error is
// nil after an end by ctx. faults are those of [Handler].
func Serve(ctx context.Context, l net.Listener, svc api.Service, faults ...func(error)) error {
	srv := &http.Server{
		Handler:           Handler(svc, faults...),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	conns := tracked(srv)
	stopped := make(chan struct{})
	defer close(stopped)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		select {
		case <-ctx.Done():
		case <-stopped:
		}
		_ = srv.Close()
	}()
	err := srv.Serve(l)
	if ctx.Err() == nil {
		_ = l.Close()
		return fmt.Errorf("the control socket failed: %w", err)
	}
	<-closed
	conns.Wait()
	return nil
}
