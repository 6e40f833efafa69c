package journal_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// A store frames records behind a place, and anyone can scan what it wrote.
func ExampleScanner() {
	opened, _ := event.New(event.SessionOpened{ID: "s_1"}, time.Unix(0, 0))
	turn, _ := event.New(event.TurnStarted{Kind: event.TurnInput}, time.Unix(0, 0))
	lines, at, _ := journal.Frame(nil, journal.Origin(), 1, 1, []event.Record{opened, turn})
	lines = append(lines, `{"crc":"0000`...) // a crash

	sc := journal.NewScanner(bytes.NewReader(lines), int64(len(lines)), journal.ScanOptions{})
	for sc.Next() {
		fmt.Println(sc.Item().Place.Seq, sc.Item().Type)
	}
	torn := sc.Found().Torn
	fmt.Println(torn.Offset == at.End, torn.Bytes)
	// Output:
	// 0 session/open
	// 1 turn/start
	// true 12
}
