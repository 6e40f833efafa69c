package crashtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/turn"
)

const (
	asking    = "C(c1,ask) A'{}' E U(7,5) F(tool)\n"
	summary   = "answer always if user \"Summarize the conversation\"\n  T'They asked, and it was done.' U(9,4) F(stop)\n"
	refusal   = "  http 400 body {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}\n"
	toBeShort = "  http 400 body {\"error\":{\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}\n"
	around    = "  repeat 400 text 'round and round it goes, and then it goes '\n  finish stop\n"
)

// steering are the scenarios of what is said while a turn runs, of what is asked
// again, and of what ends an attempt from our side.
func steering() []Scenario {
	return append([]Scenario{
		{Name: "words that steered",
			Shows:  []string{`"type":"inbox/accepted"`, `"type":"step/end"`, `"steer":true`, `"steer":true`, `"type":"model/request"`},
			Script: asking + "T'With both.' U(9,2) F(stop)",
			Play:   amid(offer("the first words that steer", event.PriorityNext), offer("the second words that steer", event.PriorityNext))},
		{Name: "words behind a whole answer",
			Shows:  []string{`"type":"step/end"`, `"steer":true`, `"type":"model/request"`},
			Script: "T'One moment. ' W(1500ms) T'So.' U(7,5) F(stop)\nT'With them.' U(9,2) F(stop)",
			Play:   acts(event.TypeChunk, offer("words that come late", event.PriorityNext))},
		{Name: "urgent words that stopped a turn",
			Shows:  []string{`"type":"process/started"`, `"priority":"now"`, `"outcome":"stopped"`, `"type":"turn/end"`, `"type":"inbox/claimed"`},
			Script: "C(c1,append) A'{}' E C(c2,hang) A'{}' E F(tool)\nT'At once.' F(stop)",
			Play:   acts(event.TypeProcessStarted, offer("urgent words", event.PriorityNow))},
		{Name: "an entry that was edited",
			Shows:  []string{`a draft that waits`, `"type":"inbox/edited"`, `other words that wait`, `"type":"turn/end"`, `"type":"inbox/claimed"`},
			Script: asking + "T'Done.' F(stop)",
			Play:   amid(offer("a draft that waits", event.PriorityLater), edit("other words that wait"))},
		{Name: "an entry that was taken back",
			Shows:  []string{`"type":"inbox/dropped"`, `"why":"removed"`, `"type":"turn/end"`},
			Script: asking + "T'Done.' F(stop)",
			Play:   amid(offer("words that stay away", event.PriorityNext), remove)},
		{Name: "entries that were replaced",
			Shows:  []string{`"replaces":[`, `"why":"replaced"`, `"why":"replaced"`, `"type":"turn/end"`, `"type":"inbox/claimed"`},
			Script: asking + "T'Done.' F(stop)",
			Play:   amid(offer("the first draft", event.PriorityLater), offer("the second draft", event.PriorityNext), replaceAll("both drafts as one", event.PriorityLater))},
		{Name: "a stopped turn that was retried",
			Shows:  []string{`"type":"marker/aborted"`, `"outcome":"aborted"`, `"type":"rewind"`, `"retry_of":1`, `"type":"turn/end"`},
			Script: "T'Half of an ans' HANG\nT'The whole of it.' U(5,3) F(stop)",
			Play:   then(stopAt(event.TypeChunk, 1), retry)},
		{Name: "a failed turn that was retried",
			Shows:  []string{`"outcome":"failed"`, `"type":"rewind"`, `"retry_of":1`, `"outcome":"completed"`},
			Script: "answer\n" + refusal + "T'Now it works.' U(5,3) F(stop)",
			Play:   then(simply, retry)},
		{Name: "a steered turn that was retried",
			Shows:  []string{`"steer":true`, `"outcome":"aborted"`, `"type":"rewind"`, `"returns":[`, `"retry_of":1`, `"steer":true`, `"outcome":"completed"`},
			Script: asking + "T'Half of an ans' HANG\nT'Once more.' F(stop)\nT'And with those words.' U(5,3) F(stop)",
			Play:   then(amidAndStop(offer("words that steer twice", event.PriorityNext)), retry)},
		{Name: "a rewind that restores",
			Shows:  []string{`"type":"turn/end"`, `"type":"turn/end"`, `"type":"rewind"`, `"returns":[`},
			Script: "C(c1,append) A'{}' E F(tool)\nT'The first.' F(stop)\nC(c2,append) A'{}' E F(tool)\nT'The second.' F(stop)",
			Play:   then(simply, another("ask the second thing"), rewind(2, true))},
		{Name: "a rewind to the beginning",
			Shows:  []string{`"type":"turn/end"`, `"type":"turn/end"`, `"type":"rewind"`, `"from_turn":1`},
			Script: "C(c1,append) A'{}' E F(tool)\nT'The first.' F(stop)\nT'The second.' F(stop)",
			Play:   then(simply, another("ask the second thing"), rewind(1, false))},
	}, ended()...)
}

