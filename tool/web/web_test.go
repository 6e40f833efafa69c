package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/tool/web"
)

type m = map[string]any

// local lets the test's own servers be reached, as a rule would.
func local(place string) bool {
	return strings.HasPrefix(place, "127.0.0.1:") || strings.HasPrefix(place, "[::1]:")
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

func run(t *testing.T, c web.Config, args m, sig interrupt.Signal) tool.Ended {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	e, left := (&tool.Run{Tool: web.New(c), Call: &tool.Call{ID: "c_1", Name: "web_fetch", Args: raw, Dir: t.TempDir()}, Signal: sig, Book: &tooltest.Book{}, Inline: 1 << 20, Bound: 20 * time.Second}).Do(t.Context())
	if left != nil {
		t.Error("the call was left behind")
	}
	return e
}

func ok(t *testing.T, c web.Config, args m) string {
	t.Helper()
	e := run(t, c, args, nil)
	if e.Outcome != event.CallFinished || !e.Result.Success {
		t.Errorf("%v: %s %s", args, e.Outcome, e.Err)
	}
	return e.Result.Content.Text()
}

func refused(t *testing.T, c web.Config, args m, want string) {
	t.Helper()
	e := run(t, c, args, nil)
	if e.Outcome != event.CallFinished || e.Result.Success || !strings.Contains(e.Err, want) {
		t.Errorf("%v: %s, success %v, %q%q, want %q", args, e.Outcome, e.Result.Success, e.Err, e.Result.Content.Text(), want)
	}
}

func has(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%q lacks %q", got, p)
		}
	}
}

// proves TOL-25, TOL-02: HTML comes as Markdown, text as it is, any status is a result.
func TestAPageComesAsTextWhateverItsStatus(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" || r.UserAgent() != "ripcord" {
			t.Errorf("it sends %v", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<html><head><title> A &amp; B </title><script>if (a < b) "</p>"</script></head><body><h1>Top</h1><p>one <b>two</b> <a href="/x?y=1">link</a>
<ul><li>a<li>b</ul><table><tr><th>k<th>v<tr><td>1<td>2</table><img src="data:image/png;base64,AAAA" alt="pic"></body></html>`)
		case "/data":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"a": "<b>"}`)
		case "/bin":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG")
		case "/sniff":
			w.Header().Set("Content-Type", "application/octet-stream")
			fmt.Fprint(w, "\x7fELF\x00\x01")
		case "/long":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, strings.Repeat("é", 100))
		case "/moved":
			http.Redirect(w, r, "/data", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "not for you")
		}
	})
	c := web.Config{AllowPrivate: local}
	got := ok(t, c, m{"url": at + "/page#part"})
	has(t, got, at+"/page (200 OK, text/html, ", "Title: A & B", "# Top", "one **two** [link]("+at+"/x?y=1)", "- a\n- b", "| k | v |", "| 1 | 2 |")
	if strings.Contains(got, "if (a") || strings.Contains(got, "AAAA") {
		t.Errorf("%q", got)
	}
	has(t, ok(t, c, m{"url": at + "/page", "raw": true}), "<title> A &amp; B </title>")
	has(t, ok(t, c, m{"url": at + "/data"}), `{"a": "<b>"}`, "application/json")
	has(t, ok(t, c, m{"url": at + "/bin"}), "it is image/png, which is not text")
	has(t, ok(t, c, m{"url": at + "/sniff"}), "not text", "application/octet-stream")
	has(t, ok(t, c, m{"url": at + "/none"}), "403 Forbidden", "not for you")
	has(t, ok(t, c, m{"url": at + "/moved"}), at+"/data (200 OK", `{"a": "<b>"}`)
	c.Shown = 51
	has(t, ok(t, c, m{"url": at + "/long"}), "\n\n"+strings.Repeat("é", 25)+"\n[there is more: 50 of 200 bytes shown so far; go on with offset=50]")
	if got := ok(t, c, m{"url": at + "/long", "offset": 150}); !strings.HasSuffix(got, "\n\n"+strings.Repeat("é", 25)+"\n") {
		t.Errorf("%q", got)
	}
	has(t, ok(t, c, m{"url": at + "/long", "offset": 900}), "[the text ends at 200]")
}

