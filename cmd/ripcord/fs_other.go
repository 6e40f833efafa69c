//go:build !linux

package main

// fileSystem does not know here.
func fileSystem(string) (kind string, volatile bool) { return "file system not known", false }
