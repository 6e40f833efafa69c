package turn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// compacting is what is known of the summary under way.
type compacting struct {
	why   string // "limit", "overflow", "command"; empty: none
	kept  int    // messages that stay as they are
	tried bool   // one was tried since the last request that was answered
}

// TextSummarize asks the model for the summary that will stand for what went
// before.
const TextSummarize = "Summarize the conversation so far for yourself: you will go on from your summary alone. Keep what was asked, what was decided and why, what was done to which files with what result, what failed, what is still open, and every exact name, path, number and command that will be needed. Write only the summary. Call no tools."

const summaryHead = "<conversation_summary>\nWhat went before was replaced by this summary.\n"

// summaryMax bounds a summary, in bytes: one as long as what it stands for is
// none.
const summaryMax = 256 << 10

// full reports whether the next request would come too near to what the model
// takes.
func (s *State) full() bool {
	if s.opts.Context <= 0 || s.watch.compact.tried || s.kept() >= len(s.History) {
		return false
	}
	return float64(s.guess(sizeOf(s.Config, s.History))) >= s.opts.CompactAt*float64(s.opts.Context)
}

// kept is how many messages of the context a summary leaves as they are: those
// of the open step's beginning. A cut never falls between a call and its
// result.
func (s *State) kept() int {
	if p := s.past[s.turn]; p != nil && (s.Turn.Step <= 1 || s.kind == event.TurnCompact) {
		return len(s.History) - p.before
	}
	for i := len(s.History) - 1; i >= 0; i-- {
		if s.History[i].Role == event.RoleAssistant {
			return len(s.History) - i
		}
	}
	return len(s.History)
}

// compact asks for a summary before the next request. The turn goes on when it
// is there, and when it could not be made.
func (s *State) compact(why string) {
	s.to(PhaseCompacting)
	s.watch.compact = compacting{why: why, kept: s.kept(), tried: true}
	s.emit(event.CompactionStarted{Upto: s.Last(), Why: why}, "")
	s.tickets++
	s.attempt, s.pack = attempt{ticket: s.tickets, running: true}, pack{}
	n := len(s.History) - s.watch.compact.kept
	before := s.History[:n:n]
	if why == "overflow" { // what did not fit does not fit a summary's request either
		before = shortened(before)
	}
	messages := append(before, event.Message{Role: event.RoleUser, Content: event.TextOf(TextSummarize)})
	s.attempt.asked = sizeOf(s.Config, messages)
	s.do(Sync{}, Show{State: "compacting"}, AskSummary{Ticket: s.tickets, Turn: s.turn, Why: why, Config: *s.Config, Messages: messages})
}

// shortPart is what is left of a long part of a context that does not fit.
const shortPart = 2 << 10

// shortened is a context for the eyes of a summary alone: of long texts the
// beginning and the end, of pictures and files their names. Which message
// answers which stays as it is.
func shortened(messages []event.Message) []event.Message {
	out := slices.Clone(messages)
	for i := range out {
		c := slices.Clone(out[i].Content)
		for j, p := range c {
			switch p := p.(type) {
			case event.Text:
				if len(p.Text) > shortPart {
					c[j] = event.Text{Text: strings.ToValidUTF8(p.Text[:shortPart*3/4], "") + "\n…\n" + strings.ToValidUTF8(p.Text[len(p.Text)-shortPart/4:], "")}
				}
			case event.Image:
				c[j] = event.Text{Text: "[a picture: " + p.Name + "]"}
			case event.File:
				c[j] = event.Text{Text: "[a file: " + p.Name + "]"}
			case event.Reasoning, event.ToolCall:
			}
		}
		out[i].Content = c
	}
	return out
}

// compactNow begins a turn that asks for nothing but a summary.
func (s *State) compactNow(in Compact) {
	switch {
	case !s.accepting(in.Token):
		return
	case s.phase != PhaseIdle:
		s.refuse(in.Token, event.FailUsage, "a turn is running", "interrupt it first, or wait for its end")
		return
	case len(s.History) == 0:
		s.refuse(in.Token, event.FailUsage, "there is nothing to summarize: the session has no turn yet", "send it a prompt")
		return
	}
	s.arm(event.TurnCompact, in.ID)
	s.do(Reply{Token: in.Token, Value: in.ID})
	s.wake()
}

