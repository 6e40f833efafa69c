package ripcord_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lenient matches what makes the scripted model accept any history: its option,
// and the line of a script.
var lenient = regexp.MustCompile("(?m)\\bLenient\\b|^[\\s\"`]*lenient\\b")

// A history that no provider would take is answered with a 400 wherever a test
// asks a model: the scripted model is strict unless it is told otherwise, and
// nobody but its own tests tells it so.
//
// proves PRF-01
func TestEveryTestAsksAStrictModel(t *testing.T) {
	spared := map[string]bool{
		"model/scripted": true, // where leniency is made and tested
		"bench":          true, // what is measured is not the judge
	}
	looked := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || spared[filepath.ToSlash(path)]):
			return filepath.SkipDir
		}
		if d.IsDir() || path == "strict_test.go" || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") && !strings.Contains(path, "test/") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		looked++
		if at := lenient.FindIndex(b); at != nil {
			t.Errorf("%s:%d: a lenient model hides a history that providers refuse", path, 1+bytes.Count(b[:at[0]], []byte{'\n'}))
		}
		return nil
	})
	if err != nil || looked < 50 {
		t.Errorf("%d files looked at, %v", looked, err)
	}
	for _, planted := range []string{"scripted.Options{Lenient: true}", "start(t, `\nlenient\nanswer"} {
		if !lenient.MatchString(planted) {
			t.Errorf("%q would not be seen", planted)
		}
	}
}
