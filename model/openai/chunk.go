package openai

import (
	"github.com/ripcord-go/ripcord/model"
)

// read fills c from one event.
func (c *chunk) read(s *model.Scan, whole []byte) error {
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "choices":
			if s.Peek() != '[' {
				return s.Skip()
			}
			return s.Array(func() error { return c.choice(s) })
		case "usage":
			if s.Peek() != '{' {
				return s.Skip()
			}
			return c.tokens(s)
		case "error":
			raw, err := s.Raw()
			if err == nil && string(raw) != "null" {
				c.fault = whole
			}
			return err
		case "object", "type":
			word, err := s.Word()
			if word == "error" {
				c.fault = whole
			}
			return err
		}
		return s.Skip()
	})
}

// choice reads the first of the answers; others were not asked for.
func (c *chunk) choice(s *model.Scan) error {
	if s.Peek() != '{' {
		return s.Skip()
	}
	look := *s
	if index, err := fieldCount(&look, "index"); err != nil || index > 0 {
		*s = look
		return err
	}
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "delta":
			if s.Peek() != '{' {
				return s.Skip()
			}
			return c.delta(s)
		case "finish_reason":
			word, err := s.Word()
			c.finish = word
			return err
		}
		return s.Skip()
	})
}

// fieldCount passes an object and returns the number in one of its fields.
func fieldCount(s *model.Scan, name string) (n int64, err error) {
	err = s.Object(func(key []byte) error {
		if string(key) != name {
			return s.Skip()
		}
		n, _, err = s.Count()
		return err
	})
	return n, err
}

func (c *chunk) delta(s *model.Scan) error {
	return s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "content", "refusal":
			c.content, err = s.Text(c.content)
		case "reasoning_content", "reasoning":
			if len(c.reasoning) > 0 { // some send both
				return s.Skip()
			}
			c.reasoning, err = s.Text(c.reasoning)
		case "reasoning_signature":
			c.signature, err = s.Word()
		case "reasoning_data":
			c.data, err = s.Word()
		case "tool_calls":
			if s.Peek() != '[' {
				return s.Skip()
			}
			return s.Array(func() error { return c.toolCall(s) })
		default:
			return s.Skip()
		}
		return err
	})
}

func (c *chunk) toolCall(s *model.Scan) error {
	if s.Peek() != '{' {
		return s.Skip()
	}
	var d callDelta
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "index":
			d.index, d.indexed, err = s.Count()
		case "id":
			d.id, err = s.Word()
		case "function":
			if s.Peek() != '{' {
				return s.Skip()
			}
			return d.function(s)
		default:
			return s.Skip()
		}
		return err
	})
	c.calls = append(c.calls, d)
	return err
}

func (d *callDelta) function(s *model.Scan) error {
	return s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			d.name, err = s.Word()
		case "arguments":
			if s.Peek() == '{' { // the object itself instead of its text
				d.args, err = s.Raw()
				return err
			}
			d.args, err = s.Text(nil)
		default:
			return s.Skip()
		}
		return err
	})
}

func (c *chunk) tokens(s *model.Scan) error {
	return s.Object(func(key []byte) error {
		switch string(key) {
		case "prompt_tokens", "completion_tokens":
		default:
			return s.Skip()
		}
		n, ok, err := s.Count()
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
