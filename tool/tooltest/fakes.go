package tooltest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Book is a [tool.Book] that keeps what it was told, in order. The zero value
// is ready.
type Book struct {
	// OnStart, OnEnd and OnLate, which may be nil, are called before the fact
	// is kept; their error is returned instead of keeping it.
	OnStart func(ctx context.Context) error
	OnEnd   func(ctx context.Context, e tool.Ended) error
	OnLate  func(e tool.Ended)

	mu    sync.Mutex
	facts []string
	ends  []tool.Ended
	lates []tool.Ended
}

var _ tool.Book = (*Book)(nil)

// Start implements [tool.Book].
func (b *Book) Start(ctx context.Context) error {
	if b.OnStart != nil {
		if err := b.OnStart(ctx); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts = append(b.facts, "started")
	return nil
}

// End implements [tool.Book].
func (b *Book) End(ctx context.Context, e tool.Ended) error {
	if b.OnEnd != nil {
		if err := b.OnEnd(ctx, e); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts, b.ends = append(b.facts, string(e.Outcome)), append(b.ends, e)
	return nil
}

// Late implements [tool.Book].
func (b *Book) Late(e tool.Ended) {
	if b.OnLate != nil {
		b.OnLate(e)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts, b.lates = append(b.facts, "late "+string(e.Outcome)), append(b.lates, e)
}

// Facts lists what was recorded, in order: "started", an outcome, "late" and
// an outcome.
func (b *Book) Facts() []string { b.mu.Lock(); defer b.mu.Unlock(); return slices.Clone(b.facts) }

// Ends returns the recorded ends.
func (b *Book) Ends() []tool.Ended { b.mu.Lock(); defer b.mu.Unlock(); return slices.Clone(b.ends) }

// Lates returns the recorded late results.
func (b *Book) Lates() []tool.Ended { b.mu.Lock(); defer b.mu.Unlock(); return slices.Clone(b.lates) }

// Recorder is a [tool.Recorder] that keeps what it is given.
type Recorder struct {
	Err error // returned instead of keeping
	// OnRecord, which may be nil, is called after a payload was kept.
	OnRecord func(p event.Payload)

	mu       sync.Mutex
	payloads []event.Payload
}

// Record implements [tool.Recorder].
func (r *Recorder) Record(ctx context.Context, p event.Payload) error {
	err := r.keep(ctx, p)
	if err == nil && r.OnRecord != nil {
		r.OnRecord(p)
	}
	return err
}

func (r *Recorder) keep(ctx context.Context, p event.Payload) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Err != nil {
		return r.Err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.payloads = append(r.payloads, p)
	return nil
}

// Payloads returns what was recorded, in order.
func (r *Recorder) Payloads() []event.Payload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.payloads)
}

// Jobs is a [tool.Jobs] that keeps what it takes over; ids are j_1, j_2, …
type Jobs struct {
	Err error // returned instead of taking over

	mu   sync.Mutex
	jobs []tool.Job
}

// Adopt implements [tool.Jobs].
func (j *Jobs) Adopt(_ context.Context, job tool.Job) (event.JobID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Err != nil {
		return "", j.Err
	}
	j.jobs = append(j.jobs, job)
	return event.JobID(fmt.Sprintf("j_%d", len(j.jobs))), nil
}

// All returns the jobs taken over, in order.
func (j *Jobs) All() []tool.Job { j.mu.Lock(); defer j.mu.Unlock(); return slices.Clone(j.jobs) }

// StopAll ends every job at once, as a session's close does, and returns the
// pids that outlived it.
func (j *Jobs) StopAll() (survivors []int) {
	for _, job := range j.All() {
		survivors = append(survivors, job.Process.Stop(interrupt.Ladder{Bound: forceBound})...)
	}
	return survivors
}

// Live is a [tool.Live] that keeps what came and lets a test wait for it.
type Live struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed and replaced at each output
}

// Output implements [tool.Live].
func (l *Live) Output(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(text)
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// Text returns what came so far.
func (l *Live) Text() string { l.mu.Lock(); defer l.mu.Unlock(); return l.text.String() }

// Await returns nil once what came contains part, else ctx's error.
func (l *Live) Await(ctx context.Context, part string) error {
	for {
		l.mu.Lock()
		if strings.Contains(l.text.String(), part) {
			l.mu.Unlock()
			return nil
		}
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("no %q in live output: %w", part, ctx.Err())
		}
	}
}

// Blobs is a [tool.Blobs] in memory.
type Blobs struct {
	Err error // returned instead of keeping

	mu   sync.Mutex
	data map[string][]byte
}

// Put implements [tool.Blobs].
func (b *Blobs) Put(_ context.Context, data []byte) (event.BlobRef, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Err != nil {
		return event.BlobRef{}, b.Err
	}
	if b.data == nil {
		b.data = map[string][]byte{}
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	b.data[digest] = slices.Clone(data)
	return event.BlobRef{Digest: digest, Size: int64(len(data))}, nil
}

// Get returns what was put; ok is false for what never was.
func (b *Blobs) Get(ref event.BlobRef) (data []byte, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok = b.data[ref.Digest]
	return data, ok
}

// Func is a tool made of a function. Declared, when set, is its behaviour; the
// zero value declares NON_INTERRUPTIBLE, which is what no declaration means.
type Func struct {
	Is       tool.Spec // Name "func" and any object if empty
	Declared interrupt.Behaviour
	Do       func(ctx context.Context, call *tool.Call) (tool.Result, error)
}

// Spec implements [tool.Tool].
func (f Func) Spec() tool.Spec {
	if f.Is.Name == "" {
		f.Is.Name = "func"
	}
	if f.Is.Schema == nil {
		f.Is.Schema = json.RawMessage(`{"type":"object"}`)
	}
	return f.Is
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (f Func) InterruptBehaviour() interrupt.Behaviour { return f.Declared }

// Execute implements [tool.Tool].
func (f Func) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	return f.Do(ctx, call)
}
