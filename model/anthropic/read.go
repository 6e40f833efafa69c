package anthropic

import (
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// read fills e from one event.
func (e *wireEvent) read(s *model.Scan) error {
	*e = wireEvent{delta: delta{text: e.delta.text[:0], signature: e.delta.signature[:0]},
		block: block{text: e.block.text[:0], signature: e.block.signature[:0]}}
	return s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			e.kind, err = s.Word()
		case "index":
			e.index, _, err = s.Count()
		case "delta":
			err = inner(s, e.delta.read)
		case "content_block":
			err = inner(s, e.block.read)
		case "message":
			err = inner(s, func(s *model.Scan, key []byte) error {
				if string(key) != "usage" {
					return s.Skip()
				}
				return e.tokens(s)
			})
		case "usage":
			err = e.tokens(s)
		case "error":
			e.fault = s.Peek() == '{'
			err = s.Skip()
		default:
			err = s.Skip()
		}
		return err
	})
}

// inner reads an object's fields; any other value is passed.
func inner(s *model.Scan, field func(*model.Scan, []byte) error) error {
	if s.Peek() != '{' {
		return s.Skip()
	}
	return s.Object(func(key []byte) error { return field(s, key) })
}

func (d *delta) read(s *model.Scan, key []byte) (err error) {
	switch string(key) {
	case "type":
		d.kind, err = s.Word()
	case "text", "thinking", "partial_json":
		d.text, err = s.Text(d.text)
	case "signature":
		d.signature, err = s.Text(d.signature)
	case "stop_reason":
		d.stop, err = s.Word()
	default:
		err = s.Skip()
	}
	return err
}

func (b *block) read(s *model.Scan, key []byte) (err error) {
	switch string(key) {
	case "type":
		b.kind, err = s.Word()
	case "id":
		b.id, err = s.Word()
	case "name":
		b.name, err = s.Word()
	case "data":
		b.data, err = s.Word()
	case "text", "thinking":
		b.text, err = s.Text(b.text)
	case "signature":
		b.signature, err = s.Text(b.signature)
	case "input":
		b.input, err = s.Raw()
	default:
		err = s.Skip()
	}
	return err
}

// tokens reads counts. What was read from or written to the provider's cache is
// input too.
func (e *wireEvent) tokens(s *model.Scan) error {
	var cached int64
	err := inner(s, func(s *model.Scan, key []byte) error {
		switch string(key) {
		case "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens":
		default:
			return s.Skip()
		}
		n, ok, err := s.Count()
		if err != nil || !ok || n < 0 {
			return err
		}
		switch key[0] {
		case 'i':
			e.usage.Input = &n
		case 'o':
			e.usage.Output, e.counted = &n, true
		default:
			cached += n
		}
		return nil
	})
	if e.usage.Input != nil && cached > 0 {
		all := *e.usage.Input + cached
		e.usage = event.Tokens{Input: &all, Output: e.usage.Output}
	}
	return err
}
