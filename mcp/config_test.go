package mcp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ripcord-go/ripcord/mcp"
)

func look(name string) (string, bool) {
	v, ok := map[string]string{"HOME": "/home/x", "KEY": "hush-hush", "EMPTY": "", "LOOP": "${KEY}"}[name]
	return v, ok
}

// proves TOL-26: the shape that clients of the protocol share is read
func TestAFileOfServersIsRead(t *testing.T) {
	got, err := mcp.Parse([]byte(`{"$schema":"x","mcpServers":{
		"web": {"type":"http","url":"https://example.test/mcp?key=${KEY}","headers":{"Authorization":"Bearer ${KEY}"},"timeout":"90s"},
		"fs": {"command":"npx","args":["-y","server","${HOME}/work","${NONE:-here}","$HOME","${EMPTY:-e}${EMPTY}","${LOOP}"],"env":{"TOKEN":"${KEY}"},"cwd":"${HOME}","timeout":5000,"disabled":true}}}`), look)
	if err != nil {
		t.Fatal(err)
	}
	want := []mcp.Server{
		{Name: "fs", Command: "npx", Args: []string{"-y", "server", "/home/x/work", "here", "$HOME", "e", "${KEY}"},
			Env: map[string]string{"TOKEN": "hush-hush"}, Dir: "/home/x", Timeout: 5 * time.Second, Disabled: true},
		{Name: "web", URL: "https://example.test/mcp?key=hush-hush", Headers: map[string]string{"Authorization": "Bearer hush-hush"}, Timeout: 90 * time.Second},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(mcp.Server{})); d != "" {
		t.Error(d)
	}
	for _, s := range got {
		if shown := fmt.Sprint(s, s.LogValue()); strings.Contains(shown, "hush") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

// proves TOL-26: each fault is one sentence, and costs its own server only
func TestAFaultInAFileOfServersIsOneSentence(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                                  "must be a JSON object",
		`{"mcpServers":{}`:                    "is not JSON",
		`{"mcpServers":{}} x`:                 "something follows",
		`{"servers":{}}`:                      `the field "servers" is not known at the top`,
		`{"mcpServers":{"a":{}}}`:             `server "a": it has neither a command nor a url`,
		`{"mcpServers":{"a":5}}`:              `server "a": it must be a JSON object`,
		`{"mcpServers":{"":{"command":"x"}}}`: "is not usable",
		`{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`:              `"a" stands there twice`,
		`{"mcpServers":{"a":{"command":"x","url":"http://h"}}}`:                 "take one out",
		`{"mcpServers":{"a":{"Command":"x"}}}`:                                  `the field "Command" is not known`,
		`{"mcpServers":{"a":{"command":"x","trusted":true}}}`:                   `the field "trusted" is not known`,
		`{"mcpServers":{"a":{"command":["x"]}}}`:                                "command must be a text",
		`{"mcpServers":{"a":{"command":"x","args":"y"}}}`:                       "args must be a list of texts",
		`{"mcpServers":{"a":{"command":"x","args":["\u0000"]}}}`:                "NUL byte",
		`{"mcpServers":{"a":{"command":"x","env":{"A=B":"c"}}}}`:                "is not usable",
		`{"mcpServers":{"a":{"command":"x","env":{"A":5}}}}`:                    "env must be an object of texts",
		`{"mcpServers":{"a":{"command":"${NONE}"}}}`:                            "the variable NONE is not set",
		`{"mcpServers":{"a":{"command":"${HOME"}}}`:                             `has no "}"`,
		`{"mcpServers":{"a":{"command":"${$(id)}"}}}`:                           "does not name a variable",
		`{"mcpServers":{"a":{"command":"x","timeout":60}}}`:                     `write for example "60s"`,
		`{"mcpServers":{"a":{"command":"x","timeout":"soon"}}}`:                 "is not a duration",
		`{"mcpServers":{"a":{"command":"x","headers":{"A":"b"}}}}`:              "headers are for servers with a url",
		`{"mcpServers":{"a":{"url":"ftp://h"}}}`:                                "not an http or https address",
		`{"mcpServers":{"a":{"url":"https://user:word@h/"}}}`:                   "credentials belong into headers",
		`{"mcpServers":{"a":{"url":"https://h/","headers":{"A":"b\r\nC: d"}}}}`: "must fit on one line",
		`{"mcpServers":{"a":{"url":"https://h/","args":["x"]}}}`:                "are for servers with a command",
		`{"mcpServers":{"a":{"type":"sse","url":"https://h/"}}}`:                "was given up by the protocol",
		`{"mcpServers":{"a":{"type":"stdio","url":"https://h/"}}}`:              "do not fit",
		`{"mcpServers":{"a":{"command":"x","disabled":"no"}}}`:                  "disabled must be true or false",
	} {
		_, err := mcp.Parse([]byte(in), look)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
	got, err := mcp.Parse([]byte(`{"mcpServers":{"bad":{"command":5},"good":{"command":"x"},"worse":{"url":"y"}}}`), nil)
	if len(got) != 1 || got[0].Name != "good" || err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x","args":["${HOME:-y}"],"env":{"A":"b"}},"b":{"url":"http://h","headers":{"A":"b"},"timeout":"5s"}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		servers, _ := mcp.Parse([]byte(in), look)
		for _, s := range servers {
			if (s.Command == "") == (s.URL == "") || s.Name == "" || s.Trusted {
				t.Errorf("%+v", s)
			}
			_ = s.String()
		}
	})
}
