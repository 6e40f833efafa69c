package proc

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// mend makes valid UTF-8 without NUL bytes of b; odd counts the bytes that it
// had to replace.
func mend(b []byte) (text string, odd int) {
	if utf8.Valid(b) && !strings.Contains(string(b), "\x00") {
		return string(b), 0
	}
	var s strings.Builder
	s.Grow(len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == 0 || r == utf8.RuneError && n == 1 {
			r, odd = utf8.RuneError, odd+1
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String(), odd
}

// runeSize is what a decoded rune takes once mended.
func runeSize(r rune) int {
	if r == 0 {
		return utf8.RuneLen(utf8.RuneError)
	}
	return utf8.RuneLen(r)
}

// headOf says how many of b's first bytes make at most budget bytes of mended
// text. A rune that b cuts at its end is left to what follows.
func headOf(b []byte, budget int) (used int) {
	size := 0
	for used < len(b) {
		r, n := utf8.DecodeRune(b[used:])
		if r == utf8.RuneError && n == 1 && !utf8.FullRune(b[used:]) {
			return used
		}
		if size += runeSize(r); size > budget {
			return used
		}
		used += n
	}
	return used
}

// tailOf says how many of b's last bytes make at most budget bytes of mended
// text. The rest of a rune that b cuts at its start is left out.
func tailOf(b []byte, budget int) (used int) {
	first := 0
	for first < len(b) && first < utf8.UTFMax-1 && !utf8.RuneStart(b[first]) {
		first++
	}
	size, at := 0, len(b)
	for at > first {
		r, n := utf8.DecodeLastRune(b[:at])
		if size += runeSize(r); size > budget {
			break
		}
		at -= n
	}
	return len(b) - at
}

// omission stands where output was left out.
func omission(n int64) string { return fmt.Sprintf("\n… %d bytes omitted …\n", n) }

// omissionRoom is what an omission line takes at most.
const omissionRoom = 48