// ended are those of summaries, guards and budgets.
func ended() []Scenario {
	return []Scenario{
		{Name: "a summary at the limit",
			Shows:  []string{`"why":"limit"`, `"type":"compaction/summary"`, `"installed":true`, `"outcome":"completed"`},
			Gear:   limited(func(l *ripcord.Limits) { l.Context = 100 }),
			Script: summary + "C(c1,append) A'{}' E U(900,5) F(tool)\nT'Done.' U(900,3) F(stop)"},
		{Name: "a summary on an overflow",
			Shows:  []string{`"why":"overflow"`, `"type":"compaction/summary"`, `"installed":true`, `"outcome":"completed"`},
			Script: summary + "C(c1,append) A'{}' E U(7,5) F(tool)\nanswer\n" + toBeShort + "T'Done.' U(5,3) F(stop)"},
		{Name: "a summary by command",
			Shows:  []string{`"type":"turn/end"`, `"why":"command"`, `"type":"compaction/summary"`, `"installed":true`, `"type":"turn/end"`},
			Script: summary + "C(c1,append) A'{}' E U(7,5) F(tool)\nT'Done.' U(5,3) F(stop)",
			Play:   then(simply, compact)},
		{Name: "a summary that failed",
			Shows:  []string{`"why":"command"`, `"installed":false`, `"outcome":"failed"`},
			Script: "answer if user \"Summarize the conversation\"\n" + refusal + "T'Done.' U(5,3) F(stop)",
			Play:   then(simply, compact)},
		{Name: "a summary that was stopped",
			Shows:  []string{`"why":"command"`, `"installed":false`, `"outcome":"aborted"`},
			Script: "answer if user \"Summarize the conversation\"\n  T'They asked, and' HANG\nT'Done.' U(5,3) F(stop)",
			Play:   then(simply, compactAndStop)},
		{Name: "a stall that wakes",
			Shows:  []string{`"guard":"stall"`, `"type":"guard/wake"`, `"turn_kind":"wake"`, `"outcome":"stalled"`, `"type":"turn/start"`, `"outcome":"completed"`},
			Gear:   guarded(turn.Guards{Stall: quick}),
			Script: "T'I write it. ' C(c1,append) A'{\"line\":\"a long line that is never' HANG\nT'In pieces, then.' U(5,3) F(stop)",
			Play:   then(simply, woken)},
		{Name: "a stall that is asked again",
			Shows:  []string{`"guard":"stall"`, `"type":"model/failed"`, `"type":"model/request"`, `"outcome":"completed"`},
			Gear:   guarded(turn.Guards{Stall: quick}),
			Script: "T'Half of it' HANG\nT'All of it.' U(5,3) F(stop)"},
		{Name: "a loop that was told",
			Shows:  []string{`"guard":"loop"`, `"type":"model/failed"`, `"partial":true`, `stopped there`, `"outcome":"completed"`},
			Script: "answer\n" + around + "T'I am done.' U(5,3) F(stop)"},
		{Name: "a loop that ended the turn",
			Shows:  []string{`"guard":"loop"`, `"guard":"loop"`, `"outcome":"looped"`},
			Script: "answer\n" + around + "answer\n" + around},
		{Name: "a session that is spent",
			Shows:  []string{`"outcome":"budget"`, `session_tokens`},
			Gear:   limited(func(l *ripcord.Limits) { l.Session = guard.Budget{Tokens: 20} }),
			Script: "C(c1,append) A'{}' E U(17,15) F(tool)\nT'Not any more.' F(stop)", Ends: event.TurnBudget},
	}
}

