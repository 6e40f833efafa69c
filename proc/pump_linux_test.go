package proc_test

import (
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/ripcord-go/ripcord/proc"
)

// More waits in a terminal than its line discipline counts: all of it is taken,
// and a terminal whose other end is closed gives what it has, which is no error.
//
// proves PRC-06, TOL-22
func TestATerminalsLastWordsAreTaken(t *testing.T) {
	for _, closed := range []bool{false, true} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		const size = 7000 // what the kernel holds for nobody who reads
		if n, err := slave.WriteString(strings.Repeat("x", size)); n != size || err != nil {
			t.Fatal(n, err)
		}
		if closed {
			slave.Close()
		}
		if got, err := proc.DrainTerminal(master); got != size || err != nil {
			t.Errorf("%d of %d bytes, %v", got, size, err)
		}
		if got, err := proc.DrainTerminal(master); got != 0 || err != nil {
			t.Errorf("then %d bytes, %v", got, err)
		}
		slave.Close()
		master.Close()
	}
}
