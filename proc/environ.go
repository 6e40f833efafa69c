package proc

import (
	"os/exec"
	"path"
	"strings"
)

// DefaultDeny lists the names of variables that commands do not get, as
// patterns of [path.Match] that are compared without case. They hold what a
// tool has no business with: our own key and other people's secrets.
func DefaultDeny() []string {
	return []string{
		"RIPCORD_API_KEY", "RIPCORD_GUARDIAN*",
		"API_KEY", "APIKEY", "TOKEN", "ACCESS_KEY*", "PRIVATE_KEY*",
		"*_API_KEY", "*_APIKEY", "*_TOKEN", "*_ACCESS_KEY*", "*_PRIVATE_KEY*",
		"*SECRET*", "*PASSWORD*", "*PASSWD*", "*CREDENTIAL*", "AWS_*", "*_DSN", "DATABASE_URL",
	}
}

// quiet keeps commands from asking, paging and colouring: nobody looks.
var quiet = []string{
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat",
	"TERM=dumb", "NO_COLOR=1", "GIT_TERMINAL_PROMPT=0",
}

// Environ makes a command's environment from base: what a pattern of deny
// names is left out (nil means [DefaultDeny], an empty slice nothing), pagers,
// colours and prompts are switched off, and of a name given twice the last
// value stays. base is not changed.
func Environ(base []string, deny []string) []string {
	if deny == nil {
		deny = DefaultDeny()
	}
	out := make([]string, 0, len(base)+len(quiet))
	at := map[string]int{}
	for i, list := range [][]string{base, quiet} {
		for _, kv := range list {
			name, _, ok := strings.Cut(kv, "=")
			if !ok || name == "" || i == 0 && denied(name, deny) {
				continue
			}
			if j, twice := at[name]; twice {
				out[j] = kv
				continue
			}
			at[name] = len(out)
			out = append(out, kv)
		}
	}
	return out
}

func denied(name string, deny []string) bool {
	name = strings.ToUpper(name)
	for _, p := range deny {
		if ok, err := path.Match(strings.ToUpper(p), name); ok || err != nil {
			return true // a pattern that cannot be read hides rather than shows
		}
	}
	return false
}

// Shell is the path of bash where there is one, else "sh".
func Shell() string {
	if path, err := exec.LookPath("bash"); err == nil {
		return path
	}
	return "sh"
}
