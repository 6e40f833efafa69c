package builtin

// What the tests of pure parts need.

// ParsePatch parses a patch and reports how many sections it has.
func ParsePatch(text string) (int, error) {
	s, err := parsePatch(text)
	return len(s), err
}

// ApplyPatch applies the first section of a patch to content.
func ApplyPatch(content []byte, text string) ([]byte, error) {
	s, err := parsePatch(text)
	if err != nil {
		return nil, err
	}
	b := newBody(content)
	if err := b.apply(s[0]); err != nil {
		return nil, err
	}
	return b.bytes(), nil
}

// SameBody takes content apart and puts it together again.
func SameBody(content []byte) []byte { return newBody(content).bytes() }

// Ignored asks one ignore file at the top.
func Ignored(file, rel string, folder bool) bool {
	return parseIgnore("", []byte(file)).ignored(rel, folder)
}

// CheckGlob says what is wrong about a pattern.
func CheckGlob(pattern string) error { return checkGlob(pattern) }
