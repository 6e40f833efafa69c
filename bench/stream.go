package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/turn"
)

const (
	chunkBytes   = 1 << 10
	chunksATurn  = 1000 // an answer of a megabyte
	turnsASample = 4
	crowd        = 2000 // sessions that stream side by side
	crowdPace    = 50 * time.Millisecond
	probeRounds  = 200
	pourTarget   = 10 * time.Microsecond
	decodeTarget = 25 * time.Microsecond
)

// pour is a model whose answers are there already: what is measured over it is
// everything but a provider's decoder. Behind its first piece and before its
// finish it is silent for a while, in which the processor time is read.
type pour struct{ pieces []string }

const lull = 30 * time.Millisecond

func (pour) Info() model.Info { return model.Info{Provider: "bench", Model: "pour"} }

func (p pour) Stream(ctx context.Context, _ model.Request) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		for i, t := range p.pieces {
			if ctx.Err() != nil || !yield(event.TextDelta{Text: t}, nil) {
				return
			}
			if i == 0 || i == len(p.pieces)-1 {
				pause(ctx, lull)
			}
		}
		yield(event.Finish{Reason: event.FinishStop}, nil)
	}
}

// drip is a model that says a few words at a steady pace, for as long as it is
// listened to.
type drip struct{}

func (drip) Info() model.Info { return model.Info{Provider: "bench", Model: "drip"} }

func (drip) Stream(ctx context.Context, _ model.Request) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		pace := time.NewTicker(crowdPace)
		defer pace.Stop()
		words := strings.SplitAfter(noise("abcdefghij klmno ", 16<<10), " ")
		for i := 0; ; i++ {
			select {
			case <-pace.C:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(event.TextDelta{Text: words[i%len(words)]}, nil) {
				return
			}
		}
	}
}

// pieces are varied text in chunks of 1 KB.
func pieces(n int) []string {
	text := noise("abcdefghij klmno ", n*chunkBytes)
	out := make([]string, n)
	for i := range out {
		out[i] = text[i*chunkBytes : (i+1)*chunkBytes]
	}
	return out
}

// used is the processor time of this process so far.
func used() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// over is a runtime over a model of the bench's, without tools and processes.
func (l *lab) over(m model.Model) (*ripcord.Runtime, string, error) {
	dir, err := os.MkdirTemp(l.dir, "over-")
	if err != nil {
		return nil, "", err
	}
	store, err := file.Open(dir, file.Options{Check: func() journal.Checker { return turn.Check() }})
	if err != nil {
		return nil, "", err
	}
	rt, err := ripcord.New(ripcord.Config{Store: store, Model: m})
	return rt, dir, err
}

func shut(ctx context.Context, rt *ripcord.Runtime, dir string) error {
	ctx, cancel := interrupt.Cleanup(ctx, time.Minute)
	defer cancel()
	return errors.Join(rt.Close(ctx), os.RemoveAll(dir))
}

