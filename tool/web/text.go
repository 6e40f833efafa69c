package web

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decode reads data as text, by its mark, by the charset that the server
// names, by the one that a page names, or by what it looks to be.
func (f *fetch) decode(data []byte, charset string, page bool) (string, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data, charset = data[3:], "utf-8"
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		data, charset = data[2:], "utf-16le"
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		data, charset = data[2:], "utf-16be"
	case charset == "" && page:
		charset = named(data)
	}
	charset = strings.ToLower(strings.Trim(strings.TrimSpace(charset), `"'`))
	if charset == "" {
		charset = "windows-1252"
		if validSoFar(data) {
			charset = "utf-8"
		}
	}
	switch charset {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return strings.ToValidUTF8(string(data), "\uFFFD"), nil
	case "utf-16", "utf-16le":
		return wide(data, binary.LittleEndian), nil
	case "utf-16be":
		return wide(data, binary.BigEndian), nil
	case "iso-8859-1", "latin1", "windows-1252", "cp1252":
		return western(data), nil
	}
	if f.Decode != nil {
		r, err := f.Decode(charset, bytes.NewReader(data))
		if err == nil {
			var out []byte
			if out, err = io.ReadAll(io.LimitReader(r, 4*f.Body)); err == nil {
				return strings.ToValidUTF8(string(out), "\uFFFD"), nil
			}
		}
		return "", fmt.Errorf("its charset %s can't be read: %w", printable(charset), err)
	}
	return "", fmt.Errorf("its charset %s can't be read here", printable(charset))
}

// named is the charset that an HTML page says of itself in its first bytes.
func named(data []byte) string {
	head := lower(string(data[:min(len(data), 1024)]))
	for {
		_, after, ok := strings.Cut(head, "<meta")
		if !ok {
			return ""
		}
		tag, _, _ := strings.Cut(after, ">")
		if _, label, ok := strings.Cut(tag, "charset="); ok {
			label = strings.Trim(label, `"' `)
			if end := strings.IndexAny(label, `"' ;/>`); end >= 0 {
				label = label[:end]
			}
			if strings.HasPrefix(label, "utf-16") { // it was read as bytes to get here
				return "utf-8"
			}
			return label
		}
		head = after
	}
}

// validSoFar reports whether data is UTF-8, apart from a rune that a bound cut
// at its end: a short text has none.
func validSoFar(data []byte) bool {
	if len(data) < 1024 {
		return utf8.Valid(data)
	}
	for i := 0; i < utf8.UTFMax && i <= len(data); i++ {
		if utf8.Valid(data[:len(data)-i]) {
			return i == 0 || !utf8.FullRune(data[len(data)-i:])
		}
	}
	return false
}

func wide(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// western reads windows-1252, of which ISO-8859-1 is a part.
func western(data []byte) string {
	const high = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"
	runes := []rune(high)
	var b strings.Builder
	for _, c := range data {
		if c >= 0x80 && c < 0xa0 {
			b.WriteRune(runes[c-0x80])
			continue
		}
		b.WriteRune(rune(c))
	}
	return b.String()
}

// plain is tidied HTML without its tags.
func plain(tidy string) string {
	var b strings.Builder
	for tidy != "" {
		text, rest, tag := strings.Cut(tidy, "<")
		b.WriteString(html.UnescapeString(text))
		if !tag {
			break
		}
		name := strings.TrimPrefix(rest, "/")
		if i := strings.IndexAny(name, " >"); i >= 0 {
			name = name[:i]
		}
		if sortOf(name) != inline {
			b.WriteByte('\n')
		}
		_, tidy, _ = strings.Cut(rest, ">")
	}
	var lines []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