// proves TOL-25: only global addresses are let through, however they are written.
func TestAddressesThatAreNotGlobalAreBlocked(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::1",
		"2001::1", "2001:db8::1", "fc00::1", "fd12::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1", "100::1", "3fff::1", "4000::1", "5f00::1"} {
		if web.Judge(addr) == "" {
			t.Errorf("%s is let through", addr)
		}
	}
	for _, addr := range []string{"8.8.8.8", "1.1.1.1", "100.63.0.1", "100.128.0.1", "172.32.0.1", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450::1", "64:ff9b::808:808"} {
		if why := web.Judge(addr); why != "" {
			t.Errorf("%s is blocked: %s", addr, why)
		}
	}
}

// proves TOL-25, TOL-03: what may not be fetched is refused and never reached.
func TestWhatMayNotBeFetchedIsNeverReached(t *testing.T) {
	var hits atomic.Int32
	at := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	port := at[strings.LastIndex(at, ":"):]
	none := web.Config{}
	for raw, want := range map[string]string{
		at:                                      "this machine: such addresses are reached only if a rule allows the host",
		"http://localhost" + port:               "this machine",
		"http://x.localhost" + port:             "this machine",
		"http://[::ffff:127.0.0.1]" + port:      "this machine",
		"http://[::1]" + port:                   "this machine",
		"http://0.0.0.0" + port:                 "no address",
		"http://169.254.169.254/latest":         "network link",
		"ftp://example.com/":                    "only http and https",
		"file:///etc/passwd":                    "only http and https",
		"":                                      "only http and https",
		"http://":                               "names no host",
		"http:example.com":                      "names no host",
		"http://me:secret@example.com/":         "user name or password",
		"http://\u0435xample.com/":              "xn-- form",
		"http://exa mple.com/":                  "can't be read",
		"http://a/" + strings.Repeat("a", 9000): "the most is",
	} {
		refused(t, none, m{"url": raw}, want)
	}
	// A form that only a resolver understands is judged on the socket, if it resolves at all.
	for _, raw := range []string{"http://127.1" + port, "http://2130706433" + port, "http://0x7f.1" + port} {
		if e := run(t, none, m{"url": raw}, nil); e.Result.Success {
			t.Errorf("%s was fetched", raw)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
	refused(t, web.Config{AllowPrivate: local}, m{"url": "http://127.0.0.1:1/"}, "can't be fetched")
}

// names is a name server on loopback that gives its answers in turn.
func names(t *testing.T, answers ...[4]byte) (*net.Resolver, *atomic.Int32) {
	t.Helper()
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			q := bytes.Clone(buf[:n])
			end := 12
			for q[end] != 0 {
				end += int(q[end]) + 1
			}
			question, kind := q[12:end+5], q[end+2]
			res := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
			if kind == 1 { // an address of IPv4
				a := answers[min(int(asked.Add(1))-1, len(answers)-1)]
				res[7] = 1
				res = append(res, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, a[0], a[1], a[2], a[3])
			}
			_, _ = pc.WriteTo(res, from)
		}
	}()
	t.Cleanup(func() { pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", pc.LocalAddr().String())
	}}, &asked
}

// proves TOL-25: a name is judged by what it resolves to at each dial, so that
// a second answer (rebinding) opens nothing.
func TestANameIsJudgedByTheAddressThatIsDialled(t *testing.T) {
	var hits atomic.Int32
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	port := at[strings.LastIndex(at, ":"):]
	resolver, asked := names(t, [4]byte{127, 0, 0, 1})
	refused(t, web.Config{Resolver: resolver}, m{"url": "http://page.test" + port}, "page.test is at 127.0.0.1, this machine")
	if hits.Load() != 0 || asked.Load() == 0 {
		t.Errorf("reached %d times, %d questions", hits.Load(), asked.Load())
	}
	var trusted atomic.Int32 // the first dial is let through, as if its answer had been global
	rebound := web.Config{Resolver: resolver, AllowPrivate: func(string) bool { return trusted.Add(1) <= 2 }}
	refused(t, rebound, m{"url": "http://page.test" + port}, "page.test is at 127.0.0.1, this machine")
	if hits.Load() != 1 {
		t.Errorf("the page was reached %d times", hits.Load())
	}
}

