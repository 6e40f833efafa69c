package model

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
)

// Peer is who was asked; its methods type what went wrong there. The zero
// value speaks of "the provider".
type Peer struct {
	Name   string // for sentences, for example the host
	KeyVar string // the setting the key came from, empty if none was sent
	Secret string // the key itself: masked wherever a peer echoes it
}

const (
	maxSentence   = 400            // runes of a peer's own words that are kept
	maxRetryAfter = 24 * time.Hour // a peer that asks for more is held to this
)

func (p Peer) name() string {
	if p.Name == "" {
		return "the provider"
	}
	return p.Name
}

// words makes a peer's text fit for people: one line, bounded, valid UTF-8,
// free of control characters and of the key.
func (p Peer) words(s string) string {
	if len(p.Secret) >= 8 {
		s = strings.ReplaceAll(s, p.Secret, "[key]")
	}
	if len(s) > 8*maxSentence {
		s = s[:8*maxSentence]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > maxSentence {
		s = string([]rune(s)[:maxSentence]) + "…"
	}
	return s
}

// fail builds an error; said is what the peer said, if anything.
func (p Peer) fail(code event.FailureCode, sentence, said, hint string, below error) *Error {
	if said = p.words(said); said != "" {
		sentence += ": " + said
	}
	return &Error{Failure: event.Failure{Code: code, Message: sentence, Hint: hint}, Err: below}
}

// Protocol types an answer that is not one.
func (p Peer) Protocol(sentence, hint string, below error) *Error {
	return p.fail(event.FailProtocol, p.name()+" "+sentence, "", hint, below)
}

// Refused types an HTTP answer whose status is not 2xx. body may be cut; now
// is the time against which a Retry-After date is measured.
func (p Peer) Refused(status int, header http.Header, body []byte, now time.Time) *Error {
	f := parseFault(body)
	f.wait = retryAfter(header, now)
	e := p.byFault(status, f)
	e.Status = status
	e.RetryAfter = f.wait.Milliseconds()
	if isHTML(header, body) {
		e.Hint = joinHints(e.Hint, "the answer is a web page: check that RIPCORD_BASE_URL is an API address that includes /v1")
	}
	return e
}

// Reported types an error object that arrived inside a stream or with status
// 200 (the status then says nothing: the kind does).
func (p Peer) Reported(body []byte) *Error {
	f := parseFault(body)
	e := p.byFault(f.status, f)
	e.Status = f.status
	return e
}

func joinHints(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func (p Peer) byFault(status int, f fault) *Error {
	code := f.code()
	if code == "" {
		code = codeOfStatus(status)
	}
	who := p.name()
	switch code {
	case event.FailAuth:
		hint := "set RIPCORD_API_KEY: no key was sent"
		if p.KeyVar != "" {
			hint = "check the key in " + p.KeyVar + " and that it may use this model"
		}
		return p.fail(code, who+" refused the credentials", f.message, hint, nil)
	case event.FailContext:
		return p.fail(code, who+" says that the conversation does not fit the model", f.message,
			"compact the conversation, or choose a model with a larger context in RIPCORD_MODEL", nil)
	case event.FailRateLimit:
		return p.fail(code, who+" is limiting requests"+f.waitWords(), f.message, "wait, or use another key or model", nil)
	case event.FailOverloaded:
		return p.fail(code, who+" failed on its side"+statusWords(status)+f.waitWords(), f.message, "try again later; if it goes on, see the provider's status page", nil)
	case event.FailConfig:
		return p.fail(code, who+" redirected the request"+statusWords(status), f.message,
			"set RIPCORD_BASE_URL to the final address", nil)
	case event.FailRequest:
		hint := ""
		switch {
		case f.billing() || status == http.StatusPaymentRequired:
			hint = "the account has no credit left: add some, or choose another provider"
		case status == http.StatusNotFound:
			hint = "check RIPCORD_MODEL, and that RIPCORD_BASE_URL includes /v1"
		case status == http.StatusMethodNotAllowed:
			hint = "check that RIPCORD_BASE_URL is an API address that includes /v1, and RIPCORD_PROVIDER its wire"
		}
		return p.fail(code, who+" refused the request"+statusWords(status), f.message, hint, nil)
	case event.FailTransport, event.FailProtocol, event.FailEmpty, event.FailStall, event.FailStorage,
		event.FailTool, event.FailInternal, event.FailBusy, event.FailDamaged, event.FailUsage, event.FailBlocked:
	}
	return p.fail(event.FailOverloaded, who+" reported an error", f.message, "try again later", nil)
}

func statusWords(status int) string {
	if status == 0 {
		return ""
	}
	if t := http.StatusText(status); t != "" {
		return fmt.Sprintf(" (%d %s)", status, t)
	}
	return fmt.Sprintf(" (%d)", status)
}

func codeOfStatus(status int) event.FailureCode {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return event.FailAuth
	case http.StatusTooManyRequests:
		return event.FailRateLimit
	case http.StatusRequestEntityTooLarge:
		return event.FailContext
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusLocked:
		return event.FailOverloaded
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return event.FailRequest
	}
	switch {
	case status >= 500 || status == 0:
		return event.FailOverloaded
	case status >= 400:
		return event.FailRequest
	case status >= 300:
		return event.FailConfig
	}
	return event.FailOverloaded
}

// fault is a peer's error object, whatever dialect it came in.
type fault struct {
	message string
	kind    string // lower case: type and code together
	status  int    // a numeric code
	wait    time.Duration
}

// waitWords says how long a peer asked to be left alone: a wait that is longer
// than what is waited for ends the turn, and its reader should know till when.
func (f fault) waitWords() string {
	if f.wait < time.Second {
		return ""
	}
	return " and asks to wait " + f.wait.Round(time.Second).String()
}

func parseFault(body []byte) fault {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "[") { // some put the object into a list
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
			text = string(list[0])
		}
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &obj) != nil {
		if strings.HasPrefix(text, "<") {
			return fault{}
		}
		return fault{message: text}
	}
	var f fault
	if raw, ok := obj["error"]; ok {
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) == nil {
			f.take(inner)
		} else {
			f.message = scalar(raw)
		}
	}
	if f.message == "" {
		f.take(obj)
	}
	return f
}

