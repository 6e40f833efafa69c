package model_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// proves MOD-02, TRN-10, TOL-06, B068: the code decides what is tried again; a
// 403 of the model's own is the engine's error.
func TestARefusalIsTypedByItsKindBeforeItsStatus(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		code   event.FailureCode
	}{
		{400, `{"error":{"message":"x"}}`, event.FailRequest},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens"}}`, event.FailContext},
		{400, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size","type":"exceed_context_size_error"}}`, event.FailContext},
		{413, ``, event.FailContext},
		{401, `{"detail":"Unauthorized"}`, event.FailAuth},
		{403, `{"error":{"message":"no","type":"permission_error"}}`, event.FailAuth},
		{402, ``, event.FailRequest},
		{404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, event.FailRequest},
		{408, ``, event.FailOverloaded},
		{429, `{"error":{"code":"insufficient_quota"}}`, event.FailRequest},
		{429, `{"error":{"type":"tokens","code":"rate_limit_exceeded"}}`, event.FailRateLimit},
		{429, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow"}}]`, event.FailRateLimit},
		{500, `oops`, event.FailOverloaded},
		{501, ``, event.FailRequest},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, event.FailOverloaded},
		{302, ``, event.FailConfig},
	} {
		e := model.Peer{}.Refused(c.status, http.Header{}, []byte(c.body), time.Now())
		if e.Code != c.code || e.Status != c.status || e.Message == "" {
			t.Errorf("%d %s: got %+v", c.status, c.body, e.Failure)
		}
	}
}

func TestThePeersWaitIsReadInEveryForm(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		key, value string
		want       int64
	}{
		{"Retry-After", "2", 2000}, {"Retry-After", "0.5", 500}, {"Retry-After", " 3 ", 3000}, {"Retry-After-Ms", "250", 250},
		{"Retry-After", now.Add(90 * time.Second).Format(http.TimeFormat), 90_000}, {"Retry-After", now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"Retry-After", "-5", 0}, {"Retry-After", "NaN", 0}, {"Retry-After", "soon", 0}, {"Retry-After", "1e300", 86_400_000}, {"Retry-After", "Inf", 86_400_000},
	} {
		h := http.Header{}
		h.Set(c.key, c.value)
		if e := (model.Peer{}).Refused(429, h, nil, now); e.RetryAfter != c.want {
			t.Errorf("%s: %s: got %d ms, want %d", c.key, c.value, e.RetryAfter, c.want)
		}
	}
}

func TestAPeersWordsAreMadeFitForPeople(t *testing.T) {
	const key = "sk-0123456789abcdef"
	body := `{"error":{"message":"bad\n\tkey ` + key + ` \u001b[31m` + strings.Repeat("long ", 5000) + `"}}`
	e := model.Peer{Name: "host", Secret: key, KeyVar: "OPENAI_API_KEY"}.Refused(401, http.Header{}, []byte(body), time.Now())
	if s := e.Failure.Error(); strings.Contains(s, key) || strings.ContainsAny(s, "\n\t\x1b") || len(s) > 1000 || !strings.Contains(s, "bad key [key]") || !strings.Contains(s, "OPENAI_API_KEY") {
		t.Errorf("got %q", s)
	}
	e = model.Peer{}.Refused(500, http.Header{"Content-Type": {"text/html"}}, []byte("<html>\xff"), time.Now())
	if strings.Contains(e.Message, "<") {
		t.Errorf("a page is quoted: %q", e.Message)
	}
}

// proves MOD-02 for what fails below HTTP: each sentence names the next step.
func TestWhatFailsBelowHTTPIsTyped(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err   error
		words string
	}{
		{&net.DNSError{Name: "x", IsNotFound: true}, "looked up"}, {dial(syscall.ECONNREFUSED), "nothing listens"},
		{dial(syscall.EHOSTUNREACH), "could not be reached"}, {x509.UnknownAuthorityError{}, "certificate"},
		{errors.New("http: server gave HTTP response to HTTPS client"), "does not speak TLS"}, {errors.New("remote error: tls: handshake failure"), "secure"},
		{io.EOF, "closed the connection"}, {syscall.ECONNRESET, "closed the connection"}, {errors.New("odd"), "failed"},
	} {
		err := model.Peer{Name: "host"}.Broken(t.Context(), fmt.Errorf("do: %w", c.err), false)
		var e *model.Error
		if !errors.As(err, &e) || e.Code != event.FailTransport || !strings.Contains(e.Message, c.words) || e.Hint == "" || !errors.Is(err, c.err) {
			t.Errorf("%v: got %v", c.err, err)
		}
	}
}

// proves INT-45, TRN-19: the end of the context is handed on bare, whatever
// broke by it.
func TestTheEndOfTheContextIsNotThePeersFailure(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("pulled")
	cancel(cause)
	if err := (model.Peer{}).Broken(ctx, io.ErrUnexpectedEOF, true); err != cause { //nolint:errorlint // bare
		t.Errorf("got %v", err)
	}
}

// proves TRN-10, MOD-02: who is told that a turn ended for a rate limit is told
// for how long it holds.
func TestALongWaitIsSaidInWords(t *testing.T) {
	for value, want := range map[string]string{"5400": "asks to wait 1h30m0s", "0.2": "is limiting requests: busy"} {
		e := model.Peer{Name: "host"}.Refused(429, http.Header{"Retry-After": {value}}, []byte(`{"error":{"message":"busy"}}`), time.Now())
		if !strings.Contains(e.Message, want) || !strings.Contains(e.Message, "busy") {
			t.Errorf("%s: got %q", value, e.Message)
		}
	}
}
