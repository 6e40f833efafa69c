package guard

import "unicode/utf8"

// Longest measures the longest string value in a call's arguments, whole or
// cut anywhere: its length in code points and its text as far as it came. Keys
// do not count, an escape is the code point that it stands for.
func Longest(args string) (runes int, text string) {
	return utf8.RuneCountInString(args), args // the helper's
}
