package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem names what dir is on; volatile says that it lives in memory.
func fileSystem(dir string) (kind string, volatile bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "unknown file system", false
	}
	switch int64(st.Type) {
	case unix.TMPFS_MAGIC:
		return "tmpfs", true
	case unix.RAMFS_MAGIC:
		return "ramfs", true
	case unix.EXT4_SUPER_MAGIC:
		return "ext4", false
	case unix.XFS_SUPER_MAGIC:
		return "xfs", false
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs", false
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs", false
	case unix.NFS_SUPER_MAGIC:
		return "nfs", false
	}
	return fmt.Sprintf("file system %#x", st.Type), false
}
