package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
	"unicode/utf8"
)

// Sum is a record's chained CRC-32C.
type Sum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const hexDigits = "0123456789abcdef"

func (s Sum) hex() (h [8]byte) {
	for i := 7; i >= 0; i-- {
		h[i] = hexDigits[s&15]
		s >>= 4
	}
	return h
}

// String is the sum's eight hex digits.
func (s Sum) String() string { h := s.hex(); return string(h[:]) }

const (
	sumPrefix = `{"crc":"`
	sumEnd    = len(sumPrefix) + 8 // where the sum's closing quote stands
)

// marshal encodes without HTML escapes, so that a journal reads well; U+2028
// and U+2029 are escaped all the same, and bytes that are not UTF-8 become
// U+FFFD, so that a line is always one line of valid JSON.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// oneLine makes valid JSON fit for a line. Raw JSON within a payload, such as a
// model's arguments, is copied by the encoder as it came: it may hold bytes
// that are not UTF-8, and U+2028, which some readers take for a line's end.
func oneLine(data []byte) []byte {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	if bytes.IndexByte(data, '\n') >= 0 {
		var b bytes.Buffer
		if json.Compact(&b, data) == nil {
			data = b.Bytes()
		}
	}
	if bytes.Contains(data, []byte("\u2028")) || bytes.Contains(data, []byte("\u2029")) {
		data = bytes.ReplaceAll(data, []byte("\u2028"), []byte(`\u2028`))
		data = bytes.ReplaceAll(data, []byte("\u2029"), []byte(`\u2029`))
	}
	return data
}

// Encode appends the canonical bytes of r (no newline) to dst and returns
// them with the record's sum. prev is the sum of the record before, zero for
// the first.
func Encode(dst []byte, prev Sum, r *Record) ([]byte, Sum, error) {
	if len(r.Data) == 0 || bytes.IndexByte(r.Data, '\n') >= 0 {
		return dst, 0, fmt.Errorf("encode record %d (%s): data is empty or spans lines", r.Seq, r.Type)
	}
	start := len(dst)
	dst = append(dst, sumPrefix...)
	dst = append(dst, "00000000\",\"v\":"...)
	dst = strconv.AppendInt(dst, int64(r.V), 10)
	dst = append(dst, `,"b":`...)
	dst = strconv.AppendInt(dst, r.Batch, 10)
	dst = append(dst, `,"epoch":`...)
	dst = strconv.AppendUint(dst, uint64(r.Epoch), 10)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, int64(r.Seq), 10)
	if len(r.Span) > 0 {
		dst = append(dst, `,"span":[`...)
		for i, m := range r.Span {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = fmt.Appendf(dst, "[%d,%d]", m.Off, m.MS)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"time":"`...)
	dst = r.Time.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, '"')
	dst = appendString(dst, "type", string(r.Type))
	if r.Turn != 0 {
		dst = append(dst, `,"turn":`...)
		dst = strconv.AppendInt(dst, int64(r.Turn), 10)
	}
	if r.Step != 0 {
		dst = append(dst, `,"step":`...)
		dst = strconv.AppendInt(dst, int64(r.Step), 10)
	}
	if r.Call != "" {
		dst = appendString(dst, "call", string(r.Call))
	}
	dst = append(dst, r.Extra...)
	dst = append(dst, `,"data":`...)
	dst = append(dst, r.Data...)
	dst = append(dst, '}')
	line := dst[start:]
	sum := ChainSum(prev, line)
	h := sum.hex()
	copy(line[len(sumPrefix):], h[:])
	return dst, sum, nil
}

func appendString(dst []byte, key, val string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	dst = append(dst, '"', ':')
	b, _ := marshal(val) // a string always encodes
	return append(dst, b...)
}

// ChainSum returns the sum that line must carry after prev. line must be at
// least as long as the sum field; shorter lines give a sum that no line has.
func ChainSum(prev Sum, line []byte) Sum {
	if len(line) <= sumEnd {
		return ^prev
	}
	h := prev.hex()
	return Sum(crc32.Update(crc32.Update(0, castagnoli, h[:]), castagnoli, line[sumEnd:]))
}

// LineSum returns the sum written in line; ok is false if there is none.
func LineSum(line []byte) (s Sum, ok bool) {
	if len(line) <= sumEnd || string(line[:len(sumPrefix)]) != sumPrefix || line[sumEnd] != '"' {
		return 0, false
	}
	for _, c := range line[len(sumPrefix):sumEnd] {
		d := bytes.IndexByte([]byte(hexDigits), c)
		if d < 0 {
			return 0, false
		}
		s = s<<4 | Sum(d)
	}
	return s, true
}

// ErrSyntax is returned, wrapped, when a line is not a record.
var ErrSyntax = errors.New("not a record")

// Parse reads one line (no newline) into a record. It does not check the sum
// (see [ChainSum]) and does not decode data. The record's Line, Data and Extra
// share line's memory.
func Parse(line []byte) (Record, error) {
	var r Record
	sc := scanner{b: line}
	if !sc.eat('{') {
		return r, fmt.Errorf("%w: no object", ErrSyntax)
	}
	seen := 0
	for {
		from := sc.i
		key, val, more, err := sc.field()
		if err != nil {
			return r, err
		}
		known, err := r.set(key, val)
		if err != nil {
			return r, fmt.Errorf("%w: field %s: %v", ErrSyntax, key, err)
		}
		if !known {
			r.Extra = append(r.Extra, ',')
			r.Extra = append(r.Extra, bytes.TrimLeft(line[from:sc.end], ",")...)
		}
		seen++
		if !more {
			break
		}
	}
	if sc.i != len(line) || r.Type == "" || r.Data == nil {
		return r, fmt.Errorf("%w: incomplete", ErrSyntax)
	}
	r.Line = line
	return r, nil
}

func (r *Record) set(key string, val []byte) (known bool, err error) {
	switch key {
	case "crc":
	case "v":
		r.V, err = strconv.Atoi(string(val))
	case "b":
		r.Batch, err = strconv.ParseInt(string(val), 10, 64)
	case "epoch":
		var n uint64
		n, err = strconv.ParseUint(string(val), 10, 64)
		r.Epoch = Epoch(n)
	case "seq":
		var n int64
		n, err = strconv.ParseInt(string(val), 10, 64)
		r.Seq = Seq(n)
	case "span":
		err = json.Unmarshal(val, &r.Span)
	case "time":
		if len(val) < 2 {
			return true, errors.New("empty")
		}
		r.Time, err = time.Parse(time.RFC3339Nano, string(val[1:len(val)-1]))
	case "type":
		err = json.Unmarshal(val, (*string)(&r.Type))
	case "turn":
		r.Turn, err = strconv.Atoi(string(val))
	case "step":
		r.Step, err = strconv.Atoi(string(val))
	case "call":
		err = json.Unmarshal(val, (*string)(&r.Call))
	case "data":
		r.Data = val
	default:
		return false, nil
	}
	return true, err
}
