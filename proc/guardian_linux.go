package proc

import (
	"errors"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
)

const (
	guardianName = "ripcord-guardian"
	guardianEnv  = "RIPCORD_GUARDIAN" // the runtime's pid
	controlFD    = 3
	liveFD       = 4
)

// phase is how far a guardian's tree is; see doc.go.
type phase int

const (
	phaseIdle    phase = iota // no order yet
	phaseRunning              // the command was started
	phaseAsked                // first rung
	phaseForced               // last rung, until nothing is left
	phaseGone                 // proved: no child is left to wait for
)

// guardian is one tree's keeper. Everything here belongs to the main
// goroutine, which alone forks, signals and reaps: a child's pid cannot be
// reused between a look and a signal. step is the one function that reads
// events; it runs on that goroutine.
type guardian struct {
	self    event.Owner
	ord     order
	phase   phase
	how     How // why the tree is being ended
	started event.ProcessStarted
	cgroup  string
	begun   time.Time
	record  *ExitRecord // set when the leader has ended
	told    bool        // the leader's end was told
	childless,
	orphan, // the runtime is gone
	keep,
	surrendered, // the survivors of an orphan tree were recorded
	abandoned bool // and given up
	files []*os.File

	hold   *os.File // the other end of the command's input; nil: none
	master *os.File // hold once more, the pump's; nil unless it is a terminal
	slave  *os.File // of that terminal, so that it is open whatever the command closes

	ctl      *net.UnixConn // nil once the runtime is gone
	frames   chan frame
	owner    chan int // a runtime's process ended: its watch's number
	watch    int
	ended    chan os.Signal
	listener *net.UnixListener

	spool *spool
	pump  *pump
	syncs sync.WaitGroup // of the record of the leader's end
	live  int            // descriptor of the live stream, -1 for none

	limit, rung, again, giveUp *time.Timer
	pause                      time.Duration
}

// guard runs a guardian if this process was started as one.
func guard() (code int, was bool) {
	parent, err := strconv.Atoi(os.Getenv(guardianEnv))
	if err != nil || os.Args[0] != guardianName {
		return 0, false
	}
	typ, err := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || typ != unix.SOCK_SEQPACKET {
		return 0, false
	}
	// The command is told to die with the thread that started it.
	runtime.LockOSThread()
	debug.SetGCPercent(50)
	g, err := newGuardian(parent)
	if err != nil {
		return 1, true
	}
	for g.step() {
	}
	g.leave()
	return 0, true
}

func newGuardian(parent int) (*guardian, error) {
	closeInherited()
	closeOnExec()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	_ = os.WriteFile("/proc/self/comm", []byte("ripcord-guard"), 0)
	_ = os.Chdir("/")
	_ = os.Unsetenv(guardianEnv)
	// Caught, not ignored: what is ignored would be ignored in commands too.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	g := &guardian{
		self: Self(), how: HowExited, live: liveFD,
		frames: make(chan frame), owner: make(chan int), ended: make(chan os.Signal, 1),
		limit: stopped(), rung: stopped(), again: stopped(), giveUp: stopped(),
	}
	signal.Notify(g.ended, unix.SIGCHLD)
	ctl, err := socketOf(controlFD, "control")
	if err != nil {
		return nil, err
	}
	g.attach(ctl, parent)
	if os.Getppid() != parent {
		return nil, errors.New("the runtime died meanwhile")
	}
	warm()
	return g, send(g.ctl, kindReady, nil)
}

// closeOnExec keeps commands from getting descriptors that are ours.
func closeOnExec() {
	const first = controlFD
	if unix.CloseRange(first, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	if openFDs(func(fd int) {
		if fd >= first {
			unix.CloseOnExec(fd)
		}
	}) != nil {
		unix.CloseOnExec(controlFD)
		unix.CloseOnExec(liveFD)
	}
}

// closeInherited closes what was passed down to us by whoever started the
// runtime: a guardian that keeps its tree may outlive them all, and somebody may
// wait for the end of a pipe. What this process opened by itself is marked to be
// closed on exec, and what is passed to a command comes with its order.
func closeInherited() {
	_ = openFDs(func(fd int) {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); fd > liveFD && err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	})
}

