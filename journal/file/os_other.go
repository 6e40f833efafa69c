//go:build unix && !linux

package file

import "golang.org/x/sys/unix"

func datasync(fd int) error { return unix.Fsync(fd) }

// allocate writes zeros: not every system can be asked for space.
func allocate(fd int, n int64) error {
	zeros := make([]byte, 1<<12)
	for at := int64(0); at < n; at += int64(len(zeros)) {
		if _, err := unix.Pwrite(fd, zeros[:min(int64(len(zeros)), n-at)], at); err != nil {
			return err
		}
	}
	return nil
}

func bootID() string { return "" }

func startTime(int) uint64 { return 0 }
