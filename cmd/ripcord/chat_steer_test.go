package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model/scripted"
)

const steerAnswers = `answer always if user Summarize
  text a summary in the making
  hang
answer always if user stream
  text streaming words
  hang
answer always if user mute
  hang
answer always if user ponder
  reasoning thinking hard
  hang
answer always if user nearly and not user omega
  text nearly
  wait 30ms
  finish stop
answer always if result
  text all done
  finish stop
answer always if user sleeper
  call bash c1 {"command":"echo $$ >began; sleep 600 && touch M"}
  finish tool
default
  text answered ${user}.
  usage 12 6
  finish stop
`

// desk is a chat whose model outlives it, so that the requests of several
// processes can be looked at together.
type desk struct {
	*chat
	model *scripted.Server
	from  string // where the next process starts; empty: in its own folder
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	script, err := scripted.Parse(steerAnswers)
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.NewServer(script, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return &desk{model: server}
}

func openDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.open(t, t.TempDir())
	return d
}

func (d *desk) open(t *testing.T, dir string, args ...string) {
	t.Helper()
	d.chat = openChatFrom(t, cmp.Or(d.from, dir), dir, []string{"RIPCORD_PROVIDER=openai-chat", "RIPCORD_BASE_URL=" + d.model.URL()}, append(args, "--yes")...)
	d.sees("esc ")
}

// again kills the process and opens its session in another one, from another
// folder.
func (d *desk) again() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	_ = d.cmd.Wait()
	found, err := filepath.Glob(filepath.Join(d.dir, "home", "sessions", "*", "journal.jsonl"))
	if err != nil || len(found) != 1 {
		d.t.Fatalf("journals %v, %v", found, err)
	}
	d.from = d.t.TempDir()
	d.open(d.t, d.dir, "resume", filepath.Base(filepath.Dir(found[0])))
}

