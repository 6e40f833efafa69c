package forensics

import (
	"bytes"
	"encoding/json"
	"slices"
)

// detect tells a file's kind from its beginning. why is a sentence where a
// file looks like a transcript of a tool that is not known.
func detect(head []byte) (k Kind, why string) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	first := true
	for n := 0; n < 64 && len(head) > 0; n++ {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		top := topLevel(line)
		if k := kindOf(line, top); k != "" {
			return k, ""
		}
		if first && foreign(top) {
			why = "line 1: a record of a tool that is not known here (ripcord, Codex, pi and Claude Code are); the file is measured as one plain text"
		}
		first = false
	}
	return Text, why
}

// topLevel returns an object's members as far as they are whole.
func topLevel(line []byte) map[string]json.RawMessage {
	if len(line) == 0 || line[0] != '{' {
		return nil
	}
	top := map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(line))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	for dec.More() && len(top) < 64 {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			break
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			top[name] = nil // cut inside it
			break
		}
		top[name] = v
	}
	return top
}

var (
	codexTypes  = []string{"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
	claudeTypes = []string{"user", "assistant", "system", "summary", "progress", "attachment", "queue-operation", "file-history-snapshot"}
)

func kindOf(line []byte, top map[string]json.RawMessage) Kind {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { _, ok := top[n]; return ok })
	}
	typ := text(top["type"])
	switch {
	case bytes.HasPrefix(line, []byte(`{"crc":"`)) && has("epoch", "seq", "b"):
		return Ripcord
	case slices.Contains(codexTypes, typ) && has("payload"):
		return Codex
	case typ == "session" && has("id", "cwd") && has("timestamp"), typ == "message" && has("message"):
		return Pi
	case slices.Contains(claudeTypes, typ) && has("sessionId", "uuid", "leafUuid", "messageId"):
		return Claude
	}
	return ""
}

// foreign says that an object looks like a record of some transcript.
func foreign(top map[string]json.RawMessage) bool {
	for _, name := range []string{"type", "role", "event", "messages", "timestamp", "sessionID", "session_id", "sessionId"} {
		if _, ok := top[name]; ok {
			return true
		}
	}
	return false
}

// text returns the string that raw is, "" if it is none.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