// proves TOL-25: each redirect is checked; there are ten at most.
func TestEachRedirectIsChecked(t *testing.T) {
	var hits, other atomic.Int32
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) { other.Add(1); fmt.Fprint(w, "there") })
	var to atomic.Value
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Location", to.Load().(string))
		w.WriteHeader(http.StatusMovedPermanently)
	})
	c := web.Config{AllowPrivate: local}
	to.Store("/loop")
	refused(t, c, m{"url": at}, "redirects more than 10 times")
	if n := hits.Load(); n != 11 {
		t.Errorf("%d requests", n)
	}
	to.Store("file:///etc/passwd")
	refused(t, c, m{"url": at}, "redirects to what is not fetched")
	to.Store("http://a:b@127.0.0.1/")
	refused(t, c, m{"url": at}, "user name or password")
	to.Store(strings.Replace(elsewhere, "127.0.0.1", "[::ffff:127.0.0.1]", 1) + "/x")
	has(t, ok(t, c, m{"url": at}), "redirects to another host, which was not asked: http://[::ffff:127.0.0.1]")
	to.Store(elsewhere + "/x") // another port is another host
	has(t, ok(t, c, m{"url": at}), "redirects to another host, which was not asked: "+elsewhere+"/x")
	if other.Load() != 0 {
		t.Error("the other host was asked")
	}
	c.Allow = func(place string) bool { return place == strings.TrimPrefix(elsewhere, "http://") }
	has(t, ok(t, c, m{"url": at}), elsewhere+"/x (200 OK", "there")
	// A rule that lets hosts be asked does not let them be at private addresses.
	c.Allow = func(string) bool { return true }
	for _, private := range []string{"http://169.254.169.254/latest/meta-data/", "http://[::1]:1/", "http://10.0.0.1/"} {
		to.Store(private)
		c.AllowPrivate = func(place string) bool { return strings.HasPrefix(place, "127.0.0.1:") }
		refused(t, c, m{"url": at}, "such addresses are reached only if a rule allows")
	}
}

// proves TOL-25: a rule that names one port opens no other one of its host.
func TestARuleForOnePortOpensNoOther(t *testing.T) {
	one := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "here") })
	var hits atomic.Int32
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { hits.Add(1) })
	c := web.Config{AllowPrivate: func(place string) bool { return place == strings.TrimPrefix(one, "http://") }}
	has(t, ok(t, c, m{"url": one}), "here")
	refused(t, c, m{"url": other}, "this machine: such addresses are reached only if a rule allows")
	if hits.Load() != 0 {
		t.Error("the other port was reached")
	}
}

// proves TOL-25, TOL-02: a page that never ends, and one that never goes on,
// are cut and what came is shown.
func TestAPageThatNeverEndsIsCut(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("0123456789abcde\n"), 64)); err != nil {
					return
				}
			}
		case "/silent":
			fmt.Fprint(w, "first words\n")
			w.(http.Flusher).Flush()
		case "/mute":
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	c := web.Config{AllowPrivate: local, Wire: 100_000}
	has(t, ok(t, c, m{"url": at + "/endless"}), "0123456789abcde", "[only the first 100000 bytes of the answer were read: it is longer]")
	c.Idle = 300 * time.Millisecond
	for path, want := range map[string]string{"/silent": "no byte came for 300ms", "/mute": "no byte came for 300ms"} {
		e := run(t, c, m{"url": at + path}, nil)
		if !e.Result.Success || e.Result.TimedOut == nil || !*e.Result.TimedOut {
			t.Errorf("%s: %+v %s", path, e.Result, e.Err)
		}
		has(t, e.Result.Content.Text(), want)
	}
	c.Idle, c.Total = 0, 300*time.Millisecond
	e := run(t, c, m{"url": at + "/silent"}, nil)
	if !e.Result.Success || e.Result.TimedOut == nil || !*e.Result.TimedOut {
		t.Errorf("%+v %s", e.Result, e.Err)
	}
	has(t, e.Result.Content.Text(), "not read to its end in 300ms")
}

// looked trips its coordinator at the second look, which is between the first
// words of a page and what comes then.
type looked struct {
	interrupt.Signal
	trip  func()
	looks int
}

func (l *looked) Checkpoint() error {
	if l.looks++; l.looks == 2 {
		l.trip()
	}
	return l.Signal.Checkpoint()
}

