package journal_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/mem"
)

// One writer appends and syncs; anybody reads.
func Example() {
	ctx := context.Background()
	store := mem.New(mem.Options{})
	w, err := store.Create(ctx, "s_example")
	if err != nil {
		log.Fatal(err)
	}
	opened, err := event.New(event.SessionOpened{ID: "s_example"}, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	last, err := w.Append(ctx, -1, 1, []event.Record{opened})
	fmt.Println("written up to", last, err)
	acked, err := w.Sync(ctx)
	fmt.Println("durable up to", acked, err)

	_, err = w.Append(ctx, -1, 1, []event.Record{opened}) // a writer that does not know of the first record
	fmt.Println(err != nil)
	for rec, err := range store.Read(ctx, "s_example", 0) {
		fmt.Println(rec.Seq, rec.Type, err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// written up to 0 <nil>
	// durable up to 0 <nil>
	// true
	// 0 session/open <nil>
}
