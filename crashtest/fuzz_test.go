package crashtest_test

import (
	"testing"

	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
)

// Whatever stands behind a prefix of a journal, recovery keeps the prefix or
// says with offsets what is damaged; it never believes what nobody wrote, and
// never panics.
//
// proves REC-02, REC-05, REC-08, PRF-06
func FuzzRecovery(f *testing.F) {
	var recs []*crashtest.Recording
	for _, i := range []int{2, 14, 18} { // a call, a question, inner calls
		r, err := crashtest.Record(f.Context(), crashtest.Scenarios(0)[i])
		if err != nil {
			f.Fatal(err)
		}
		recs = append(recs, r)
	}
	f.Add(uint8(0), uint16(9), []byte("{}\n"))
	f.Add(uint8(1), uint16(300), []byte("\x00\x00\n\n"))
	f.Add(uint8(2), uint16(20), []byte(`{"crc":"00000000","v":1,"b":9,"epoch":1,"seq":20,"type":"turn/end"}`+"\n"))
	f.Fuzz(func(t *testing.T, which uint8, n uint16, tail []byte) {
		r := recs[int(which)%len(recs)]
		keep := int(n) % (len(r.Ends) + 1)
		end := 0
		if keep > 0 {
			end = r.Ends[keep-1]
		}
		b := append(append([]byte{}, r.Bytes[:end]...), tail...)
		once, err := crashtest.Recover(t.Context(), r.ID, b, crashtest.SeesNothing)
		if err != nil {
			return // it was refused: a damaged journal is a person's to judge
		}
		for _, v := range crashtest.Judge(crashtest.Case{Intended: r.Lines, Records: r.Records, Floor: event.Seq(keep - 1), Journal: once.Bytes}) {
			t.Error(v)
		}
		twice, err := crashtest.Recover(t.Context(), r.ID, once.Bytes, crashtest.SeesNothing)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range crashtest.Same(once.Bytes, twice.Bytes) {
			t.Error(v)
		}
	})
}
