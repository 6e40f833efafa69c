package tool

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// DecodeArgs reads a call's arguments; a type that does not fit is an error of
// kind [Reply].
func DecodeArgs(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return Replyf("the arguments can't be read; send the call again with a JSON object that fits the schema: %w", err)
	}
	return nil
}

// OneLine makes s fit for a question to a person: on one line of about limit
// bytes, nothing in it that a terminal would act on or that looks like nothing.
func OneLine(s string, limit int) string {
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= limit {
			fmt.Fprintf(&b, " … (%d bytes more)", len(s)-i)
			break
		}
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