// summarized takes the summary, all or nothing: one that comes after the trip
// is never installed.
func (s *State) summarized(in Summarized) {
	if in.Ticket != s.attempt.ticket || !s.attempt.running {
		return
	}
	s.attempt.running = false
	s.attempt.bytes, s.attempt.tokens = in.Bytes, in.Tokens
	switch {
	case s.phase == PhaseUnwinding:
		s.settle()
	case s.phase != PhaseCompacting:
	case in.Cut: // the signal tripped: its own input is on the way
	case in.Failure != nil:
		s.unsummarized(*in.Failure)
	case in.Blocked != "":
		s.unsummarized(uncompactable(in))
	case strings.TrimSpace(in.Text) == "":
		s.unsummarized(event.Failure{Code: event.FailEmpty, Message: "the model gave an empty summary"})
	case len(in.Text) > summaryMax:
		s.unsummarized(event.Failure{Code: event.FailEmpty, Message: fmt.Sprintf("the summary is longer than %d bytes", summaryMax)})
	default:
		s.countSummary(true)
		text := summaryHead + in.Text
		if q := s.underWay(); q != "" {
			text += "\n\nThe request that is being worked on:\n" + q
		}
		s.emit(event.CompactionSummary{Upto: s.Last(), Content: event.TextOf(text + "\n</conversation_summary>"), Kept: s.watch.compact.kept}, "")
		s.emit(event.CompactionEnded{Installed: true}, "")
		s.uncompacted()
	}
}

// uncompactable says to people why a summary was not asked for.
func uncompactable(in Summarized) event.Failure {
	f := event.Failure{Code: event.FailBlocked, Message: in.Blocked + " did not let the context be summarized", Hint: "`ripcord config show --origin` says where the hook is set up"}
	if in.Why != "" {
		f.Message += ": " + in.Why
	}
	return f
}

// underWay is the request of the open turn where the summary stands for it.
func (s *State) underWay() string {
	if s.kind == event.TurnCompact || s.Turn.Step <= 1 {
		return ""
	}
	gone := slices.DeleteFunc(slices.Clone(s.Turn.words), s.stays)
	return clipText(strings.Join(gone, "\n\n"), 8<<10)
}

// stays reports whether words of the turn are in what a summary leaves as it
// is: they have steered the open step.
func (s *State) stays(words string) bool {
	for _, m := range s.History[len(s.History)-s.watch.compact.kept:] {
		if text := m.Content.Text(); m.Role == event.RoleUser && (text == words || text == reminder(words)) {
			return true
		}
	}
	return false
}

func clipText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// unsummarized leaves the context as it was.
func (s *State) unsummarized(f event.Failure) {
	s.countSummary(false)
	s.emit(event.CompactionEnded{Error: &f}, "")
	hint := "nothing of it was changed; try again, or begin a new session"
	if f.Code == event.FailBlocked { // another try asks the same hook
		hint = "nothing of it was changed; " + f.Hint
	}
	switch s.watch.compact.why {
	case "overflow", "command":
		s.cut(&How{Outcome: event.TurnFailed, Error: &event.Failure{Code: event.FailCompaction,
			Message: "the context could not be summarized: " + f.Message, Hint: hint}})
	default:
		s.do(Show{"warning", fmt.Sprintf("the context could not be summarized: %s; it stays as it is", f.Message)})
		s.request()
	}
}

// uncompacted goes on behind a summary.
func (s *State) uncompacted() {
	if s.watch.compact.why == "command" {
		s.emit(event.StepEnded{}, "")
		s.finish()
		return
	}
	s.request()
}

// countSummary records what the summary's call used.
func (s *State) countSummary(whole bool) {
	if s.attempt.counted || (!whole && s.attempt.bytes == 0 && s.attempt.tokens == (event.Tokens{})) {
		return
	}
	s.attempt.counted = true
	s.emit(s.counted(0, whole), "")
}

// sizeOf is a request's size in bytes, near enough for a guess at its tokens.
func sizeOf(c *event.ModelConfig, messages []event.Message) (n int) {
	if c != nil {
		n += len(c.System)
		for _, t := range c.Tools {
			n += len(t.Name) + len(t.Description) + len(t.Schema)
		}
	}
	for _, m := range messages {
		n += 8
		for _, p := range m.Content {
			switch p := p.(type) {
			case event.Text:
				n += len(p.Text)
			case event.Reasoning:
				n += len(p.Text) + len(p.Data)
			case event.ToolCall:
				n += len(p.Name) + len(p.Args)
			case event.Image: // about a thousand tokens, whatever it weighs
				n += 4 << 10
			case event.File:
				n += 4 << 10
			}
		}
	}
	return n
}

// guess is how many tokens so many bytes are: by what this session's provider
// counted, else four bytes each.
func (s *State) guess(bytes int) int64 {
	ratio := s.ratio
	if ratio == 0 {
		ratio = 0.25
	}
	return max(int64(float64(bytes)*ratio), 1)
}
