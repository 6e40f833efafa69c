package journal

import (
	"github.com/ripcord-go/ripcord/event"
)

// envelope is what the scanner needs of a line, read without decoding data.
type envelope struct {
	v     int
	batch int64
	index int // in its batch
	epoch event.Epoch
	seq   event.Seq
	typ   []byte // shares the line's memory
}

// readEnvelope reads the fields up to data. It says nothing about data: that
// its bytes are whole is what the sum is for.
func readEnvelope(line []byte) (e envelope, ok bool) {
	const vField, batchField, epochField, seqField, typeField, all = 1, 2, 4, 8, 16, 31
	w := walker{b: line}
	if !w.eat('{') {
		return e, false
	}
	have := 0
	for {
		key, ok := w.str()
		if !ok || !w.eat(':') {
			return e, false
		}
		if string(key) == "data" {
			return e, have == all && w.i < len(line)-1 && line[len(line)-1] == '}'
		}
		val, ok := w.value()
		if !ok || !w.eat(',') {
			return e, false
		}
		n := int64(0)
		switch string(key) {
		case "v":
			n, ok = digits(val)
			e.v, have = int(n), have|vField
		case "b":
			e.batch, ok = digits(val)
			have |= batchField
		case indexKey:
			n, ok = digits(val)
			e.index = int(n)
		case "epoch":
			n, ok = digits(val)
			e.epoch, have = event.Epoch(n), have|epochField
		case "seq":
			n, ok = digits(val)
			e.seq, have = event.Seq(n), have|seqField
		case "type":
			if len(val) < 2 || val[0] != '"' {
				return e, false
			}
			e.typ, have = val[1:len(val)-1], have|typeField
		}
		if !ok {
			return e, false
		}
	}
}

func (e *envelope) is(t event.Type) bool { return string(e.typ) == string(t) }

// digits reads a non-negative whole number.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// walker passes over the tokens of one JSON object.
type walker struct {
	b []byte
	i int
}

func (w *walker) eat(c byte) bool {
	if w.i < len(w.b) && w.b[w.i] == c {
		w.i++
		return true
	}
	return false
}

// str passes a string and returns what stands between its quotes.
func (w *walker) str() (val []byte, ok bool) {
	if !w.eat('"') {
		return nil, false
	}
	from := w.i
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case '\\':
			w.i += 2
		case '"':
			w.i++
			return w.b[from : w.i-1], true
		default:
			w.i++
		}
	}
	return nil, false
}

// value passes a value and returns its bytes, quotes and brackets included.
func (w *walker) value() (val []byte, ok bool) {
	from, depth := w.i, 0
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case '"':
			if _, ok := w.str(); !ok {
				return nil, false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return w.b[from:w.i], w.i > from
			}
			depth--
		case ',':
			if depth == 0 {
				return w.b[from:w.i], w.i > from
			}
		}
		w.i++
	}
	return w.b[from:w.i], w.i > from && depth == 0
}
