package ripcord_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/turn"
)

// past makes a session of n turns in root; each has a call with output of so
// many bytes, and every `every` turns there is a summary. It returns its id.
func past(t testing.TB, root string, n, output, every int) event.SessionID {
	t.Helper()
	store, err := file.Open(root, file.Options{Check: check})
	if err != nil {
		t.Fatal(err)
	}
	id := event.SessionID("s_past" + strconv.Itoa(n))
	w, err := store.Create(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var batch []event.Record
	last := event.Seq(-1)
	put := func(turn, step int, call event.CallID, p event.Payload) {
		r, err := event.New(p, time.Unix(1_700_000_000+int64(last), 0))
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Epoch, r.Turn, r.Step, r.Call = last+1+event.Seq(len(batch)), 1, turn, step, call
		batch = append(batch, r)
	}
	flush := func() {
		if last, err = w.Append(t.Context(), last, 1, batch); err != nil {
			t.Fatal(err)
		}
		batch = batch[:0]
		if _, err := w.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put(0, 0, "", event.SessionOpened{ID: id})
	put(0, 0, "", event.LeaseTaken{Owner: proc.Self()})
	rng, ok := rand.New(rand.NewPCG(5, 5)), true
	noise := make([]byte, output)
	for i := 1; i <= n; i++ {
		in, call := event.InputID(fmt.Sprintf("i_%d", i)), event.CallID(fmt.Sprintf("c_%d", i))
		put(0, 0, "", event.InboxAccepted{ID: in, Input: event.UserInput{Content: event.TextOf(fmt.Sprintf("prompt no. %d.", i))}, Priority: event.PriorityLater})
		put(i, 0, "", event.TurnStarted{Kind: event.TurnInput, Input: in})
		put(i, 1, "", event.StepStarted{})
		put(i, 1, "", event.InboxClaimed{ID: in})
		put(i, 1, "", event.ModelRequest{Attempt: 1})
		if output > 0 {
			for j := range noise {
				noise[j] = 'a' + byte(rng.IntN(26))
			}
			put(i, 1, "", event.AssistantMessage{Attempt: 1, Content: event.Content{event.ToolCall{ID: call, Name: "bash", Args: json.RawMessage(`{"command":"x"}`)}}, Finish: event.FinishTools})
			put(i, 1, call, event.CallRequested{Name: "bash", Args: json.RawMessage(`{"command":"x"}`)})
			put(i, 1, call, event.CallApproved{By: "policy"})
			put(i, 1, call, event.CallStarted{Behaviour: "COOPERATIVE", Effect: "unsafe"})
			put(i, 1, call, event.CallEnded{Outcome: event.CallFinished, Success: &ok, Content: event.TextOf(string(noise))})
			put(i, 1, "", event.StepEnded{})
			put(i, 2, "", event.StepStarted{})
			put(i, 2, "", event.ModelRequest{Attempt: 1})
			put(i, 2, "", event.AssistantMessage{Attempt: 1, Content: event.TextOf(fmt.Sprintf("answer no. %d.", i)), Finish: event.FinishStop})
			put(i, 2, "", event.StepEnded{})
		} else {
			put(i, 1, "", event.AssistantMessage{Attempt: 1, Content: event.TextOf(fmt.Sprintf("answer no. %d.", i)), Finish: event.FinishStop})
			put(i, 1, "", event.StepEnded{})
		}
		put(i, 0, "", event.TurnEnded{Outcome: event.TurnCompleted})
		if every > 0 && i%every == 0 {
			upto := last + event.Seq(len(batch))
			put(0, 0, "", event.CompactionStarted{Upto: upto, Why: "command"})
			put(0, 0, "", event.CompactionSummary{Upto: upto, Content: event.TextOf(fmt.Sprintf("a summary up to turn %d", i))})
			put(0, 0, "", event.CompactionEnded{Installed: true})
		}
		if i%8 == 0 {
			flush()
		}
	}
	flush()
	if _, err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}

// reads is the context as the model reads it.
func reads(l *turn.Ledger) string {
	var b strings.Builder
	for _, m := range l.History {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Content.Text())
	}
	return b.String()
}

// A session of three hundred turns with one good summary: whatever cuts the next
// one short, at its beginning, half-way and just before its end, the context is
// what it was, the journal only grows, what waits still waits, and a later
// summary works.
//
// proves TRN-12, REC-03, B117, B119
func TestASummaryThatIsCutShortCostsNothing(t *testing.T) {
	made := t.TempDir()
	id := past(t, made, 300, 0, 150)
	for at, words := range map[string]string{"at its beginning": "", "half-way": "  text The first half of it.\n", "just before its end": "  text All of it but the end.\n  usage 900 90\n"} {
		for _, how := range []string{"an Esc", "a new message", "a death"} {
			t.Run(how+" "+at, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, "answer if user Summarize\n  headers\n"+words+"  hang\nanswer always if user Summarize\n  text All of it.\n  finish stop\ndefault\n  text fine\n  finish stop\n")
				b.id = id
				if err := os.CopyFS(filepath.Join(b.root, "sessions", string(id)), os.DirFS(filepath.Join(made, "sessions", string(id)))); err != nil {
					t.Fatal(err)
				}
				b.open(id)
				before, old := reads(b.fold()), b.journal()
				sub, err := b.rt.Compact(b.ctx, b.id)
				if err != nil {
					t.Fatal(err)
				}
				b.until("it is asked", func() bool { return len(b.server.Requests()) == 1 })
				waiting := b.offer(event.TextOf("later words"), event.PriorityLater)
				switch how {
				case "an Esc":
					b.esc(sub.Input)
					b.outcome(b.wait(sub.Input), event.TurnAborted)
				case "a new message":
					now := b.offer(event.TextOf("new words"), event.PriorityNow)
					b.outcome(b.wait(sub.Input), event.TurnAborted)
					b.outcome(b.wait(now.Input), event.TurnCompleted)
					b.wait(waiting.Input)
				case "a death":
					first := b
					b = b.dies()
					first.esc("")
					first.wait(sub.Input)
				}
				l := b.fold()
				if got := reads(l); !strings.HasPrefix(got, before) || strings.Contains(got, "first half") || strings.Contains(got, "All of it") {
					t.Errorf("the context ends\n%s", got[max(0, len(got)-400):])
				}
				if how != "a new message" && l.Box.Len() != 1 {
					t.Errorf("%d wait", l.Box.Len())
				}
				if !strings.HasPrefix(b.journal(), old) {
					t.Error("the journal was changed behind its end")
				}
				if sub, err = b.rt.Compact(b.ctx, b.id); err != nil {
					t.Fatal(err)
				}
				b.outcome(b.wait(sub.Input), event.TurnCompleted)
				if got := reads(b.fold()); len(got) > 2000 || !strings.Contains(got, "All of it.") {
					t.Errorf("the context is\n%s", got)
				}
			})
		}
	}
}