// quick are the limits of a guard that sees a stall at once; what comes first is
// waited for as long as ever.
var quick = guard.StallLimits{First: time.Minute, Idle: time.Second, Argument: 8, Silence: time.Millisecond}

func limited(set func(*ripcord.Limits)) func(context.Context) (*Gear, error) {
	return func(context.Context) (*Gear, error) { return &Gear{Limits: set}, nil }
}

func guarded(g turn.Guards) func(context.Context) (*Gear, error) {
	return func(context.Context) (*Gear, error) { return &Gear{Guards: g}, nil }
}

// act is what somebody does with the inbox. It gets the inputs that were offered
// so far and returns what is offered then; those are waited for in the end.
type act func(ctx context.Context, s *Stage, offered []event.InputID) ([]event.InputID, error)

// acts does the first turn and these acts in it once a record of type t is
// there; it waits for the turns of all that was offered and not taken back.
func acts(t event.Type, acts ...act) func(context.Context, *Stage) error {
	return playing(t, acts, nil)
}

// amid does them while a question is open, which is then answered with yes.
func amid(acts ...act) func(context.Context, *Stage) error {
	return playing(event.TypeApprovalAsked, acts, say(event.Allow, ""))
}

// amidAndStop goes on from there to the next words of the model, where the turn
// is stopped.
func amidAndStop(acts ...act) func(context.Context, *Stage) error {
	return playing(event.TypeApprovalAsked, acts, func(ctx context.Context, s *Stage, input event.InputID, r *event.Record) error {
		if err := say(event.Allow, "")(ctx, s, input, r); err != nil {
			return err
		}
		if err := s.until(ctx, func(r *event.Record) bool { return r.Type == event.TypeChunk && r.Step > 1 }); err != nil {
			return err
		}
		return stop(ctx, s, input, r)
	})
}

func playing(t event.Type, acts []act, then func(context.Context, *Stage, event.InputID, *event.Record) error) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		input, err := s.Submit(ctx, "go")
		if err != nil {
			return err
		}
		var at event.Record
		if err := s.until(ctx, func(r *event.Record) bool { at = *r; return r.Type == t }); err != nil {
			return err
		}
		var offered []event.InputID
		for _, a := range acts {
			if offered, err = a(ctx, s, offered); err != nil {
				return err
			}
		}
		if then != nil {
			if err := then(ctx, s, input, &at); err != nil {
				return err
			}
		}
		for _, id := range append(offered, input) {
			if _, err := s.Wait(ctx, id); err != nil {
				return err
			}
		}
		return nil
	}
}

func offer(text string, p event.Priority) act { return offering(text, p, false) }

// replaceAll offers what stands for all that was offered before.
func replaceAll(text string, p event.Priority) act { return offering(text, p, true) }

func offering(text string, p event.Priority, replaces bool) act {
	return func(ctx context.Context, s *Stage, offered []event.InputID) ([]event.InputID, error) {
		req := api.SubmitRequest{Session: s.ID, Input: event.UserInput{Content: event.TextOf(text)}, Priority: p, By: "crashtest"}
		if replaces {
			req.Replaces, offered = offered, nil
		}
		id, err := s.Offer(ctx, req)
		return append(offered, id), err
	}
}

// edit gives the last one other words.
func edit(text string) act {
	return func(ctx context.Context, s *Stage, offered []event.InputID) ([]event.InputID, error) {
		return offered, s.Service.EditInput(ctx, api.EditRequest{Session: s.ID, ID: offered[len(offered)-1], Input: event.UserInput{Content: event.TextOf(text)}})
	}
}

// remove takes the last one back.
func remove(ctx context.Context, s *Stage, offered []event.InputID) ([]event.InputID, error) {
	last := len(offered) - 1
	return offered[:last], s.Service.RemoveInput(ctx, api.RemoveRequest{Session: s.ID, ID: offered[last]})
}

// then does one thing behind the other.
func then(parts ...func(context.Context, *Stage) error) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		for i, part := range parts {
			if err := part(ctx, s); err != nil {
				return fmt.Errorf("part %d: %w", i+1, err)
			}
		}
		return nil
	}
}

