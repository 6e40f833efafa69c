package proc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/proc"
)

// A spool gives back the output's own first and last bytes, whatever the sizes
// of the writes, and says exactly how many are missing.
//
// proves B168, PRC-06
func TestASpoolKeepsHeadAndTailOfAnyOutput(t *testing.T) {
	const kept = 4096 // the least that a spool keeps
	r := rand.New(rand.NewPCG(7, 7))
	for round := range 100 {
		base := filepath.Join(t.TempDir(), "s")
		f, err := os.Create(base + ".out")
		if err != nil {
			t.Fatal(err)
		}
		write, dropped := proc.NewSpool(f, kept)
		var all []byte
		for range r.IntN(40) {
			p := make([]byte, r.IntN(700))
			if r.IntN(20) == 0 {
				p = make([]byte, r.IntN(3*kept))
			}
			for i := range p {
				p[i] = 'a' + byte((len(all)+i)%23)
			}
			write(p)
			all = append(all, p...)
			for _, limit := range []int{0, 1 + r.IntN(2*kept)} {
				checkOutput(t, base, all, limit, kept)
			}
		}
		if want := max(0, int64(len(all))-kept); dropped() != want {
			t.Fatalf("round %d: %d dropped, want %d", round, dropped(), want)
		}
		f.Close()
	}
}

func checkOutput(t *testing.T, base string, all []byte, limit int, kept int) {
	t.Helper()
	out, err := proc.ReadOutput(base, limit)
	if err != nil {
		t.Fatal(err)
	}
	if out.Bytes != int64(len(all)) || out.Dropped != int64(max(0, len(all)-kept)) || out.Binary || out.File != base+".out" {
		t.Fatalf("of %d bytes: %+v", len(all), out)
	}
	if limit >= 100 && len(out.Text) > limit {
		t.Fatalf("%d bytes of text within %d", len(out.Text), limit)
	}
	if !out.Truncated {
		if out.Text != string(all) {
			t.Fatalf("%d bytes within %d are not the output", len(all), limit)
		}
		return
	}
	if len(all) <= kept && (limit == 0 || len(all) <= limit) {
		t.Fatalf("%d bytes were cut to %d", len(all), limit)
	}
	head, rest, ok := strings.Cut(out.Text, "\n… ")
	var n int
	_, err = fmt.Sscanf(rest, "%d bytes omitted …\n", &n)
	_, tail, ok2 := strings.Cut(rest, " bytes omitted …\n")
	if !ok || !ok2 || err != nil || n != len(all)-len(head)-len(tail) {
		t.Fatalf("%q does not say what is missing of %d", out.Text, len(all))
	}
	if !bytes.HasPrefix(all, []byte(head)) || !bytes.HasSuffix(all, []byte(tail)) {
		t.Fatalf("head or tail of %d bytes within %d is not the output's", len(all), limit)
	}
	if limit == 0 && len(head)+len(tail) != kept {
		t.Fatalf("%d of %d kept bytes given", len(head)+len(tail), kept)
	}
}

// A disk that is full costs output, not the command; the count stays right.
//
// proves B168
func TestASpoolThatCannotBeWrittenCounts(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	write, dropped := proc.NewSpool(full, 0)
	write(make([]byte, 1000))
	write(make([]byte, 24))
	if dropped() != 1024 {
		t.Errorf("%d dropped", dropped())
	}
}

