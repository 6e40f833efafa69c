package proc

import (
	"os/exec"
	"path"
	"slices"
	"strings"
)

// DefaultDeny lists the names of variables that commands do not get, as
// patterns for [Environ]. They hold what a tool has no business with: our own
// key and other people's secrets.
func DefaultDeny() []string {
	return []string{
		"RIPCORD_API_KEY", "RIPCORD_GUARDIAN*",
		"API_KEY", "APIKEY", "TOKEN", "ACCESS_KEY*", "PRIVATE_KEY*",
		"*_API_KEY", "*_APIKEY", "*_TOKEN", "*_ACCESS_KEY*", "*_PRIVATE_KEY*",
		"*_KEY", "*_PASS", "PGPASS", "*_PAT", "*_PWD", "*COOKIE*",
		"*SECRET*", "*PASSWORD*", "*PASSWD*", "*CREDENTIAL*", "*_DSN", "DATABASE_URL",
		"AWS_*", "!AWS_PROFILE", "!AWS_REGION", "!AWS_DEFAULT_REGION",
		// A place, a file, and who wrote something are no secrets.
		"*AUTH*", "!SSH_AUTH_SOCK", "!XAUTHORITY", "!GIT_AUTHOR_*", "!*_AUTHOR", "!AUTHOR",
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
// value stays. Patterns are those of [path.Match] and compared without case; a
// "!" before one lets what it names through, and of all that name a variable
// the last decides. base is not changed.
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
	for _, p := range slices.Backward(deny) {
		p, shows := strings.CutPrefix(p, "!")
		ok, err := path.Match(strings.ToUpper(p), name)
		switch {
		case err != nil && !shows:
			return true // a pattern that cannot be read hides rather than shows
		case err == nil && ok:
			return !shows
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
