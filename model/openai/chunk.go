package openai

import (
	"encoding/json"
)

// read fills c from one event.
func (c *chunk) read(s *scan) error {
	whole := s.b
	return s.object(func(key []byte) error {
		switch string(key) {
		case "choices":
			if s.peek() != '[' {
				return s.skip()
			}
			return s.array(func() error { return c.choice(s) })
		case "usage":
			if s.peek() != '{' {
				return s.skip()
			}
			return c.tokens(s)
		case "error":
			raw, err := s.raw()
			if err == nil && string(raw) != "null" {
				c.fault = whole
			}
			return err
		case "object", "type":
			word, err := s.word()
			if word == "error" {
				c.fault = whole
			}
			return err
		}
		return s.skip()
	})
}

// choice reads the first of the answers; others were not asked for.
func (c *chunk) choice(s *scan) error {
	if s.peek() != '{' {
		return s.skip()
	}
	look := *s
	if index, err := look.fieldCount("index"); err != nil || index > 0 {
		s.i = look.i
		return err
	}
	return s.object(func(key []byte) error {
		switch string(key) {
		case "delta":
			if s.peek() != '{' {
				return s.skip()
			}
			return c.delta(s)
		case "finish_reason":
			word, err := s.word()
			c.finish = word
			return err
		}
		return s.skip()
	})
}

// fieldCount passes an object and returns the number in one of its fields.
func (s *scan) fieldCount(name string) (n int64, err error) {
	err = s.object(func(key []byte) error {
		if string(key) != name {
			return s.skip()
		}
		n, _, err = s.count()
		return err
	})
	return n, err
}

func (c *chunk) delta(s *scan) error {
	return s.object(func(key []byte) (err error) {
		switch string(key) {
		case "content", "refusal":
			c.content, err = s.text(c.content)
		case "reasoning_content", "reasoning":
			if len(c.reasoning) > 0 { // some send both
				return s.skip()
			}
			c.reasoning, err = s.text(c.reasoning)
		case "reasoning_signature":
			c.signature, err = s.word()
		case "reasoning_data":
			c.data, err = s.word()
		case "tool_calls":
			if s.peek() != '[' {
				return s.skip()
			}
			return s.array(func() error { return c.toolCall(s) })
		default:
			return s.skip()
		}
		return err
	})
}

func (c *chunk) toolCall(s *scan) error {
	if s.peek() != '{' {
		return s.skip()
	}
	var d callDelta
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "index":
			d.index, d.indexed, err = s.count()
		case "id":
			d.id, err = s.word()
		case "function":
			if s.peek() != '{' {
				return s.skip()
			}
			return d.function(s)
		default:
			return s.skip()
		}
		return err
	})
	c.calls = append(c.calls, d)
	return err
}

func (d *callDelta) function(s *scan) error {
	return s.object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			d.name, err = s.word()
		case "arguments":
			if s.peek() == '{' { // the object itself instead of its text
				d.args, err = s.raw()
				return err
			}
			d.args, err = s.text(nil)
		default:
			return s.skip()
		}
		return err
	})
}

func (c *chunk) tokens(s *scan) error {
	return s.object(func(key []byte) error {
		switch string(key) {
		case "prompt_tokens", "completion_tokens":
		default:
			return s.skip()
		}
		n, ok, err := s.count()
		if err != nil || !ok || n < 0 {
			return err
		}
		c.counted = true
		if key[0] == 'p' {
			c.usage.Input = &n
		} else {
			c.usage.Output = &n
		}
		return nil
	})
}

// isFault says whether a body is an error object.
func isFault(body []byte) bool {
	var obj struct {
		Error   json.RawMessage `json:"error"`
		Object  string          `json:"object"`
		Type    string          `json:"type"`
		Choices json.RawMessage `json:"choices"`
	}
	if json.Unmarshal(body, &obj) != nil {
		return false
	}
	return len(obj.Error) > 0 && string(obj.Error) != "null" || obj.Object == "error" || obj.Type == "error"
}
