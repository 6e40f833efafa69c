package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Runtime and guardian talk over a socket that keeps packets whole; a packet is
// one byte of kind and a JSON body.
type kind byte

const (
	// from the runtime
	kindPart  kind = 'p' // a piece of an order too long for one packet
	kindOrder kind = 'o' // the order's last piece, with descriptors
	kindAsk   kind = 'a' // first rung
	kindForce kind = 'f' // last rung
	kindKeep  kind = 'k' // body: keepWish; answered by kindKept
	kindEnd   kind = 'c' // let go of the pipe that is the command's input

	// from the guardian
	kindReady   kind = 'r'
	kindStarted kind = 's' // body: event.ProcessStarted
	kindFailed  kind = 'x' // body: string, nothing runs
	kindExited  kind = 'e' // body: ExitRecord; the leader's end
	kindGone    kind = 'g' // body: ExitRecord; nothing is left
	kindKept    kind = 'K' // body: keepAnswer
	kindHello   kind = 'h' // to a new runtime; body: hello, with what is held
)

// packetMax is well below what a socket buffer takes at the least.
const packetMax = 32 << 10

// order is a [Spec] as a guardian gets it. Bytes, not strings: a path or an
// argument need not be UTF-8.
type order struct {
	Owner, ID string
	Path      []byte
	Argv, Env [][]byte
	Dir       []byte
	Stdin     []byte
	Given     bool // there is a Stdin
	Spool     []byte
	Temporary bool // the spool has no name for others: no exit record
	Limit     int64
	Timeout   time.Duration
	Ask       Signal
	Ladder    interrupt.Ladder
	Live      bool
	Cgroup    string // folder in which to make the tree's own; empty: none
	Files     [3]bool
	TTY       bool
	Hold      bool // the last descriptor is the other end of Files[0]
}

// hello is what a guardian tells a runtime that adopts its tree.
type hello struct {
	Started event.ProcessStarted
	Exit    *ExitRecord
	TTY     bool // what is held, if anything, is a terminal's master
}

// keepWish says whether a tree is to outlive its runtime. Wishes are numbered,
// so that an answer which nobody waits for any more is not taken for another's.
type keepWish struct {
	N    int
	Keep bool
}

type keepAnswer struct {
	N   int
	Why string // not; empty for yes
}

type frame struct {
	from  *net.UnixConn
	kind  kind
	body  []byte
	files []*os.File
	err   error // the connection's end; the other fields but from are empty
}

// send never blocks for long: a peer that does not read loses its connection
// rather than ours losing time.
func send(c *net.UnixConn, k kind, body any, files ...*os.File) error {
	b := []byte{byte(k)}
	if body != nil {
		j, err := json.Marshal(body)
		if err != nil {
			return err
		}
		b = append(b, j...)
	}
	if err := c.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	for len(b) > packetMax {
		part := append([]byte{byte(kindPart)}, b[1:packetMax]...)
		if _, err := c.Write(part); err != nil {
			return err
		}
		b = append([]byte{byte(k)}, b[packetMax:]...)
	}
	var oob []byte
	if len(files) > 0 {
		var fds []int
		for _, f := range files {
			raw, err := f.SyscallConn() // Fd would take the caller's file off the poller
			if err == nil {
				err = raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
			}
			if err != nil {
				return err
			}
		}
		oob = unix.UnixRights(fds...)
	}
	_, _, err := c.WriteMsgUnix(b, oob, nil)
	return err
}

// receive reads one message, parts joined.
func receive(c *net.UnixConn) (f frame, err error) {
	f.from = c
	buf, oob := make([]byte, packetMax+1), make([]byte, unix.CmsgSpace(4*4))
	for {
		n, oobn, _, _, err := c.ReadMsgUnix(buf, oob)
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err != nil {
			return f, err
		}
		if oobn > 0 {
			files, err := passed(oob[:oobn])
			if err != nil {
				return f, err
			}
			f.files = append(f.files, files...)
		}
		f.body = append(f.body, buf[1:n]...)
		if f.kind = kind(buf[0]); f.kind != kindPart {
			return f, nil
		}
		if len(f.body) > 64<<20 {
			return f, errors.New("order is too long")
		}
	}
}

func passed(oob []byte) (files []*os.File, err error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

// decode reads a frame's body.
func decode[T any](f frame) (v T, err error) {
	if err := json.Unmarshal(f.body, &v); err != nil {
		return v, fmt.Errorf("message %q: %w", f.kind, err)
	}
	return v, nil
}

// socketOf makes a connection of a descriptor, which it takes over.
func socketOf(fd int, name string) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), name)
	if f == nil {
		return nil, fmt.Errorf("%s: no such descriptor", name)
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("%s: not a Unix socket", name)
	}
	return u, nil
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func stringsOf(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