// proves INT-02, TOL-07, TOL-25: a stop cuts the connection at once, looked at
// or not, and gives what had come; the server sees it.
func TestAStopCutsTheConnectionAndShowsWhatCame(t *testing.T) {
	for path, want := range map[string][]string{"/text": {"<p>first words\n", "[stopped after 15 bytes of the page]"},
		"/page": {"\nfirst words\n", "[stopped after 15 bytes"}, "/mute": {"stopped before an answer came"}, "/stuck": {"first words"}} {
		c := interrupt.New(interrupt.Options{})
		trip := func() { _, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}) }
		gone := make(chan struct{})
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			if path != "/mute" {
				w.Header().Set("Content-Type", map[bool]string{true: "text/html", false: "text/plain"}[path == "/page"])
				fmt.Fprint(w, "<p>first words\n")
				w.(http.Flusher).Flush()
			} else {
				trip()
			}
			<-r.Context().Done()
		})
		sig := &looked{Signal: c.Signal(), trip: trip}
		if path == "/stuck" { // in the middle of a read that nothing ends
			sig.trip = func() { time.AfterFunc(10*time.Millisecond, trip) }
		}
		e := run(t, web.Config{AllowPrivate: local, Idle: time.Hour, Total: time.Hour}, m{"url": at + path}, sig)
		if e.Outcome != event.CallStopped {
			t.Fatalf("%s: %s %s", path, e.Outcome, e.Err)
		}
		has(t, e.Result.Content.Text(), want...)
		select {
		case <-gone:
		case <-time.After(30 * time.Second):
			t.Errorf("%s: the server still has its connection", path)
		}
	}
}

// proves TOL-25: what is small on the wire and big in memory is bounded on both sides.
func TestADecompressionBombIsBounded(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = z.Write(bytes.Repeat([]byte("aaaaaaaaaaaaaaa\n"), 1<<16))
	}
	_ = z.Close()
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", map[string]string{"/bomb": "gzip", "/cut": "gzip", "/no": "gzip", "/br": "br"}[r.URL.Path])
		switch r.URL.Path {
		case "/bomb":
			_, _ = w.Write(bomb.Bytes())
		case "/cut":
			_, _ = w.Write(bomb.Bytes()[:1000])
		default:
			fmt.Fprint(w, "not compressed")
		}
	})
	c := web.Config{AllowPrivate: local, Body: 1 << 20}
	has(t, ok(t, c, m{"url": at + "/bomb"}), "aaaaaaaaaaaaaaa", "1048576 bytes)", "[only the first 1048576 bytes of the page were read: it is longer]")
	has(t, ok(t, web.Config{AllowPrivate: local}, m{"url": at + "/cut"}), "ended the answer too early")
	refused(t, c, m{"url": at + "/no"}, "says that it is gzip and is not")
	refused(t, c, m{"url": at + "/br"}, "comes as br, which was not asked for")
}

// proves TOL-25: text is read in its charset.
func TestTextIsReadInItsCharset(t *testing.T) {
	var kind, body atomic.Value
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind.Load().(string))
		fmt.Fprint(w, body.Load())
	})
	c := web.Config{AllowPrivate: local}
	for _, x := range []struct{ kind, body, want string }{
		{"text/plain; charset=utf-8", "caf\u00e9", "caf\u00e9"},
		{"text/plain; charset=ISO-8859-1", "caf\xe9 \x80", "caf\u00e9 \u20ac"},
		{"text/plain", "caf\xe9", "caf\u00e9"},
		{"text/plain", "\xff\xfec\x00\xe9\x00", "c\u00e9"},
		{"text/plain; charset=utf-16be", "\x00c\x00\xe9", "c\u00e9"},
		{"text/html", "<meta charset='latin1'><p>caf\xe9", "caf\u00e9"},
		{"text/html", `<meta http-equiv=x content="text/html; charset=windows-1252"><p>` + "\x93a\x94", "\u201ca\u201d"},
	} {
		kind.Store(x.kind)
		body.Store(x.body)
		has(t, ok(t, c, m{"url": at}), x.want)
	}
	kind.Store("text/plain; charset=euc-kr")
	refused(t, c, m{"url": at}, "its charset euc-kr can't be read here")
	c.Decode = func(charset string, r io.Reader) (io.Reader, error) {
		return strings.NewReader("decoded from " + charset), nil
	}
	has(t, ok(t, c, m{"url": at}), "decoded from euc-kr")
	kind.Store("text/plain; charset=utf-8")
	body.Store("a\x00b")
	has(t, ok(t, c, m{"url": at}), "it is not text")
}

