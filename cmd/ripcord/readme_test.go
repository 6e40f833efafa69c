package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The library example on the README's page is a program that builds, and is as
// short as it is said to be.
//
// proves LIB-01
func TestTheReadmesProgramBuilds(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(page), "```go\n")
	code, _, closed := strings.Cut(code, "```")
	if !found || !closed {
		t.Fatal("there is no Go program on the page")
	}
	_, body, _ := strings.Cut(code, "func main() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	if n := strings.Count(body, "\n") + 1; n > 30 {
		t.Errorf("embedding takes %d lines, more than 30", n)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
