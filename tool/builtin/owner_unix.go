//go:build unix

package builtin

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner that was had, where that is allowed.
func keepOwner(f *os.File, was fs.FileInfo) {
	st, ok := was.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	_ = f.Chown(int(st.Uid), int(st.Gid)) // not ours to give away: the new file is ours, as with any editor
}