// proves TOL-25, HOK-04: a fetch asks, unless a rule allows its host.
func TestAFetchAsksUnlessARuleAllowsTheHost(t *testing.T) {
	spec := web.New(web.Config{Allow: func(place string) bool { return place == "docs.example.com:443" }}).Spec()
	for raw, want := range map[string]struct {
		prompt string
		by     string
	}{
		"https://docs.example.com/a?b#c": {"", "rule:read-only"},
		"https://DOCS.example.com.:443/": {"", "rule:read-only"},
		"https://docs.example.com.evil/": {"fetch https://docs.example.com.evil/", "policy:headless"},
		"https://docs.example.com@evil/": {"fetch https://docs.example.com@evil/", "policy:headless"},
		"https://evil/docs.example.com":  {"fetch https://evil/docs.example.com", "policy:headless"},
		"https://evil/\u202e":            {"fetch https://evil/%E2%80%AE", "policy:headless"},
		"\x1b[2J":                        {`fetch \x1b[2J`, "policy:headless"},
	} {
		raw, _ := json.Marshal(m{"url": raw})
		v, err := gate.Rules{Policy: gate.DenyAll}.Judge(t.Context(), &tool.Call{Name: "web_fetch", Args: raw}, spec)
		if err != nil || v.By != want.by || v.Prompt != want.prompt {
			t.Errorf("%s: %+v %v", raw, v, err)
		}
	}
}

// proves TOL-06, TOL-25: a proxy is used only if it is configured; its 403 is
// a result, and addresses in the URL are judged all the same.
func TestAProxyIsUsedOnlyIfItIsConfigured(t *testing.T) {
	var hits atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, "proxied %s", r.URL)
	})
	at, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	resolver, _ := names(t, [4]byte{127, 0, 0, 1})
	refused(t, web.Config{Resolver: resolver}, m{"url": "http://page.test/"}, "this machine")
	if hits.Load() != 0 {
		t.Error("a proxy of the environment was used")
	}
	c := web.Config{Resolver: resolver, Proxy: http.ProxyURL(at)}
	has(t, ok(t, c, m{"url": "http://page.test/x"}), "proxied http://page.test/x")
	has(t, ok(t, c, m{"url": "https://page.test/x"}), "the proxy answered 403 Forbidden")
	refused(t, c, m{"url": "http://10.0.0.1/"}, "a private network")
	c.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // none for this host
	refused(t, c, m{"url": "http://page.test/"}, "this machine")
	c.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("no way") }
	refused(t, c, m{"url": "http://page.test/"}, "no way")
}

// proves TOL-25: https is checked, and not left for http by a redirect.
func TestHTTPSIsCheckedAndNotLeft(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, strings.Replace("http://"+r.Host, "https", "http", 1)+"/", http.StatusFound)
			return
		}
		fmt.Fprint(w, "over https")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	refused(t, web.Config{AllowPrivate: local}, m{"url": s.URL}, "certificate")
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := web.Config{AllowPrivate: local, TLS: &tls.Config{RootCAs: roots}}
	has(t, ok(t, c, m{"url": s.URL}), "over https")
	refused(t, c, m{"url": s.URL + "/down"}, "redirects from https to http")
}

// proves INT-02, INT-08, TOL-01, TOL-09, TOL-25
func TestWebFetchKeepsItsWord(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "hello\n")
		if r.URL.Path == "/long" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	tooltest.Run(t, tooltest.Driver{Bound: 20 * time.Second,
		New:  func(t *testing.T) (tool.Tool, string) { return web.New(web.Config{AllowPrivate: local}), t.TempDir() },
		Args: func(string, int) string { return `{"url":"` + at + `"}` },
		Long: func(string) string { return `{"url":"` + at + `/long"}` }})
	if b := interrupt.BehaviourOf(web.New(web.Config{})); b != interrupt.Cooperative {
		t.Errorf("it declares %v", b)
	}
}