// What another program wrote in the spool's place is read as it is, a forged
// trailer included.
func TestAForgedSpoolIsReadAsText(t *testing.T) {
	base := filepath.Join(t.TempDir(), "s")
	for _, b := range [][]byte{
		{}, []byte("ripcord-spool-1\n"), append([]byte("ripcord-spool-1\n"), make([]byte, 48)...),
		append([]byte("ripcord-spool-1\n"), bytes.Repeat([]byte{0xff}, 48)...),
		slices.Concat([]byte("x"), []byte("ripcord-spool-1\n"), bytes.Repeat([]byte{0x7f}, 48)),
	} {
		if err := os.WriteFile(base+".out", b, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := proc.ReadOutput(base, 0)
		if err != nil || out.Bytes != int64(len(b)) || !utf8.ValidString(out.Text) {
			t.Errorf("%q: %+v, %v", b, out, err)
		}
	}
	if _, err := proc.ReadOutput(base+"none", 0); err == nil {
		t.Error("a spool that is not there was read")
	}
	if _, err := proc.ReadExit(base + "none"); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("no record: %v", err)
	}
	if err := os.WriteFile(base+".exit", []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := proc.ReadExit(base); err == nil {
		t.Error("half a record was read")
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		if _, isPath := err.(*os.PathError); isPath {
			return err
		}
		err = u.Unwrap()
	}
}

// proves PRC-07
func TestEnvironHidesSecretsAndQuietsCommands(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/home/x", "SSH_AUTH_SOCK=/tmp/s", "TOKENS=3", "broken", "=odd", "LANG=C", "LANG=C.UTF-8", "EMPTY=",
		"OPENAI_API_KEY=sk", "RIPCORD_API_KEY=k", "GITHUB_TOKEN=t", "my_secret_thing=s", "PGPASSWORD=p", "AWS_REGION=r",
		"AWS_PROFILE=w", "AWS_DEFAULT_REGION=r", "AWS_SESSION_TOKEN=x", "AWS_ROLE=x", "DB_PASS=x", "MYSQL_PWD=x", "PGPASS=x", "STRIPE_KEY=x",
		"OPENAI_KEY=x", "GH_PAT=x", "NPM_CONFIG__AUTH=x", "SESSION_COOKIE=x", "AUTH_HEADER=x", "HTTP_AUTHORIZATION=x",
		"PWD=/w", "OLDPWD=/v", "XAUTHORITY=/h/x", "GIT_AUTHOR_NAME=n", "GIT_ASKPASS=/bin/ask", "MANPATH=/m", "COMPASS=n",
		"DB_PASSWORD_FILE=f", "SENTRY_DSN=d", "RIPCORD_GUARDIAN=1", "PAGER=less", "TERM=xterm", "GOOGLE_APPLICATION_CREDENTIALS=c",
		"API_KEY=a", "ApiKey=a", "TOKEN=t", "ACCESS_KEY=a", "ACCESS_KEY_ID=a", "PRIVATE_KEY=p",
	}
	before := slices.Clone(base)
	got := proc.Environ(base, nil)
	for _, want := range []string{"PATH=/bin", "HOME=/home/x", "SSH_AUTH_SOCK=/tmp/s", "TOKENS=3", "LANG=C.UTF-8", "EMPTY=",
		"AWS_PROFILE=w", "AWS_REGION=r", "AWS_DEFAULT_REGION=r", "PWD=/w", "OLDPWD=/v", "XAUTHORITY=/h/x", "GIT_AUTHOR_NAME=n",
		"GIT_ASKPASS=/bin/ask", "MANPATH=/m", "COMPASS=n", "PAGER=cat", "GIT_PAGER=cat", "TERM=dumb", "NO_COLOR=1"} {
		if n := count(got, want); n != 1 {
			t.Errorf("%s stands %d times", want, n)
		}
	}
	for _, kv := range got {
		name, _, _ := strings.Cut(kv, "=")
		for _, secret := range []string{"KEY", "_TOKEN", "SECRET", "PASSWORD", "DSN", "GUARDIAN", "CREDENTIAL"} {
			if upper := strings.ToUpper(name); upper == "TOKEN" || strings.Contains(upper, secret) {
				t.Errorf("%s came through", kv)
			}
		}
		if strings.HasSuffix(kv, "=x") {
			t.Errorf("%s came through", kv)
		}
		if strings.HasPrefix(kv, "=") || kv == "broken" || kv == "LANG=C" {
			t.Errorf("%q came through", kv)
		}
	}
	if !slices.Equal(base, before) {
		t.Error("the base was changed")
	}
	if got := proc.Environ(base, []string{}); count(got, "GITHUB_TOKEN=t") != 1 {
		t.Error("an empty list hides something")
	}
	if got := proc.Environ(base, []string{"home", "["}); count(got, "HOME=/home/x") != 0 || count(got, "PATH=/bin") != 0 {
		t.Error("a list's own names, or a pattern that cannot be read, hide nothing")
	}
	// The last that names a variable decides; what cannot be read opens nothing.
	got = proc.Environ(base, append(proc.DefaultDeny(), "!GH_*", "!*_token", "github*", "!["))
	if count(got, "GH_PAT=x") != 1 || count(got, "AWS_SESSION_TOKEN=x") != 1 || count(got, "GITHUB_TOKEN=t") != 0 || count(got, "STRIPE_KEY=x") != 0 {
		t.Errorf("exceptions: %v", got)
	}
}

func count(list []string, want string) (n int) {
	for _, s := range list {
		if s == want {
			n++
		}
	}
	return n
}