func simply(ctx context.Context, s *Stage) error { return another("go")(ctx, s) }

func another(text string) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		_, err := s.Run(ctx, text)
		return err
	}
}

func retry(ctx context.Context, s *Stage) error {
	sub, err := s.Service.Retry(ctx, api.RetryRequest{Session: s.ID, By: "crashtest"})
	if err != nil {
		return err
	}
	_, err = s.Wait(ctx, sub.Input)
	return err
}

func rewind(to int, restore bool) func(context.Context, *Stage) error {
	return func(ctx context.Context, s *Stage) error {
		_, err := s.Service.Rewind(ctx, api.RewindRequest{Session: s.ID, Turn: to, Restore: restore, By: "crashtest"})
		return err
	}
}

func compact(ctx context.Context, s *Stage) error {
	sub, err := s.Service.Compact(ctx, s.ID)
	if err != nil {
		return err
	}
	_, err = s.Service.Wait(ctx, s.ID, sub.Input)
	return err
}

// compactAndStop stops it once the model was asked.
func compactAndStop(ctx context.Context, s *Stage) error {
	sub, err := s.Service.Compact(ctx, s.ID)
	if err != nil {
		return err
	}
	if err := s.until(ctx, func(r *event.Record) bool { return r.Type == event.TypeCompactionStarted }); err != nil {
		return err
	}
	if err := stop(ctx, s, sub.Input, nil); err != nil {
		return err
	}
	_, err = s.Service.Wait(ctx, s.ID, sub.Input)
	return err
}

// woken waits for the turn that a guard begins.
func woken(ctx context.Context, s *Stage) error {
	var id event.InputID
	err := s.until(ctx, func(r *event.Record) bool {
		if p, err := r.Body(); err == nil {
			if a, ok := p.(event.InboxAccepted); ok && a.Kind == event.TurnWake {
				id = a.ID
			}
		}
		return id != ""
	})
	if err != nil {
		return err
	}
	_, err = s.Service.Wait(ctx, s.ID, id)
	return err
}

// place is where the oracle sees an input by the records alone.
type place struct {
	state    inputState
	text     string
	turn     int       // that claimed it last
	at       event.Seq // where it did
	steer    bool      // it entered at a step's end
	replaces []event.InputID
	in       event.InputID // whose words have these in them
}

type inputState int

const (
	inputWaits inputState = iota
	inputTaken            // it is in a turn
	inputGone             // it was dropped, which is its only account
	inputReplaced
)

// inbox judges what happens to an input: it is always in exactly one place.
func (w *walk) inbox(r *event.Record, p event.Payload) {
	waits := func(id event.InputID, what string) *place {
		in := w.inputs[id]
		if in == nil || in.state != inputWaits {
			w.say(4, "record %d %s input %s, which does not wait", r.Seq, what, id)
		}
		if in == nil {
			in = &place{}
			w.inputs[id] = in
		}
		return in
	}
	switch p := p.(type) {
	case event.InboxAccepted:
		if w.inputs[p.ID] != nil {
			w.say(4, "record %d accepts input %s a second time", r.Seq, p.ID)
		}
		w.inputs[p.ID] = &place{text: p.Input.Content.Text(), replaces: p.Replaces}
		for _, id := range p.Replaces {
			in := waits(id, "replaces")
			in.state, in.in = inputReplaced, p.ID
		}
		if p.Kind == event.TurnWake {
			w.wakes(r)
		}
	case event.InboxEdited:
		waits(p.ID, "edits").text = p.Input.Content.Text()
	case event.InboxClaimed:
		in := waits(p.ID, "takes")
		in.state, in.turn, in.at, in.steer = inputTaken, r.Turn, r.Seq, p.Steer
	case event.InboxDropped:
		if in := w.inputs[p.ID]; p.Why == event.DroppedReplaced && in != nil && in.state == inputReplaced {
			return
		}
		in := waits(p.ID, "drops")
		in.state = inputGone
		for _, id := range in.replaces {
			if p.Why == event.DroppedRefused {
				w.inputs[id].state = inputWaits
			}
		}
	}
	if w.group {
		w.say(6, "record %d (%s): recovery changes what people said", r.Seq, r.Type)
	}
}

