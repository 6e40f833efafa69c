//go:build unix && !linux

package proc

func newHost(o Options) (Host, error) {
	return newGroupHost(o, "guardians are for Linux; here a tree is a process group, which daemons can escape, and nobody ends it when this process is killed"), nil
}
