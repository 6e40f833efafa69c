package guardtest

import (
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// groups are the files of the Go distribution that are innocent streams, by
// kind: patterns below its root, and how many of each pattern's files, spread
// over the sorted list, are taken.
var groups = []struct {
	kind    string
	pattern string
	take    int
}{
	{"go source", "src/net/http/*.go", 12},
	{"go source", "src/runtime/*.go", 12},
	{"go source", "src/cmd/compile/internal/ssa/*.go", 10},
	{"go tests", "src/encoding/json/*_test.go", 8},
	{"go tests", "src/strconv/*_test.go", 8},
	{"go tables", "src/unicode/tables.go", 1},
	{"go tables", "src/vendor/golang.org/x/text/unicode/norm/tables*.go", 2},
	{"go tables", "src/vendor/golang.org/x/net/idna/tables*.go", 3},
	{"go tables", "src/math/bits/*_tables.go", 1},
	{"assembly", "src/runtime/duff_*.s", 8},
	{"assembly", "src/crypto/*/*.s", 6},
	{"interface lists", "api/*.txt", 10},
	{"scripts", "src/cmd/go/testdata/script/*.txt", 14},
	{"programs of tests", "test/*.go", 16},
	{"expected output", "test/*.out", 8},
	{"pages", "doc/*.html", 2},
	{"pages", "misc/wasm/*.html", 2},
	{"pages", "src/cmd/vendor/github.com/google/pprof/internal/driver/html/*", 8},
	{"page tests", "src/*/*/testdata/*.html", 6},
	{"json", "src/*/testdata/*.json", 4},
	{"json", "src/*/*/testdata/*.json", 6},
	{"sums", "src/go.sum", 1},
	{"sums", "src/cmd/go.sum", 1},
	{"text", "src/testdata/*.txt", 4},
	{"text", "src/*/testdata/*.txt", 6},
	{"text", "src/*/*/testdata/*.txt", 6},
	{"encoded", "src/debug/*/testdata/*.base64", 6},
	{"keys", "src/crypto/*/testdata/*.pem", 6},
	{"certificates", "src/crypto/x509/testdata/*.pem", 4},
	{"notes", "doc/next/*/*/*.md", 4},
	{"notes", "*.md", 4},
	{"licences", "src/cmd/vendor/*/*/*/LICENSE", 4},
}

// largest bounds a file that is read.
const largest = 4 << 20

// Files are files of the Go distribution that this program was built with. An
// error says why there are none.
func Files() ([]Stream, error) {
	root := build.Default.GOROOT
	var all []Stream
	for _, g := range groups {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(g.pattern)))
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", g.pattern, err)
		}
		take := min(g.take, len(names))
		for i := range take {
			name := names[i*len(names)/take]
			info, err := os.Stat(name)
			if err != nil {
				return nil, fmt.Errorf("file of the Go distribution: %w", err)
			}
			if !info.Mode().IsRegular() || info.Size() > largest {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("file of the Go distribution: %w", err)
			}
			if utf8.Valid(b) {
				local, _ := filepath.Rel(root, name)
				all = append(all, Stream{Kind: "file: " + g.kind, Name: filepath.ToSlash(local), Text: string(b)})
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no file of the Go distribution below %q: set GOROOT to a whole one", root)
	}
	return all, nil
}