// rewound judges a rewind: it is of turns that have ended, what comes back was
// in one of them, and what is asked again comes back with it.
func (w *walk) rewound(r *event.Record, p event.Rewound) {
	if w.turn != 0 || p.From < 1 || p.From > w.ended || w.group {
		w.say(4, "record %d hides the turns from %d on, open is %d, ended %d, by recovery: %v", r.Seq, p.From, w.turn, w.ended, w.group)
	}
	for n := p.From; n <= w.ended; n++ {
		w.hidden[n] = true
	}
	for _, b := range p.Returns {
		w.returned(r, b)
	}
	for id, in := range w.inputs {
		if p.Why == "retry" && in.turn == p.From && in.state == inputTaken && !in.steer {
			w.say(1, "record %d hides turn %d to ask it again, and its input %s is nowhere", r.Seq, p.From, id)
		}
	}
}

func (w *walk) returned(r *event.Record, b event.Returned) {
	in := w.inputs[b.ID]
	if in == nil || in.state != inputTaken || !w.hidden[in.turn] {
		w.say(4, "record %d returns input %s, which was in no turn that is hidden", r.Seq, b.ID)
		return
	}
	in.state = inputWaits
}

// compaction judges a summary: it stands in its brackets, and what they end with
// is whether it does.
func (w *walk) compaction(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.CompactionStarted:
		if w.summing || w.turn == 0 {
			w.say(4, "record %d begins a summary, one is open: %v, the turn is %d", r.Seq, w.summing, w.turn)
		}
		w.summing, w.summed = true, false
	case event.CompactionSummary:
		if !w.summing || w.summed || w.group {
			w.say(4, "record %d is a summary, asked for: %v, there already: %v, by recovery: %v", r.Seq, w.summing, w.summed, w.group)
		}
		w.summed, w.summary, w.summaryAt = true, p.Content.Text(), r.Seq
	case event.CompactionEnded:
		if !w.summing || p.Installed != w.summed {
			w.say(4, "record %d ends a summary as installed %v, it stands: %v", r.Seq, p.Installed, w.summed)
		}
		w.summing = false
	}
}

// wakes judges a guard's notice: one a turn.
func (w *walk) wakes(r *event.Record) {
	if w.wake == nil || w.notice != nil {
		w.say(4, "record %d gives a notice of a guard that nobody announced, or a second one", r.Seq)
	}
	w.notice = r
}

// unwoken judges a turn's end: one that announced a wake has given its notice,
// in the same write.
func (w *walk) unwoken(r *event.Record) {
	if w.wake != nil && !w.group {
		switch {
		case w.notice == nil:
			w.say(1, "turn %d ends and the notice that it announced is lost", r.Turn)
		case w.notice.Batch != r.Batch:
			w.say(1, "turn %d ends in batch %d and its notice stands in batch %d", r.Turn, r.Batch, w.notice.Batch)
		}
	}
	w.wake, w.notice = nil, nil
}

// said judges that each text is in exactly one place: what a turn has taken is
// in the history once, the rest is not. Where a summary stands it may be in
// that.
func (j *judge) said(history []event.Message) {
	least, most := map[string]int{}, map[string]int{}
	for _, in := range j.w.inputs {
		if in.text == "" {
			continue
		}
		visible := in.state == inputTaken && !j.w.hidden[in.turn]
		least[in.text] += 0
		if visible {
			most[in.text]++
			if in.at > j.w.summaryAt {
				least[in.text]++
			}
		}
	}
	for text := range least {
		n := 0
		for _, m := range history {
			if got := m.Content.Text(); m.Role == event.RoleUser && (got == text || got == "<system-reminder>\n"+text+"\n</system-reminder>") {
				n++
			}
		}
		if n < least[text] || n > most[text] {
			j.say(1, "%q is said %d times, by the records between %d and %d", clip(text), n, least[text], most[text])
		}
	}
	head := ""
	if len(history) > 0 {
		head = history[0].Content.Text()
	}
	if (j.w.summary != "" || strings.HasPrefix(head, "<conversation_summary>")) && head != j.w.summary {
		j.say(12, "the context begins with %q and the last summary is %q", clip(head), clip(j.w.summary))
	}
}

func clip(s string) string { return s[:min(len(s), 80)] }