// openFDs calls do with each descriptor of this process.
func openFDs(do func(fd int)) error {
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil {
			do(fd)
		}
	}
	return err
}

// warm makes the codec build its tables before there is a command to wait for
// them.
func warm() {
	_, _ = decode[order](frame{body: []byte(`{"Path":"","Argv":[""],"Env":[""],"Ladder":{}}`)})
	_, _ = decode[bool](frame{body: []byte("true")})
	_ = writeExit("/dev/null/none", ExitRecord{})
	look(os.Getpid())
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// attach makes c the runtime's connection and watches the process behind it.
func (g *guardian) attach(c *net.UnixConn, pid int) {
	g.ctl = c
	g.orphan = false
	go readFrames(c, g.frames)
	g.watch++
	n := g.watch
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return // the connection's end tells, too
	}
	f := os.NewFile(uintptr(fd), "runtime")
	go func() {
		defer f.Close()
		if awaitEnd(f) == nil {
			g.owner <- n
		}
	}()
}

func readFrames(c *net.UnixConn, out chan<- frame) {
	for {
		f, err := receive(c)
		if err != nil {
			out <- frame{from: c, err: err}
			return
		}
		out <- f
	}
}

// step waits for one thing to happen and acts on it; false ends the guardian.
func (g *guardian) step() bool {
	select {
	case f := <-g.frames:
		g.take(f)
	case n := <-g.owner:
		if n == g.watch {
			g.hearOut()
			g.runtimeDied()
		}
	case <-g.ended:
		g.reap()
	case <-g.limit.C:
		g.timeOut()
	case <-g.rung.C:
		g.force()
	case <-g.again.C:
		g.sweep()
	case <-g.giveUp.C:
		g.surrender()
	}
	if g.phase != phaseIdle && g.childless {
		g.finish()
	}
	return g.phase != phaseGone && !g.abandoned && (g.phase != phaseIdle || g.ctl != nil)
}

// take acts on one message of the runtime.
func (g *guardian) take(f frame) {
	if f.from != g.ctl {
		g.newcomer(f)
		return
	}
	if f.err != nil {
		g.runtimeDied()
		return
	}
	switch f.kind {
	case kindOrder:
		g.begin(f)
	case kindAsk:
		g.bury()
		g.how = firstHow(g.how, HowStopped)
		g.ask()
	case kindForce:
		g.bury()
		if g.record != nil && !g.told && g.record.Signal == "SIGKILL" {
			g.record.How = firstHow(g.record.How, HowStopped) // the runtime empties a cgroup before we hear of it
		}
		g.how = firstHow(g.how, HowStopped)
		g.force()
	case kindKeep:
		want, err := decode[keepWish](f)
		if err == nil {
			err = g.setKeep(want.Keep)
		}
		g.tell(kindKept, keepAnswer{want.N, text(err)})
	case kindEnd:
		g.letGo()
	}
}

