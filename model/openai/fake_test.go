package openai_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/model/openai"
)

// canned answers every request with one body, read in pieces of at most step
// bytes (0: as asked), random sizes if rng is set.
type canned struct {
	body string
	step int
	rng  *rand.Rand
	kind string
	sent *http.Request
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent = r
	kind := c.kind
	if kind == "" {
		kind = "text/event-stream"
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Request: r,
		Body: io.NopCloser(&pieces{r: strings.NewReader(c.body), step: c.step, rng: c.rng})}, nil
}

type pieces struct {
	r    io.Reader
	step int
	rng  *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	n := len(b)
	if p.step > 0 {
		n = min(n, p.step)
	}
	if p.rng != nil {
		n = min(n, 1+p.rng.IntN(40))
	}
	return p.r.Read(b[:n])
}

// over returns a driver whose every answer is c.
func over(t testing.TB, c *canned) *openai.Model {
	t.Helper()
	return open(t, openai.Config{BaseURL: "http://peer.test/v1", HTTPClient: &http.Client{Transport: c}})
}

func data(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const done = "[DONE]"

func words(s string) string {
	return `{"choices":[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]}`
}

const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
const tools = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

func client(c *canned) *http.Client { return &http.Client{Transport: c} }