// pass measures the processor time of a chunk on its way from the model to a
// subscriber.
func (l *lab) pass(ctx context.Context) ([]figure, error) {
	url, end, err := l.chunkServer(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	dialled, err := chat(url)
	if err != nil {
		return nil, err
	}
	defer dialled.Close()
	var without, with, alone []time.Duration
	for range max(5, l.rounds(10)) {
		a, err := l.through(ctx, pour{pieces(chunksATurn)})
		if err != nil {
			return nil, fmt.Errorf("without a decoder: %w", err)
		}
		b, err := l.through(ctx, dialled)
		if err != nil {
			return nil, fmt.Errorf("with a decoder: %w", err)
		}
		c, err := drain(ctx, dialled)
		if err != nil {
			return nil, fmt.Errorf("the decoder alone: %w", err)
		}
		without, with, alone = append(without, a), append(with, b), append(alone, c)
	}
	micro := func(d []time.Duration) (time.Duration, string) {
		mid := sample(d).at(.5)
		return mid, fmt.Sprintf("median %.1f µs, %.1f to %.1f", us(mid), us(sample(d).at(0)), us(sample(d).at(1)))
	}
	a, at := micro(without)
	b, bt := micro(with)
	_, ct := micro(alone)
	return []figure{
		{"BEN-06", "stream → journal → guards → subscriber, processor time of a 1 KB chunk", "≤ 10 µs", at, "", a <= pourTarget},
		{"BEN-06", "the same from the socket on, with the chat completions decoder", "≤ 25 µs", bt, "socket and decoder alone: " + ct, b <= decodeTarget},
	}, nil
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// through has the answers of some turns pass and returns the processor time of
// a chunk, from the first one's arrival to the last one's.
func (l *lab) through(ctx context.Context, m model.Model) (_ time.Duration, err error) {
	rt, dir, err := l.over(m)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, shut(ctx, rt, dir)) }()
	var sum time.Duration
	for range turnsASample {
		st, err := rt.Open(ctx, api.OpenRequest{})
		if err != nil {
			return 0, err
		}
		took, err := passOnce(ctx, rt, st)
		if err != nil {
			return 0, err
		}
		sum += took
		if err := rt.Release(ctx, st.ID); err != nil {
			return 0, err
		}
	}
	return sum / (turnsASample * (chunksATurn - 1)), nil
}

func passOnce(ctx context.Context, rt *ripcord.Runtime, st api.SessionState) (time.Duration, error) {
	watch, done := context.WithCancel(ctx)
	defer done()
	var first, last time.Duration
	seen := make(chan error, 1)
	go func() { // ends with the watch
		var fault error
		for f, err := range rt.Follow(watch, st.ID, st.Seq+1, true) {
			if err != nil {
				break
			}
			if f.Live == nil || f.Live.Kind != api.LiveText {
				continue
			}
			switch n := f.Live.Off + len(f.Live.Text); n {
			case chunkBytes:
				first, fault = used()
			case chunksATurn * chunkBytes:
				last, fault = used()
			}
			if last > 0 || fault != nil {
				break
			}
		}
		seen <- fault
	}()
	res, err := rt.Run(ctx, st.ID, "go")
	if err != nil {
		return 0, err
	}
	if *res.Outcome != event.TurnCompleted || len(res.Text) != chunksATurn*chunkBytes {
		return 0, fmt.Errorf("the turn ended %s with %d bytes", *res.Outcome, len(res.Text))
	}
	done()
	if err := <-seen; err != nil {
		return 0, err
	}
	if first == 0 || last == 0 {
		return 0, errors.New("the subscriber did not see the first and the last chunk live")
	}
	return last - first, nil
}

// drain reads answers and throws them away.
func drain(ctx context.Context, m model.Model) (time.Duration, error) {
	var sum time.Duration
	req := model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.TextOf("go")}}}
	for range turnsASample {
		var first, last time.Duration
		n := 0
		for d, err := range m.Stream(ctx, req) {
			if err != nil {
				return 0, err
			}
			t, ok := d.(event.TextDelta)
			if !ok {
				continue
			}
			switch n += len(t.Text); n {
			case chunkBytes:
				first, err = used()
			case chunksATurn * chunkBytes:
				last, err = used()
			}
			if err != nil {
				return 0, err
			}
		}
		if first == 0 || last == 0 {
			return 0, fmt.Errorf("%d bytes came", n)
		}
		sum += last - first
	}
	return sum / (turnsASample * (chunksATurn - 1)), nil
}

const chunks = "chunks" // a value of asServer: this program is a model's server

// chunkServer starts this program as a server of its own, so that what serving
// costs is not counted.
func (l *lab) chunkServer(ctx context.Context) (url string, end func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), asServer+"="+chunks)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	end = func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}
	if err != nil {
		end()
		return "", nil, err
	}
	return strings.TrimSpace(line), end, nil
}