// records are the session's, as far as they are whole.
func (d *desk) records() (out []event.Record) {
	d.t.Helper()
	for line := range strings.Lines(d.journal()) {
		if r, err := event.Parse([]byte(strings.TrimSuffix(line, "\n"))); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// count counts the records of a type that hold text.
func (d *desk) count(typ event.Type, text string) (n int) {
	for _, r := range d.records() {
		if r.Type == typ && bytes.Contains(r.Data, []byte(text)) {
			n++
		}
	}
	return n
}

// gets waits for n records of a type that hold text.
func (d *desk) gets(n int, typ event.Type, text string) {
	d.t.Helper()
	eventually(d.t, fmt.Sprintf("%d %s with %q", n, typ, text), func() bool { return d.count(typ, text) == n }, func() string { return d.out.String() + tail(d.journal(), 30) })
}

// asked waits for a request whose last user message holds text, and returns it.
func (d *desk) asked(text string) (out *scripted.Request) {
	d.t.Helper()
	eventually(d.t, "a request for "+text, func() bool {
		for _, r := range d.model.Requests() {
			if said := users(r); len(said) > 0 && strings.Contains(said[len(said)-1], text) {
				out = r
			}
		}
		return out != nil
	}, func() string { return d.out.String() + tail(d.journal(), 30) })
	return out
}

func users(r *scripted.Request) (out []string) {
	for _, m := range r.Chat.Messages {
		if m.Role == "user" {
			out = append(out, m.Text())
		}
	}
	return out
}

// times counts how often text was said in the history of a request.
func times(r *scripted.Request, text string) (n int) {
	for _, m := range users(r) {
		n += strings.Count(m, text)
	}
	return n
}

const (
	esc      = "\x1b"
	altEnter = "\x1b\r"
	altUp    = "\x1b[1;3A"
)

// proves B043: what was queued is listed after Esc, one Enter sends all of it in
// order, and a kill -9 in between loses nothing
// proves IFC-06: a session that is resumed from another folder works in its own
func TestWhatWaitsOutlivesEscAndTheProcess(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.types("stream on\r")
	d.sees("streaming words")
	d.types("alpha\r")
	d.gets(1, event.TypeInboxAccepted, "alpha")
	d.types("beta\r")
	d.gets(1, event.TypeInboxAccepted, "beta")
	d.types(esc)
	d.sees("2 held")
	d.sees("beta")
	d.types("\r")
	if r := d.asked("beta"); times(r, "alpha\n\nbeta") != 1 || times(r, "alpha") != 1 {
		t.Errorf("said: %q", users(r))
	}
	d.gets(2, event.TypeInboxDropped, `"replaced"`)
	d.sees("done after") // its words are seen before its end

	d.types("stream on\r")
	d.gets(3, event.TypeTurnStarted, `"input"`)
	eventually(t, "the second stream", func() bool { return d.count(event.TypeChunk, "streaming") > 1 }, d.out.String)
	d.types("gamma\t")
	d.gets(1, event.TypeInboxAccepted, "gamma")
	d.types("delta\t")
	d.gets(1, event.TypeInboxAccepted, "delta")
	d.types(esc)
	d.gets(2, event.TypeTurnEnded, "USER_SIGINT")
	put(t, filepath.Join(d.dir, "AGENTS.md"), "Words of this project.\n")
	d.again()
	d.sees("held: gamma")
	d.sees("held: delta")
	d.types("\r")
	r := d.asked("delta")
	if times(r, "gamma") != 1 || times(r, "delta") != 1 {
		t.Errorf("said: %q", users(r))
	}
	if m := r.Chat.Messages[0]; m.Role != "system" || !strings.Contains(m.Text(), "Words of this project.") {
		t.Errorf("the model was told of another folder: %s %q", m.Role, m.Text())
	}
}

// proves B044: a queued text that is sent now is said once, behind the turn that
// it stopped, wherever that turn is
func TestSendNowIsSaidOnceBehindTheStoppedTurn(t *testing.T) {
	for name, c := range map[string]struct {
		prompt string
		busy   func(d *desk)
		sure   bool // the turn can't have reached its own end
	}{
		"text streams": {"stream on\r", func(d *desk) { d.sees("streaming words") }, true},
		"a tool runs": {"sleeper\r", func(d *desk) {
			eventually(d.t, "the tool", func() bool { return exists(filepath.Join(d.dir, "began")) }, d.out.String)
		}, true},
		"close to its end": {"nearly\r", func(*desk) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			d.types(c.prompt)
			c.busy(d)
			if c.sure {
				d.types("omega\t")
				d.sees("next turn: omega") // in the journal it stands before the chat hears of it
				d.types(altEnter)
			} else {
				d.types("omega\t" + altEnter)
			}
			d.asked("omega")
			d.gets(1, event.TypeAssistantMessage, "answered omega")
			d.types("and last\r")
			if r := d.asked("and last"); times(r, "omega") != 1 {
				t.Errorf("said: %q", users(r))
			}
			if !c.sure {
				return
			}
			d.gets(1, event.TypeTurnEnded, "NOW_PRIORITY_INPUT")
			j := d.journal()
			if end, start := strings.Index(j, "NOW_PRIORITY_INPUT"), strings.LastIndex(j[:strings.Index(j, "answered omega")], `"type":"turn/start"`); end > start {
				t.Errorf("the turn of the text began before the stopped one ended:\n%s", j)
			}
		})
	}
}

// proves B047: the line works at once after Esc, whatever the tool does
func TestTheLineWorksAtOnceAfterEsc(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.types("sleeper\r")
	began := filepath.Join(d.dir, "began")
	eventually(t, "the tool", func() bool { b, _ := os.ReadFile(began); return len(b) > 1 }, d.out.String)
	d.types(esc)
	d.gets(1, event.TypeCallEnded, "") // before the shell's 600 s are over: it was stopped
	d.types("hello\r")
	d.asked("hello")
	d.sees("answered hello")
	dead(t, began)
	if exists(filepath.Join(d.dir, "M")) {
		t.Error("what stands behind the stopped command ran")
	}
}

// proves B049: one gesture stops the turn and holds all that waits: no turn
// begins by itself, the line says so, and one key drops it
func TestEscEscHoldsTheQueue(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.types("stream on\r")
	d.sees("streaming words")
	d.types("delete build\t")
	d.gets(1, event.TypeInboxAccepted, "delete build")
	d.types("push\t")
	d.gets(1, event.TypeInboxAccepted, "push")
	d.types(esc + esc)
	d.gets(1, event.TypeTurnEnded, "USER_SIGINT")
	d.sees("2 held")
	d.types("\x03") // nothing of the line is sent
	d.sees("still held")
	d.types("\x18")
	d.gets(2, event.TypeInboxDropped, `"canceled"`)
	d.types("hello\r")
	d.asked("hello")
	if n := d.count(event.TypeTurnStarted, ""); n != 2 {
		t.Errorf("%d turns began, want the stopped one and hello's", n)
	}
}

// proves TRN-14: the setting decides what Esc does to the queue
func TestOnInterruptIsASetting(t *testing.T) {
	for setting, says := range map[string]string{"hold": "2 held · enter sends", "drop": "2 messages dropped unrun"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			d, dir := newDesk(t), t.TempDir()
			put(t, filepath.Join(dir, ".config", "ripcord", "config.toml"), "on_interrupt = \""+setting+"\"\n")
			d.open(t, dir)
			d.types("stream on\r")
			d.sees("streaming words")
			d.types("delete build\t")
			d.gets(1, event.TypeInboxAccepted, "delete build")
			d.types("push\t")
			d.gets(1, event.TypeInboxAccepted, "push")
			d.types(esc)
			d.sees(says)
			if setting == "hold" {
				d.types("\r")
				d.asked("push")
				d.sees("answered push")
			}
			d.gets(map[string]int{"hold": 0, "drop": 2}[setting], event.TypeInboxDropped, "canceled")
		})
	}
}