// A summary that fails half-way leaves the next request as if it had not been
// asked for; one that works leaves itself and what comes after it.
//
// proves TRN-12, B118
func TestASummaryIsAllOrNothing(t *testing.T) {
	b := newBench(t, "answer if user Summarize\n  text "+strings.Repeat("token ", 40)+"\n  error rate_limit_error slow down\nanswer always if user Summarize\n  text All of it.\n  finish stop\ndefault\n  text fine\n  finish stop\n")
	b.run("first words")
	before := b.fold().History
	sub, err := b.rt.Compact(b.ctx, b.id)
	if err != nil {
		t.Fatal(err)
	}
	res := b.wait(sub.Input)
	if b.outcome(res, event.TurnFailed); res.Error == nil || res.Error.Code != string(event.FailCompaction) {
		t.Errorf("%+v", res.Error)
	}
	b.run("hello")
	var req struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(b.lastRequest()), &req); err != nil || len(req.Messages) != len(before)+1 || strings.Contains(b.lastRequest(), "token token") {
		t.Errorf("%d messages, %v: %s", len(req.Messages), err, b.lastRequest())
	}
	if sub, err = b.rt.Compact(b.ctx, b.id); err != nil {
		t.Fatal(err)
	}
	b.outcome(b.wait(sub.Input), event.TurnCompleted)
	b.run("and now")
	if last := b.lastRequest(); strings.Contains(last, "first words") || strings.Contains(last, "hello") || strings.Count(last, "All of it.") != 1 || strings.Count(last, "and now") != 1 {
		t.Errorf("asked with %s", last)
	}
}

