package main

import (
	"runtime"
	"runtime/debug"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/event"
)

// build is what this binary is.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Format  int    `json:"journal_format"`
}

func buildVersion() build {
	b := build{Version: ripcord.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Format: event.Version}
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range bi.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}
