package scripted_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// postTo asks on one wire.
func postTo(t *testing.T, srv *scripted.Server, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("anthropic-version", "2023-06-01")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body) // a cut is part of what is looked at
	return res.StatusCode, string(b)
}

// proves MOD-04: strict mode on the messages wire.
func TestStrictModeOnTheMessagesWire(t *testing.T) {
	const (
		u    = `{"role":"user","content":"go"}`
		c1   = `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"x","input":{}}]}`
		r1   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}`
		said = `{"role":"assistant","content":[{"type":"text","text":"hi"}]}`
	)
	with := func(block string) string { return `{"role":"assistant","content":[` + block + `]}` }
	for name, c := range map[string]struct{ msgs, want string }{
		"good":                         {u + "," + c1 + "," + r1, ""},
		"good, words with the result":  {u + "," + c1 + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true},{"type":"text","text":"on"}]}`, ""},
		"a call without a result":      {u + "," + c1 + "," + u, "has no result"},
		"a result without a call":      {r1, "no call before it"},
		"two results":                  {u + "," + c1 + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"},{"type":"tool_result","tool_use_id":"c1"}]}`, "no call before it"},
		"words before the result":      {u + "," + c1 + `,{"role":"user","content":[{"type":"text","text":"on"},{"type":"tool_result","tool_use_id":"c1"}]}`, "stands first"},
		"the same call again":          {u + "," + c1 + "," + r1 + "," + c1 + "," + r1, "again in message"},
		"two users":                    {u + "," + u, "two user messages in a row"},
		"two of the model's":           {u + "," + said + "," + said + "," + u, "two assistant messages in a row"},
		"the model first":              {said + "," + u, "not the user's"},
		"the model last":               {u + "," + said, "does not end with a user"},
		"an empty message":             {`{"role":"user","content":[]}`, "is empty"},
		"a blank block":                {`{"role":"user","content":[{"type":"text","text":" "}]}`, "nothing in it"},
		"an id of another wire":        {u + "," + strings.ReplaceAll(c1, "c1", "c:1") + "," + strings.ReplaceAll(r1, "c1", "c:1"), "does not match"},
		"arguments that are no object": {u + "," + strings.ReplaceAll(c1, "{}}", `"a"}`) + "," + r1, "is no object"},
		"thinking last":                {u + "," + with(`{"type":"text","text":"a"},{"type":"redacted_thinking","data":"x"}`) + "," + u, "cannot be redacted_thinking"},
		"thinking without signature":   {u + "," + with(`{"type":"thinking","thinking":"t","signature":""},{"type":"text","text":"a"}`) + "," + u, "empty signature"},
		"thinking signed elsewhere":    {u + "," + with(`{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"}`) + "," + u, "is not of this text"},
		"an image of a odd type":       {`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"eA=="}}]}`, "image/tiff"},
	} {
		srv := start(t, "T'a' F(stop)", scripted.Options{})
		status, text := postTo(t, srv, "/messages", `{"stream":true,"max_tokens":9,"messages":[`+c.msgs+`]}`)
		judge(t, name, status, text, c.want)
		if c.want != "" && !strings.Contains(text, `"type":"error"`) {
			t.Errorf("%s: the refusal is not of this wire: %s", name, text)
		}
	}
	srv := start(t, "T'a' F(stop)", scripted.Options{})
	if status, text := postTo(t, srv, "/messages", `{"stream":true,"messages":[`+u+`]}`); status != 400 || !strings.Contains(text, "max_tokens") {
		t.Errorf("no limit: got %d %s", status, text)
	}
	if srv.Requests()[0].Wire != model.Anthropic {
		t.Errorf("recorded as %q", srv.Requests()[0].Wire)
	}
}

func judge(t *testing.T, name string, status int, text, want string) {
	t.Helper()
	if want == "" && status != 200 || want != "" && (status != 400 || !strings.Contains(text, want)) {
		t.Errorf("%s: got %d %s, want %q", name, status, text, want)
	}
}

