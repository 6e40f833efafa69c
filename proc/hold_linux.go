package proc

import "os"

// takeHold sorts out which of the passed descriptors the guardian itself keeps,
// and makes the one that the pump reads.
func (g *guardian) takeHold() (err error) {
	if !g.ord.Hold || len(g.files) == 0 {
		return nil
	}
	g.hold = g.files[len(g.files)-1]
	if g.ord.TTY {
		g.slave = g.files[0]
		g.master, err = duplicate(g.hold)
	}
	return err
}

// letGo closes the pipe that is the command's input.
func (g *guardian) letGo() {
	if g.hold != nil && !g.ord.TTY {
		g.hold.Close()
		g.hold = nil
	}
}

// newPump catches what a held terminal says, else what comes through out.
func (g *guardian) newPump(out *os.File) *pump {
	if g.master == nil {
		return newPump(out, g.caught)
	}
	out.Close()
	p := newPump(g.master, g.caught)
	p.tty = true
	return p
}