// A turn whose third step of six fills the context goes on behind a summary, and
// runs nothing twice; where none can be made and the provider takes no more, it
// fails and says so.
//
// proves TRN-12, B068, B122
func TestATurnGoesOnBehindItsSummary(t *testing.T) {
	steps := func(overflow string) string {
		var s strings.Builder
		for i := 1; i <= 6; i++ {
			out := "echo small"
			if i == 3 {
				out = "seq 2000 | tr '\\n' ' '"
			}
			if i == 4 {
				s.WriteString(overflow)
			}
			fmt.Fprintf(&s, "answer\n%sfinish tool\n", bash(fmt.Sprintf("c%d", i), fmt.Sprintf("echo %d >>ledger; %s", i, out)))
		}
		return s.String() + "answer\n  text All six.\n  finish stop\n"
	}
	ledger := func(b *bench) string {
		raw, _ := os.ReadFile(filepath.Join(b.cwd, "ledger"))
		return strings.Join(strings.Fields(string(raw)), " ")
	}
	b := newBench(t, "answer always if user Summarize\n  text Three steps are done.\n  finish stop\n"+steps(""), withBash(t), func(c *ripcord.Config) {
		c.Tools, c.Limits.Context = c.Tools[:1], 3000
	})
	res := b.run("six steps")
	if b.outcome(res, event.TurnCompleted); res.Text != "All six." || ledger(b) != "1 2 3 4 5 6" || b.recorded(event.TypeCompactionSummary) == 0 {
		t.Errorf("%s, ran %s, %d summaries", res.Text, ledger(b), b.recorded(event.TypeCompactionSummary))
	}
	if l := b.fold(); len(l.Turn.Calls) != 6 || !strings.Contains(reads(l), "six steps") {
		t.Errorf("%d calls, context\n%s", len(l.Turn.Calls), reads(l))
	}
	tooLong := "answer\n  http 400 body {\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}\n"
	b = newBench(t, "answer if user Summarize\n  http 500\n"+steps(tooLong), withBash(t))
	res = b.run("six steps")
	if b.outcome(res, event.TurnFailed); res.Error == nil || res.Error.Code != string(event.FailCompaction) || ledger(b) != "1 2 3" {
		t.Errorf("%+v, ran %s", res.Error, ledger(b))
	}
}

// big asks for the sizes that the cases name, which take minutes.
func big() bool { return os.Getenv("RIPCORD_BIG") != "" }

// peak is how much the heap grew at most while f ran, and what of it stayed.
func peak(f func()) (most, left int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // what is garbage is not counted for long
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	base := heap()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // ends with f
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				metrics.Read(sample)
				most = max(most, int64(sample[0].Value.Uint64())-base)
			case <-stop:
				return
			}
		}
	}()
	f()
	close(stop)
	<-done
	runtime.GC()
	return most, heap() - base
}

// Resuming reads a journal as a stream: what it takes follows the live context
// and not the file. RIPCORD_BIG=1 has it read two gigabytes.
//
// proves LOG-16, B164
func TestResumingFollowsTheContextNotTheFile(t *testing.T) {
	size := 10 << 20
	if big() {
		size = 2 << 30
	}
	const output = 30 << 10
	b := newBench(t, "answer\n  text fine\n  finish stop\n")
	turns := size / output
	b.id = past(t, b.root, turns, output, max(turns/20, 1))
	if info, err := os.Stat(filepath.Join(b.root, "sessions", string(b.id), "journal.jsonl")); err != nil || info.Size() < int64(size) {
		t.Fatalf("%+v, %v", info, err)
	}
	most, left := peak(func() { b.open(b.id) })
	t.Logf("%d MB, the heap grew by %d KB at most, %d KB stayed", size>>20, most>>10, left>>10)
	if bound := int64(7<<20) + int64(turns)*1024; most > bound || left > bound/2 { // what is kept of a turn that is over is some hundreds of bytes
		t.Errorf("over a journal of %d MB the heap grew by %d KB, %d KB stayed", size>>20, most>>10, left>>10)
	}
	b.outcome(b.run("go on"), event.TurnCompleted)
}