// proves MOD-04: strict mode on the responses wire.
func TestStrictModeOnTheResponsesWire(t *testing.T) {
	const (
		u    = `{"role":"user","content":"go"}`
		c1   = `{"type":"function_call","call_id":"c1","name":"x","arguments":"{}"}`
		r1   = `{"type":"function_call_output","call_id":"c1","output":"ok"}`
		said = `{"role":"assistant","content":"hi"}`
		rs   = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`
	)
	for name, c := range map[string]struct{ items, want string }{
		"good":                        {u + "," + said + "," + c1 + "," + r1, ""},
		"a call without a result":     {u + "," + c1 + "," + u, "has no result"},
		"a result without a call":     {u + "," + r1, "no call before it"},
		"two results":                 {u + "," + c1 + "," + r1 + "," + r1, "no call before it"},
		"two users":                   {u + "," + u, "two user messages in a row"},
		"empty words":                 {u + `,{"role":"assistant","content":""}`, "nothing in it"},
		"arguments that are not JSON": {u + "," + strings.ReplaceAll(c1, "{}", "{a") + "," + r1, "not JSON"},
		"a name with a dot":           {u + "," + strings.ReplaceAll(c1, `"x"`, `"a.b"`) + "," + r1, "does not match"},
		"reasoning alone":             {u + "," + rs + "," + u, "not followed"},
		"reasoning last":              {u + "," + rs, "not followed"},
		"reasoning sealed elsewhere":  {u + "," + rs + "," + said, "is not of this text"},
		"reasoning not sealed":        {u + `,{"type":"reasoning","id":"rs_1","summary":[]},` + said, "empty signature"},
		"an item of no type":          {u + `,{"type":"odd"}`, "of the type"},
		"words of the wrong type":     {`{"role":"user","content":[{"type":"output_text","text":"a"}]}`, "output_text"},
	} {
		srv := start(t, "T'a' F(stop)", scripted.Options{})
		status, text := postTo(t, srv, "/responses", `{"stream":true,"input":[`+c.items+`]}`)
		judge(t, name, status, text, c.want)
	}
	srv := start(t, "T'a' F(stop)\nT'b' F(stop)", scripted.Options{Lenient: true})
	if status, _ := postTo(t, srv, "/responses", `{"stream":true,"input":[`+u+","+u+`]}`); status != 200 {
		t.Errorf("lenient: got %d", status)
	}
	if status, text := postTo(t, srv, "/responses", `{"stream":true,"input":"just words"}`); status != 200 || !strings.Contains(text, `"delta":"b"`) {
		t.Errorf("words alone: got %d %s", status, text)
	}
}

// proves MOD-04's faults on every wire: what the script says is on it.
func TestFaultsLookAlikeOnEveryWire(t *testing.T) {
	asks := map[string]string{
		"/chat/completions": hello,
		"/responses":        `{"stream":true,"input":"hello"}`,
		"/messages":         `{"stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`,
	}
	for path, body := range asks {
		for script, want := range map[string][3]string{ // chat, responses, messages
			"R'h' S'sig' T'a' F(stop)":                     {`"reasoning_signature":"sig"`, `"encrypted_content":"sig"`, `"signature":"sig"`},
			"answer\n redacted box\n text a\n finish stop": {`"reasoning_data":"box"`, `"encrypted_content":"box"`, `"data":"box"`},
			"C(c1,bash) A'{}' F(tool)":                     {`"finish_reason":"tool_calls"`, `"call_id":"c1"`, `"stop_reason":"tool_use"`},
			"T'a' F(length)":                               {`"length"`, `"max_output_tokens"`, `"max_tokens"`},
			"T'a' F(filter)":                               {`"content_filter"`, `"reason":"content_filter"`, `"refusal"`},
			"T'a' U(3,4) F(stop)":                          {`"prompt_tokens":3`, `"input_tokens":3`, `"input_tokens":3`},
			"P T'a' F(stop)":                               {": ping\n", ": ping\n", "event: ping\n"},
			"answer\n error odd_error no":                  {`"type":"odd_error"`, `"code":"odd_error"`, `"type":"odd_error"`},
			"answer\n http 529 body busy":                  {"busy", "busy", "busy"},
			"answer\n html":                                {"<html>", "<html>", "<html>"},
			"T'a' DROP":                                    {`"a"`, `"a"`, `"a"`},
		} {
			_, text := postTo(t, start(t, script, scripted.Options{}), path, body)
			at := map[string]int{"/chat/completions": 0, "/responses": 1, "/messages": 2}[path]
			if !strings.Contains(text, want[at]) {
				t.Errorf("%s: %s: got %s", path, script, text)
			}
			for _, line := range strings.Split(text, "\n") {
				if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("%s: %s: %q is no JSON", path, script, data)
				}
			}
		}
	}
}
