package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/journaltest"
)

// One durable record beside one bare append and sync of the same bytes, in
// turns, on the same disk. The ratio of the medians is the figure.
//
// proves BEN-04 (its first half)
func BenchmarkDurableAppend(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, file.Options{})
	w, err := s.Create(b.Context(), id)
	p := newPen(b, w, err)
	p.append(journaltest.Open(b))
	p.sync()
	bare, err := file.OS{}.Open(filepath.Join(dir, "bare"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	rec := journaltest.Rec(b, event.UsageCounted{Attempt: 1, Complete: true}, 0, 0)
	line := bytes.Repeat([]byte("x"), 256)
	var ours, floor []time.Duration
	one := func() {
		began := time.Now()
		p.append(rec)
		p.sync()
		ours = append(ours, time.Since(began))
	}
	two := func() {
		began := time.Now()
		if _, err := bare.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := bare.Sync(); err != nil {
			b.Fatal(err)
		}
		floor = append(floor, time.Since(began))
	}
	for b.Loop() {
		one()
		two()
		two()
		one()
	}
	slices.Sort(ours)
	slices.Sort(floor)
	b.ReportMetric(float64(ours[len(ours)/2].Microseconds()), "ours-p50-µs")
	b.ReportMetric(float64(floor[len(floor)/2].Microseconds()), "floor-p50-µs")
	b.ReportMetric(float64(ours[len(ours)/2])/float64(floor[len(floor)/2]), "ratio")
}

// A record that is not synced yet.
func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir(), file.Options{})
	w, err := s.Create(b.Context(), id)
	p := newPen(b, w, err)
	p.append(journaltest.Open(b))
	rec := journaltest.Rec(b, event.UsageCounted{Attempt: 1, Complete: true}, 0, 0)
	b.ReportAllocs()
	for b.Loop() {
		p.append(rec)
		if p.last%10_000 == 0 {
			b.StopTimer()
			p.sync()
			b.StartTimer()
		}
	}
}
