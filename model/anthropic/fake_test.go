package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/model/anthropic"
)

func client(c *canned) *http.Client { return &http.Client{Transport: c} }

type obj = map[string]any

// canned answers every request with one body, read in pieces of at most step
// bytes (0: as asked), random sizes if rng is set.
type canned struct {
	body string
	step int
	rng  *rand.Rand
	sent []byte
	head http.Header
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.head = r.Header
	c.sent, _ = io.ReadAll(r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
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
func over(t testing.TB, c *canned) *anthropic.Model {
	t.Helper()
	return open(t, anthropic.Config{BaseURL: "http://peer.test/v1", HTTPClient: &http.Client{Transport: c}})
}

// frames writes events as the provider does, each with its name.
func frames(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var head struct{ Type string }
		_ = json.Unmarshal([]byte(e), &head) // an event that is no JSON has no name
		if head.Type != "" {
			b.WriteString("event: " + head.Type + "\n")
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const (
	hello = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"x","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":10,"output_tokens":1}}}`
	bye   = `{"type":"message_stop"}`
)

func begin(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func grow(i int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta)
}

func shut(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func words(i int, s string) string { return grow(i, `{"type":"text_delta","text":"`+s+`"}`) }

func args(i int, s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return grow(i, `{"type":"input_json_delta","partial_json":`+string(b)+`}`)
}

func stopped(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":7}}`
}

const (
	text = `{"type":"text","text":""}`
	tool = `{"type":"tool_use","id":"t1","name":"x","input":{}}`
)
