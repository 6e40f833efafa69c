package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ripcord-go/ripcord/config"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	text := "model = \"small\"\nbase_url = \"http://strangers/v1\"\n"
	if err := os.WriteFile(filepath.Join(dir, ".ripcord.toml"), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	s, err := config.Load(config.Options{Env: func(string) string { return "" }, Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Model, s.BaseURL == "", s.Project.Trust, s.Ignored[0].Key, s.Ignored[0].Origin.Line)
	// Output: small true untrusted base_url 2
}
