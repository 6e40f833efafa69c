package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
)

// proves IFC-05, GRD-08: a stop ends a read of a stdin on which nothing comes; what
// comes is read whole.
func TestAStopEndsAReadOfAnIdleStdin(t *testing.T) {
	defer goleak.VerifyNone(t)
	r, w := io.Pipe()
	defer w.Close() // ends the read that was left behind
	ctx, stop := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(&cuttable{ctx: ctx, in: r})
		got <- err
	}()
	stop()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	text := strings.Repeat("every word of it\n", 10_000)
	b, err := io.ReadAll(iotest.HalfReader(&cuttable{ctx: t.Context(), in: iotest.DataErrReader(strings.NewReader(text))}))
	if err != nil || string(b) != text {
		t.Errorf("%d of %d bytes, %v", len(b), len(text), err)
	}
}
