package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/config"
)

// maxInstructions bounds what AGENTS.md files add to the system text, bytes.
const maxInstructions = 64 << 10

// system is the text that every request begins with.
func system(cwd string) string {
	var b strings.Builder
	b.WriteString(`You are a coding agent in a terminal. You work in the folder ` + cwd + `.
Look before you change anything: read files and run commands to learn what is
there. Make small changes and check each by running what checks it. Say what
you did and what you saw, briefly, and say so when something did not work.

A turn of yours may be stopped at any moment, and the process may die. A result
that says a call was stopped, never ran or has an unknown outcome means what it
says: look at the state of things before you repeat an unknown one.
`)
	if text := instructions(cwd); text != "" {
		b.WriteString("\nInstructions of this project:\n\n" + text)
	}
	return b.String()
}

// instructions joins the AGENTS.md files from the repository's top down to the
// workspace; outside a repository only the workspace's. What is over the bound
// is cut off, and said so.
func instructions(cwd string) string {
	var files []string
	top := false
	for dir := cwd; ; dir = filepath.Dir(dir) {
		files = append(files, filepath.Join(dir, "AGENTS.md"))
		if top = exists(filepath.Join(dir, ".git")); top || dir == filepath.Dir(dir) {
			break
		}
	}
	if !top {
		files = files[:1]
	}
	slices.Reverse(files)
	var parts []string
	for _, f := range files {
		if text, err := config.ReadFound(f); err == nil && len(text) > 0 {
			parts = append(parts, strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"))
		}
	}
	all := strings.Join(parts, "\n\n")
	if len(all) > maxInstructions {
		all = strings.ToValidUTF8(all[:maxInstructions], "") + "\n[cut off here: AGENTS.md is over 64 KiB]"
	}
	return all
}