// damaged is a journal whose fifth line was lost to a power cut.
func damaged(journal []byte) []byte {
	lines := bytes.SplitAfter(journal, []byte("\n"))
	lines[4] = append(bytes.Repeat([]byte{0}, 300), '\n')
	return bytes.Join(lines, nil)
}

// bytesRead is how many bytes this process has read so far, from wherever.
func bytesRead(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("this system does not count what a process reads")
	}
	var n int
	if _, err := fmt.Sscanf(string(raw), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The list of three thousand sessions, some of them long, one broken, reads a
// bounded piece of each.
//
// proves LOG-15, LOG-16, IFC-12, B166
func TestAListOfThousandsReadsABoundedPieceOfEach(t *testing.T) {
	n := 400
	if big() {
		n = 3000
	}
	b := newBench(t, "answer\n  text fine\n  finish stop\n")
	dir := filepath.Join(b.root, "sessions")
	copies := func(of event.SessionID, name string, n int) {
		from := filepath.Join(dir, string(of), "journal.jsonl")
		for i := range n {
			to := filepath.Join(dir, fmt.Sprintf("s_%s%d", name, i))
			if err := os.Mkdir(to, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(from, filepath.Join(to, "journal.jsonl")); err != nil {
				t.Fatal(err)
			}
		}
	}
	copies(past(t, b.root, 20, 0, 0), "small", n-60)
	copies(past(t, b.root, 200, 30<<10, 0), "large", 60)
	broken := filepath.Join(dir, "s_broken")
	if err := os.Mkdir(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "s_small0", "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "journal.jsonl"), damaged(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	before, start := bytesRead(t), time.Now()
	var all []api.SessionInfo
	grew, _ := peak(func() {
		var err error
		if all, err = b.rt.Sessions(b.ctx); err != nil {
			t.Fatal(err)
		}
	})
	each := (bytesRead(t) - before) / len(all)
	t.Logf("%d sessions in %v, %d bytes read of each, the heap grew by %d MB", len(all), time.Since(start), each, grew>>20)
	if len(all) < n || each > 160<<10 || grew > 100<<20 {
		t.Errorf("%d sessions, %d bytes read of each, the heap grew by %d MB", len(all), each, grew>>20)
	}
	states := map[string]int{}
	for _, s := range all {
		states[s.State]++
	}
	if states["damaged"] != 1 {
		t.Errorf("states %v", states)
	}
}

// Twenty pictures of a megabyte and thirty summaries: the pictures are beside
// the journal, each once, and a picture that is gone is said to be.
//
// proves LOG-07, TRN-12, B169
func TestPicturesAreKeptOnceHoweverOftenTheContextIsSummarized(t *testing.T) {
	b := newBench(t, "answer always if user Summarize\n  text All of it.\n  finish stop\ndefault\n  text I see.\n  finish stop\n")
	rng := rand.New(rand.NewPCG(9, 9))
	size := 96 << 10
	if big() {
		size = 1 << 20
	}
	compact := func() {
		sub, err := b.rt.Compact(b.ctx, b.id)
		if err != nil {
			t.Fatal(err)
		}
		b.outcome(b.wait(sub.Input), event.TurnCompleted)
	}
	shot := func(text string) {
		raw := make([]byte, size)
		for i := 0; i < size; i += 8 {
			v := rng.Uint64()
			for j := range 8 {
				raw[i+j] = byte(v >> (8 * j))
			}
		}
		sub := b.offer(append(event.TextOf(text), event.Image{MediaType: "image/png", Data: raw}), event.PriorityLater)
		b.outcome(b.wait(sub.Input), event.TurnCompleted)
	}
	for i := range 20 {
		shot(fmt.Sprintf("picture no. %d", i))
		compact()
	}
	for range 10 {
		b.run("words")
		compact()
	}
	if n := len(b.journal()); n > 1<<20 {
		t.Errorf("the journal has %d bytes", n)
	}
	if blobs := b.blobs(); len(blobs) != 20 {
		t.Errorf("%d blobs", len(blobs))
	}
	shot("the last one")
	err := filepath.WalkDir(filepath.Join(b.root, "sessions", string(b.id), "blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.again()
	res := b.run("what was it?")
	if *res.Outcome != event.TurnCompleted || !strings.Contains(b.lastRequest(), "the last one") {
		t.Errorf("a picture that is gone: %s, %+v", *res.Outcome, res.Error)
	}
}
