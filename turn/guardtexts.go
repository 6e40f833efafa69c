package turn

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/guard"
)

var reminderTag = regexp.MustCompile(`(?i)<(\s*/?\s*system-reminder)`)

// untagged is text of ours that holds words of the model's, such as a sample:
// what ends the reminder in them would have the rest taken for a person's.
func untagged(text string) string { return reminderTag.ReplaceAllString(text, "‹$1") }

// reminder wraps words of ours for the model.
func reminder(text string) string { return "<system-reminder>\n" + text + "\n</system-reminder>" }

// stallText says with its numbers where and for how long a stream was silent.
func stallText(at *cutAt, same *guard.Place) string {
	var b strings.Builder
	what := "nothing came from the model"
	if at.Limit == "first_event" {
		what = "no first event came from the model"
	}
	if at.LimitMS == 0 {
		b.WriteString(at.said)
	} else {
		fmt.Fprintf(&b, "%s for %.1f s (limit %v)", what, float64(at.Cut.Silence)/1000, time.Duration(at.LimitMS)*time.Millisecond)
	}
	switch {
	case at.Cut.Tool != "":
		fmt.Fprintf(&b, ", %d characters into the arguments of %s (longest string %d)", at.Cut.Stream, at.Cut.Tool, at.Cut.Argument)
	case at.Cut.Stream > 0:
		fmt.Fprintf(&b, ", %d characters into its answer", at.Cut.Stream)
	}
	if same != nil {
		fmt.Fprintf(&b, "; it stopped at the same place before, at %d: the same request would stop there again", same.Stream)
	}
	return b.String()
}

// wakeText is the notice of GRD-03, in its three parts: what was cut, whom the
// silence points at, and how to go on.
func wakeText(at *cutAt, same *guard.Place) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your last message was cut in the arguments of %s: %d characters of its longest argument had come, nothing of the call ran.\n",
		at.Cut.Tool, at.Cut.Argument)
	fmt.Fprintf(&b, "Then nothing came for %.1f s although nobody stopped it: the provider's stream went silent.", float64(at.Cut.Silence)/1000)
	if same != nil {
		fmt.Fprintf(&b, " This is the second cut at the same place (%d and %d characters): the same call would be cut there again.", same.Argument, at.Cut.Argument)
	}
	b.WriteString("\nChange the strategy: write a short skeleton first, then fill it in by edits.")
	if n := at.Cut.Largest; n > 0 && n < at.Cut.Argument {
		fmt.Fprintf(&b, " The longest argument that ever came through here had %d characters: write at most that many in one call.", n)
	} else {
		fmt.Fprintf(&b, " Keep each argument well below %d characters.", at.Cut.Argument/2)
	}
	return reminder(untagged(b.String()))
}

// text says what repeats, how often, with a short sample.
func (at *loopAt) text() string {
	if c := at.Calls; c != nil {
		switch c.Kind {
		case "failing":
			return fmt.Sprintf("every call failed in %d steps in a row (%s)", c.Count, c.Sample)
		case "cycle":
			return fmt.Sprintf("the same %d calls went round %d times with the same results (%s)", c.Period, c.Count, c.Sample)
		case "burst":
			return fmt.Sprintf("one answer asked for the same calls again and again, %d of them (%s)", c.Count, c.Sample)
		case "flood":
			return fmt.Sprintf("one answer asked for %d calls", c.Count)
		}
		return fmt.Sprintf("the same call had the same result %d times in a row (%s)", c.Count, c.Sample)
	}
	channel := map[string]string{"text": "answer", "reasoning": "reasoning", "args": "arguments"}[at.Channel]
	return fmt.Sprintf("the model's %s repeated itself: %q stands %d times in a row", channel, at.Repeat.Sample, at.Repeat.Count)
}
