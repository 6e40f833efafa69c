package apitest_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/apitest"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const answers = `answer always if user "Summarize the conversation"
  text all of it
  finish stop
answer always if user quick
  text fine
  usage 3 1
  finish stop
answer always if result
  text allowed
  finish stop
answer always if user ask
  call danger c1 {}
  finish tool
default
  text starting
  hang
`

// danger is a tool that asks.
type danger struct{}

func (danger) Spec() tool.Spec {
	return tool.Spec{Name: "danger", Description: "asks first", Schema: []byte(`{"type":"object"}`),
		Asks: func(json.RawMessage) (string, bool) { return "do it", true }}
}

func (danger) Execute(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{Success: true}, nil
}

// The runtime keeps the contract, in process and over a control socket.
//
// proves IFC-07, IFC-08, TRN-13, TRN-14, TRN-18, RTY-10, API-01 (a client that leaves stops no turn)
func TestTheRuntimeKeepsTheContract(t *testing.T) {
	apitest.Run(t, func(t *testing.T) (api.Service, apitest.Script) {
		script, err := scripted.Parse(answers)
		if err != nil {
			t.Fatal(err)
		}
		server, err := scripted.NewServer(script, scripted.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "scripted", Provider: "scripted"})
		if err != nil {
			t.Fatal(err)
		}
		store, err := file.Open(t.TempDir(), file.Options{Check: func() journal.Checker { return turn.Check() }})
		if err != nil {
			t.Fatal(err)
		}
		rt, err := ripcord.New(ripcord.Config{Store: store, Model: m, Tools: []tool.Tool{danger{}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := rt.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
			_ = m.Close()
			_ = server.Close()
		})
		return rt, apitest.Script{Quick: "quick", Answer: "fine", Slow: "slow", Ask: "ask", Summary: true, Cwd: t.TempDir()}
	})
}