// serveChunks is main of that server: each chunk is an event that is sent at once.
func serveChunks() int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	var body []string
	for _, t := range pieces(chunksATurn) {
		quoted, err := json.Marshal(t)
		if err != nil {
			return 1
		}
		body = append(body, `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":`+string(quoted)+`}}]}`+"\n\n")
	}
	body = append(body, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n",
		`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`+"\n\n", "data: [DONE]\n\n")
	fmt.Printf("http://%s/v1\n", ln.Addr())
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range body {
			if _, err := io.WriteString(w, e); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			if i == 0 || i == chunksATurn-1 {
				pause(r.Context(), lull)
			}
		}
	})}
	_ = s.Serve(ln) // until it is killed
	return 0
}

// crowd interrupts one session while many others stream, each to a subscriber of
// its own, and compares with the same interrupts alone.
func (l *lab) crowd(ctx context.Context) (_ []figure, err error) {
	var f []figure
	rt, dir, err := l.over(drip{})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, shut(ctx, rt, dir)) }()
	n := crowd
	if l.scale < 1 {
		n = crowd / 10
	}
	probe := rig{rt: rt, dir: dir}
	if err := probe.another(ctx); err != nil {
		return f, err
	}
	alone, floor, err := l.interrupts(ctx, &probe, l.rounds(probeRounds))
	if err != nil {
		return f, err
	}
	watch, done := context.WithCancel(ctx)
	var seen atomic.Int64
	var subs sync.WaitGroup
	defer func() { done(); subs.Wait() }()
	for range n {
		one := rig{rt: rt, dir: dir}
		if err := one.another(ctx); err != nil {
			return f, err
		}
		if _, err := one.submit(ctx, "go"); err != nil {
			return f, err
		}
		subs.Go(func() {
			for f, err := range rt.Follow(watch, one.id, 0, true) {
				if err != nil {
					return
				}
				if f.Live != nil && f.Live.Kind == api.LiveText {
					seen.Add(1)
				}
			}
		})
	}
	pause(ctx, 2*time.Second) // all of them stream
	cpu, err := used()
	if err != nil {
		return f, err
	}
	began, before := time.Now(), seen.Load()
	beside, besideFloor, err := l.interrupts(ctx, &probe, l.rounds(probeRounds))
	if err != nil {
		return f, err
	}
	for time.Since(began) < 10*time.Second && ctx.Err() == nil {
		pause(ctx, 100*time.Millisecond)
	}
	took, events := time.Since(began), seen.Load()-before
	after, err := used()
	rate := float64(events) / took.Seconds()
	busy := float64(after-cpu) / float64(took)
	return []figure{{"BEN-06", fmt.Sprintf("%d sessions at %d events/s beside it: interrupt → turn/end durable", n, time.Second/crowdPace), "p99 ≤ 25 ms, as alone",
		fmt.Sprintf("%s; %.0f events/s arrive, %.2f processors, %.1f µs an event", beside, rate, busy, us(after-cpu)/float64(max(events, 1))), fmt.Sprintf("alone: %s; two fdatasync alone: %s, beside it: %s", alone, floor, besideFloor),
		beside.at(.99) <= max(25*time.Millisecond, 2*alone.at(.99)) && rate >= 0.95*float64(n)*float64(time.Second/crowdPace)}}, err
}

// another goes on in a new session, and leaves the one before as it is.
func (r *rig) another(ctx context.Context) error {
	s, err := r.rt.Open(ctx, api.OpenRequest{Cwd: r.dir})
	r.id = s.ID
	return err
}

// interrupts stops n turns that stream, and takes the time of two bare syncs
// behind each.
func (l *lab) interrupts(ctx context.Context, r *rig, n int) (out, floor sample, err error) {
	for i := range n {
		if i%50 == 49 {
			if err := r.fresh(ctx); err != nil {
				return nil, nil, err
			}
		}
		input, err := r.submit(ctx, "go")
		if err != nil {
			return nil, nil, err
		}
		pause(ctx, time.Duration(1+i%60)*time.Millisecond)
		took, err := r.stop(ctx, input, false)
		if err != nil {
			return nil, nil, err
		}
		f, err := l.floor(2)
		if err != nil {
			return nil, nil, err
		}
		out, floor = append(out, took), append(floor, f)
	}
	return out, floor, ctx.Err()
}
