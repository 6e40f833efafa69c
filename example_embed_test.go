package ripcord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"strings"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// parrot is a provider in twelve lines: one method says what it is, the other
// answers a request with an ordered stream that ends with its finish.
type parrot struct{}

func (parrot) Info() model.Info { return model.Info{Provider: "parrot", Model: "grey"} }

func (parrot) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		for _, d := range parrotSays(last) {
			if !yield(d, ctx.Err()) || ctx.Err() != nil {
				return
			}
		}
	}
}

// parrotSays asks for the tool count when it hears "count", and repeats all else.
func parrotSays(last event.Message) []event.Delta {
	if text := last.Content.Text(); last.Role == event.RoleUser && strings.Contains(text, "count") {
		return []event.Delta{event.CallStart{Name: "count"}, event.ArgsDelta{Text: `{"of":"seeds"}`}, event.CallEnd{}, event.Finish{Reason: event.FinishTools}}
	}
	return []event.Delta{event.TextDelta{Text: last.Content.Text()}, event.Finish{Reason: event.FinishStop}}
}

// A program embeds the runtime: a store, a model, a session, a turn.
func ExampleNew() {
	ctx := context.Background()
	rt, err := ripcord.New(ripcord.Config{Store: mem.New(mem.Options{}), Model: parrot{}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := rt.Open(ctx, api.OpenRequest{Cwd: "."})
	if err != nil {
		log.Fatal(err)
	}
	res, err := rt.Run(ctx, s.ID, "hello")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %q\n", *res.Outcome, res.Text)
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// completed: "hello"
}

// count is a tool. It knows nothing of interruption and is correct as it is: a
// stop waits for it and keeps its result.
type count struct{}

func (count) Spec() tool.Spec {
	return tool.Spec{Name: "count", Description: "counts things", Effect: tool.Pure,
		Schema: json.RawMessage(`{"type":"object","required":["of"],"properties":{"of":{"type":"string"}}}`)}
}

func (count) Execute(_ context.Context, c *tool.Call) (tool.Result, error) {
	var args struct{ Of string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Result{}, err
	}
	return tool.Text("seven " + args.Of), nil
}

// A tool is two methods.
func ExampleNew_tool() {
	ctx := context.Background()
	rt, err := ripcord.New(ripcord.Config{Store: mem.New(mem.Options{}), Model: parrot{}, Tools: []tool.Tool{count{}}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := rt.Open(ctx, api.OpenRequest{Cwd: "."})
	if err != nil {
		log.Fatal(err)
	}
	res, err := rt.Run(ctx, s.ID, "count, please")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Calls[0].Name, res.Calls[0].Outcome)
	fmt.Printf("%s: %q\n", *res.Outcome, res.Text)
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// count finished
	// completed: "seven seeds"
}

// moody is a store of one's own: it keeps what another keeps, and refuses when
// it is told to. What embeds a store has all of its methods.
type moody struct {
	journal.Store
	refuse bool
}

func (m *moody) Create(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	if m.refuse {
		return nil, fmt.Errorf("create session %s: %w: not today", id, journal.ErrStorage)
	}
	return m.Store.Create(ctx, id)
}

// A store is an interface of a few methods; journaltest holds one to its word.
// A session outlives its runtime: another takes it up where it was left.
func ExampleNew_store() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ripcord-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	files, err := file.Open(dir, file.Options{Check: func() journal.Checker { return turn.Check() }})
	if err != nil {
		log.Fatal(err)
	}
	store := &moody{Store: files, refuse: true}
	rt, err := ripcord.New(ripcord.Config{Store: store, Model: parrot{}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = rt.Open(ctx, api.OpenRequest{Cwd: "."})
	var failure *api.Error
	fmt.Println(errors.As(err, &failure), failure.Code)

	store.refuse = false
	s, err := rt.Open(ctx, api.OpenRequest{Cwd: "."})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := rt.Run(ctx, s.ID, "hello"); err != nil {
		log.Fatal(err)
	}
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	next, err := ripcord.New(ripcord.Config{Store: store, Model: parrot{}})
	if err != nil {
		log.Fatal(err)
	}
	s, err = next.Open(ctx, api.OpenRequest{ID: s.ID, Cwd: "."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("turn %d %s: %q\n", s.Turn, *s.Last.Outcome, s.Last.Text)
	if err := next.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// true storage
	// turn 1 completed: "hello"
}