func (f *fault) take(obj map[string]json.RawMessage) {
	for _, key := range []string{"message", "detail", "error_description", "msg"} {
		if f.message = scalar(obj[key]); f.message != "" {
			break
		}
	}
	for _, key := range []string{"type", "code", "status"} {
		s := strings.ToLower(scalar(obj[key]))
		if n, err := strconv.Atoi(s); err == nil {
			if n >= 300 && n < 600 {
				f.status = n
			}
			continue
		}
		f.kind += " " + s
	}
}

// scalar gives a JSON string's text, or any other value as it is written.
func scalar(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (f fault) billing() bool {
	return containsAny(f.kind, "insufficient_quota", "billing", "payment", "credit")
}

// code reads the kind, which says more than a status: a 429 for lack of credit
// will not go away, a 400 may be a conversation that is too long. Empty means
// that the status decides.
func (f fault) code() event.FailureCode {
	msg := strings.ToLower(f.message)
	switch {
	case f.billing():
		return event.FailRequest
	case containsAny(f.kind, "context_length", "context_window", "exceed_context", "string_above_max", "request_too_large"),
		containsAny(msg, "maximum context length", "context length exceeded", "context window", "prompt is too long",
			"exceeds the available context", "exceed the context", "exceed context limit", "exceeds the model's context",
			"reduce the length of the messages", "input token count exceeds", "too many input tokens"):
		return event.FailContext
	case containsAny(f.kind, "rate_limit", "too_many_requests", "resource_exhausted"):
		return event.FailRateLimit
	case containsAny(f.kind, "invalid_api_key", "authentication", "unauthorized", "permission", "forbidden"):
		return event.FailAuth
	case containsAny(f.kind, "overloaded", "server_error", "internal", "unavailable", "timeout"):
		return event.FailOverloaded
	case containsAny(f.kind, "invalid_request", "not_found", "invalid_argument", "badrequest", "bad_request",
		"invalid_prompt", "image", "policy", "residency"): // the last four: how a response fails for good
		return event.FailRequest
	}
	return ""
}

func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func isHTML(header http.Header, body []byte) bool {
	if strings.Contains(strings.ToLower(header.Get("Content-Type")), "html") {
		return true
	}
	start := strings.ToLower(strings.TrimSpace(string(body[:min(len(body), 64)])))
	return strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html")
}

// retryAfter reads what a peer asked for, zero if it asked for nothing usable.
func retryAfter(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		d = scaled(ms, time.Millisecond)
	} else if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		if sec, err := strconv.ParseFloat(v, 64); err == nil {
			d = scaled(sec, time.Second)
		} else if at, err := http.ParseTime(v); err == nil {
			d = at.Sub(now)
		}
	}
	return max(0, min(d, maxRetryAfter))
}

func scaled(n float64, unit time.Duration) time.Duration {
	if math.IsNaN(n) || n <= 0 {
		return 0
	}
	if n > float64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}

// Broken types what failed below HTTP: no route, TLS, a connection cut. If ctx
// ended it returns ctx's cause, bare, whatever err says: the end of the
// context is no error of the peer's. begun says that the answer had begun.
func (p Peer) Broken(ctx context.Context, err error, begun bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	sentence, hint, code := p.broken(err, begun)
	return p.fail(code, sentence, "", hint, err)
}

func (p Peer) broken(err error, begun bool) (sentence, hint string, code event.FailureCode) {
	who, code := p.name(), event.FailTransport
	var (
		dns     *net.DNSError
		timeout net.Error
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		op      *net.OpError
		badURL  *url.Error
	)
	switch {
	case begun:
		return "the connection to " + who + " was cut before the answer's end", "try again", code
	case errors.As(err, &dns):
		return "the name of " + who + " could not be looked up", "check the network and RIPCORD_BASE_URL", code
	case errors.As(err, &cert), errors.As(err, &unknown):
		return "the certificate of " + who + " could not be verified",
			"check the system's clock and certificates (SSL_CERT_FILE names others)", code
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls:"):
		return "no secure connection to " + who + " could be made",
			"check whether RIPCORD_BASE_URL should begin with http:// or https://", code
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + who, "start the server, or check RIPCORD_BASE_URL", code
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return who + " does not speak TLS", "write RIPCORD_BASE_URL with http:// instead of https://", code
	case errors.As(err, &op) && op.Op == "dial":
		return who + " could not be reached", "check the network and RIPCORD_BASE_URL", code
	case errors.As(err, &timeout) && timeout.Timeout():
		return who + " did not answer in time", "try again, or check the network", code
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return who + " closed the connection without an answer", "try again", code
	case errors.As(err, &badURL) && strings.Contains(err.Error(), "unsupported protocol scheme"):
		return "the address of " + who + " has no scheme that can be used",
			"write RIPCORD_BASE_URL as http://… or https://…", event.FailConfig
	}
	return "the request to " + who + " failed", "check the network and RIPCORD_BASE_URL", code
}

// isFault says whether a body is an error object.
func isFault(body []byte) bool {
	var obj struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
		Type   string          `json:"type"`
	}
	if json.Unmarshal(body, &obj) != nil {
		return false
	}
	return len(obj.Error) > 0 && string(obj.Error) != "null" || obj.Object == "error" || obj.Type == "error"
}