// proves INT-66, RTY-10: r asks the stopped turn again as if it had never been, e
// brings its text back, and a kill in between does not lose it
func TestRetryAndEditOnTheCard(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.types("first\r")
	d.sees("answered first")
	d.types("stream on\r")
	d.sees("streaming words")
	d.types(esc)
	d.sees("[r]etry")
	d.types("r\r")
	d.gets(1, event.TypeRewound, `"retry"`)
	d.gets(1, event.TypeTurnStarted, `"retry_of":2`)
	eventually(t, "the second request", func() bool { return len(d.model.Requests()) == 3 }, d.out.String)
	if a, b := d.model.Requests()[1], d.model.Requests()[2]; !slices.Equal(users(a), users(b)) {
		t.Errorf("asked %q, then %q", users(a), users(b))
	}
	eventually(t, "its words", func() bool { return strings.Count(d.out.String(), "streaming words") > 1 }, d.out.String)
	d.types(esc)
	d.gets(2, event.TypeTurnEnded, "USER_SIGINT")
	d.sees("esc nothing to stop")
	eventually(t, "the second card", func() bool { return strings.Count(d.out.String(), "[e]dit") > 1 }, d.out.String)
	d.types("e\r")
	d.gets(1, event.TypeRewound, `"rewind"`)
	d.again()
	d.sees("held: stream on")
	d.types(altUp)
	d.sees("› stream on")
	d.types("\x15no more of it\r")
	if r := d.asked("no more of it"); times(r, "stream on") != 0 || times(r, "first") != 1 {
		t.Errorf("said: %q", users(r))
	}
}

// proves B119: Esc stops a summary; the history is whole and what waited is held
func TestEscStopsASummary(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.types("first\r")
	d.sees("done after") // its words are seen before its end
	d.types("/compact\r")
	d.asked("Summarize")
	d.types("omega\t")
	d.gets(1, event.TypeInboxAccepted, "omega")
	d.types(esc)
	d.gets(1, event.TypeTurnEnded, "USER_SIGINT")
	d.sees("1 held")
	d.types("\r")
	if r := d.asked("omega"); times(r, "first") != 1 || times(r, "conversation_summary") != 0 {
		t.Errorf("said: %q", users(r))
	}
}

// proves B136, TRN-18: a picture can't steer and comes back with its text; queued,
// sent now or held over a kill -9 it is in the request, byte for byte
func TestAPictureTravelsWithItsText(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	picture := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte("pixel"), 10<<10)...) // too large for a record
	put(t, filepath.Join(d.dir, "a.png"), string(picture))
	want := []byte(base64.StdEncoding.EncodeToString(picture))
	d.types("stream on\r")
	d.sees("streaming words")
	d.types("/attach a.png\r")
	d.sees("goes with your next message")
	d.types("look here\r")
	d.sees("text alone")
	d.types("\t")
	d.sees("next turn: look here")
	d.types(altEnter)
	if r := d.asked("look here"); !bytes.Contains(r.Body, want) {
		t.Error("sent now: the picture is not in the request")
	}
	d.sees("answered look here")
	d.types("stream on\r")
	d.gets(3, event.TypeTurnStarted, "")
	d.types("/attach a.png\r")
	eventually(t, "the second picture", func() bool { return strings.Count(d.out.String(), "goes with your") > 1 }, d.out.String)
	d.types("look again\t")
	d.gets(1, event.TypeInboxAccepted, "look again")
	d.again()
	d.sees("held: look again [image: a.png]")
	d.types("\r")
	if r := d.asked("look again"); bytes.Count(r.Body, want) < 2 {
		t.Error("after a kill -9: the picture is not in the request")
	}
}

// proves B140: the prompt and what had come outlive Esc and the process; where
// nothing had come the prompt is in the line again, and sent as it is it is asked
// again, not said twice
func TestThePromptAndWhatHadComeOutliveEsc(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.types("ponder this\r")
	d.sees("thinking hard")
	d.types(esc)
	d.gets(1, event.TypeTurnEnded, "USER_SIGINT")
	d.again()
	d.sees("› ponder this")
	d.sees("thinking, cut here")
	d.types("mute one\r")
	d.asked("mute one")
	d.types(esc)
	d.sees("your text is back in the line")
	d.types("\r")
	d.gets(1, event.TypeTurnStarted, `"retry_of":2`)
	eventually(t, "the prompt asked again", func() bool { return len(d.model.Requests()) == 3 }, d.out.String)
	if r := d.asked("mute one"); times(r, "mute one") != 1 || times(r, "ponder this") != 1 {
		t.Errorf("said: %q", users(r))
	}
}
