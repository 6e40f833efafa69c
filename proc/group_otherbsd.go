//go:build dragonfly || freebsd || netbsd || openbsd

package proc

const noteStatus = 0 // the status comes with the exit
