package ripcord_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// A turn is stopped while the model speaks; the next one goes on. The scripted
// server stands in for a model, and says half a sentence before it hangs.
func Example() {
	ctx := context.Background()
	script, err := scripted.Parse("T'half a sent' HANG\nT'Where were we?' F(stop)\n")
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	check(err)
	server, err := scripted.NewServer(script, scripted.Options{})
	check(err)
	defer server.Close()
	m, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "script"})
	check(err)
	defer m.Close()

	rt, err := ripcord.New(ripcord.Config{Store: mem.New(mem.Options{}), Model: m})
	check(err)
	s, err := rt.Open(ctx, api.OpenRequest{Cwd: "."})
	check(err)
	sub, err := rt.Submit(ctx, api.SubmitRequest{Session: s.ID, Input: event.UserInput{Content: event.TextOf("hello")}})
	check(err)
	for frame, err := range rt.Follow(ctx, s.ID, 0, true) {
		check(err)
		said := frame.Live != nil && frame.Live.Kind == api.LiveText
		if said || frame.Record != nil && frame.Record.Type == event.TypeChunk {
			break // the first words are there: stop
		}
	}
	_, err = rt.Interrupt(ctx, api.InterruptRequest{Session: s.ID, Input: sub.Input, Who: "a person"})
	check(err)
	res, err := rt.Wait(ctx, s.ID, sub.Input)
	check(err)
	fmt.Printf("%s, %s: %q\n", *res.Outcome, *res.Reason, res.Text)

	res, err = rt.Run(ctx, s.ID, "go on")
	check(err)
	fmt.Printf("%s: %q\n", *res.Outcome, res.Text)
	check(rt.Close(ctx))
	// Output:
	// aborted, USER_SIGINT: "half a sent"
	// completed: "Where were we?"
}