// hearOut takes what a runtime said before it died: the news of its death comes
// by another way and may be faster. It is not waited for long, since somebody
// else may hold the runtime's end of the connection.
func (g *guardian) hearOut() {
	limit := time.NewTimer(hearBound)
	defer limit.Stop()
	for g.ctl != nil && g.phase != phaseIdle { // nothing is begun for the dead
		select {
		case f := <-g.frames:
			g.take(f)
		case <-limit.C:
			return
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (g *guardian) tell(k kind, body any, files ...*os.File) {
	if g.ctl != nil {
		_ = send(g.ctl, k, body, files...) // a runtime that is gone shows by its connection
	}
}

// begin starts the command of an order.
func (g *guardian) begin(f frame) {
	o, err := decode[order](f)
	g.files = f.files
	if err == nil && g.phase == phaseIdle {
		g.ord = o
		err = g.start()
	}
	for _, f := range g.files {
		if f != g.hold && f != g.slave {
			f.Close()
		}
	}
	if err != nil {
		g.tell(kindFailed, err.Error())
		return
	}
	g.tell(kindStarted, g.started)
}

// start forks the command. The main goroutine's thread must not end before it.
func (g *guardian) start() error {
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		out.Close()
		return err
	}
	defer null.Close()
	if err := g.openSpool(); err != nil {
		out.Close()
		return err
	}
	if err := g.takeHold(); err != nil {
		out.Close()
		return err
	}
	stdio := [3]*os.File{null, w, w}
	if g.ord.Given {
		in, err := fileOf(g.ord.Stdin)
		if err != nil {
			out.Close()
			return err
		}
		defer in.Close()
		stdio[0] = in
	}
	g.ord.Stdin = nil
	for i, n := 0, 0; i < 3; i++ {
		if g.ord.Files[i] && n < len(g.files) {
			stdio[i] = g.files[n]
			n++
		}
	}
	if err := blocking(stdio[:]...); err != nil {
		out.Close()
		return err
	}
	pid, err := g.fork(stdio)
	if err != nil {
		out.Close()
		return err
	}
	g.begun = time.Now()
	g.phase = phaseRunning
	p, _ := look(pid) // not reaped: it is there
	g.started = event.ProcessStarted{
		Owner: g.ord.Owner, ID: g.ord.ID, PID: pid, PGID: pid, Start: p.start, Boot: g.self.Boot,
		Lane: string(LaneGuardian), Cgroup: g.cgroup, Guardian: &g.self, Command: strings.Join(stringsOf(g.ord.Argv), " "),
	}
	if g.cgroup != "" {
		g.started.Lane = string(LaneCgroup)
	}
	g.pump = g.newPump(out)
	go g.pump.run()
	if g.ord.Timeout > 0 {
		g.limit.Reset(g.ord.Timeout)
	}
	return nil
}

func (g *guardian) openSpool() error {
	base := string(g.ord.Spool)
	if !g.ord.Temporary {
		if err := os.Remove(base + ".exit"); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	f, err := os.OpenFile(base+".out", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	g.spool = newSpool(f, g.ord.Limit)
	if !g.ord.Live {
		unix.Close(g.live)
		g.live = -1
	}
	return nil
}

// fileOf gives bytes as a file that has no name.
func fileOf(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "stdin")
	if _, err := f.Write(b); err == nil {
		_, err = f.Seek(0, 0)
		return f, err
	}
	f.Close()
	return nil, err
}

func (g *guardian) fork(stdio [3]*os.File) (pid int, err error) {
	mark := markOf(g.self.PID, g.self.Start)
	attr := &syscall.ProcAttr{
		Dir:   string(g.ord.Dir),
		Env:   markEnv(stringsOf(g.ord.Env), mark),
		Files: []uintptr{stdio[0].Fd(), stdio[1].Fd(), stdio[2].Fd()},
		Sys: &syscall.SysProcAttr{
			Setsid: true, Pdeathsig: syscall.SIGKILL,
			Setctty: g.ord.TTY, Ctty: 0,
		},
	}
	path, argv := string(g.ord.Path), stringsOf(g.ord.Argv)
	if g.ord.Cgroup != "" {
		dir := g.ord.Cgroup + "/" + cgroupName(g.ord.ID, mark)
		if err := os.Mkdir(dir, 0o755); err == nil {
			if fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
				attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
				pid, err = syscall.ForkExec(path, argv, attr)
				unix.Close(fd)
				if err == nil {
					g.cgroup = dir
					return pid, nil
				}
				attr.Sys.UseCgroupFD = false
			}
			_ = unix.Rmdir(dir)
		}
	}
	return syscall.ForkExec(path, argv, attr)
}

// markEnv puts the tree's mark into an environment, after the marks of the
// trees that it stands in.
func markEnv(env []string, mark string) []string {
	for i, kv := range env {
		if outer, ok := strings.CutPrefix(kv, markName+"="); ok {
			env[i] = markName + "=" + outer + ":" + mark
			return env
		}
	}
	return append(env, markName+"="+mark)
}

// caught runs on the pump's goroutine: the spool and the live stream are its.
func (g *guardian) caught(b []byte) {
	g.spool.write(b)
	if g.live >= 0 {
		// A runtime that does not read loses the rest of this piece.
		_, err := unix.SendmsgN(g.live, b, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			unix.Close(g.live)
			g.live = -1
		}
	}
}
