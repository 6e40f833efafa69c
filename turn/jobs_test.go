package turn_test

import (
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// proves B008, PRC-05, LOG-06: a job's end reaches the model as it was, in front
// of the next step, and never between a call and its result
func TestTheModelIsToldOfAJobsEndAtTheNextStep(t *testing.T) {
	three := 3
	for name, c := range map[string]struct {
		end  event.JobEnded
		says string
	}{
		"by itself":       {event.JobEnded{ID: "j1", State: event.JobExited, ExitCode: &three}, "ended with exit code 3"},
		"unseen":          {event.JobEnded{ID: "j1", State: event.JobExited}, "its exit code is not known"},
		"by a signal":     {event.JobEnded{ID: "j1", State: event.JobKilled, Signal: "SIGKILL"}, "ended by signal SIGKILL"},
		"stopped":         {event.JobEnded{ID: "j1", State: event.JobKilled, By: "user"}, "ended from outside"},
		"lost in a crash": {event.JobEnded{ID: "j1", State: event.JobLost}, "how it ended is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			d.submit("go")
			d.calls("c0", "read")
			d.allow("c0")
			if err := d.begin("c0"); err != nil {
				t.Fatal(err)
			}
			d.tell(turn.Fact{Payload: event.JobStarted{ID: "j1", Call: "c0", Command: "server"}})
			d.tell(turn.Fact{Payload: c.end}) // in the middle of the step
			if err := d.end("c0", finished("started a server")); err != nil {
				t.Fatal(err)
			}
			var roles []string
			for _, m := range must[turn.Ask](d).Messages {
				text := string(m.Role)
				if m.Role == event.RoleUser && strings.Contains(m.Content.Text(), "Background job j1 (server)") {
					text = "news"
					if !strings.Contains(m.Content.Text(), c.says) {
						t.Errorf("the model reads %q", m.Content.Text())
					}
				}
				roles = append(roles, text)
			}
			if got := strings.Join(roles, " "); got != "user assistant tool news" {
				t.Errorf("the context is %s", got)
			}
		})
	}
}
