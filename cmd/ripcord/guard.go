package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/forensics"
	"github.com/ripcord-go/ripcord/model"
)

func guardCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "guard", Short: "Run the guards over what a session left behind",
		Example: "  ripcord guard replay s_01\n  ripcord guard replay rollout.jsonl",
	}
	cmd.AddCommand(guardReplay(a))
	return cmd
}

// replayFlags are those of `guard replay`.
type replayFlags struct {
	json   bool
	script string
	idle   []time.Duration
}

// replayOptions are the numbers that are measured against: those that a turn here
// would have.
func (a *app) replayOptions(fl *replayFlags, k forensics.Kind) (forensics.Options, error) {
	set, err := a.inForce(true)
	if err != nil {
		return forensics.Options{}, err
	}
	provider, baseURL := a.wouldAsk(set)
	g := guards(set, provider, baseURL)
	return forensics.Options{Stall: g.Stall, Calls: g.Calls, Loop: g.Loop, Off: g.NoWake || g.OnStall == guard.Off, Idle: fl.idle, Kind: k}, nil
}

// wouldAsk is whom a turn here would ask. Nobody is asked for it.
func (a *app) wouldAsk(set *config.Settings) (provider, baseURL string) {
	unasked := model.Peers{First: func(string, string) (string, error) { return "any", nil }}
	c, err := model.Choose(set.Value, a.modelChoice(), false, unasked)
	if err != nil { // no turn could begin; what is set counts all the same
		return set.Value("RIPCORD_PROVIDER"), set.Value("RIPCORD_BASE_URL")
	}
	return c.Provider, c.BaseURL
}

func guardReplay(a *app) *cobra.Command {
	var fl replayFlags
	cmd := &cobra.Command{
		Use: "replay FILE|SESSION", Short: "Say for each abort what every guard measured, and whether it was guilty", Args: cobra.ExactArgs(1),
		Long: `Run the guards over a session of this machine, a transcript of Codex, pi or
Claude Code, or the text of one artifact, and say for each abort what every
guard measured against its threshold, its verdict, the silence before the end,
where the stream was cut and what usage was recorded. What a file is is told
from its content; - is the standard input. Nothing is changed.

Exit 0 if it was read, whatever was found; 2 wrong use; 7 it cannot be read.`,
		Example: `  ripcord guard replay s_01
  ripcord guard replay ~/.codex/sessions/2026/03/02/rollout-1.jsonl
  ripcord guard replay page.html                        # one artifact: length, loop guard, probe
  ripcord guard replay session.jsonl --script cut.txt   # then: ripcord model serve cut.txt
  ripcord guard replay session.jsonl --idle 45s --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := a.transcript(args[0])
			if err != nil {
				return err
			}
			if in == nil {
				return a.reading(func(ctx context.Context, svc api.Service, args []string) error {
					return a.replaySession(ctx, svc, args[0], fl)
				})(cmd, args)
			}
			defer func() { _ = in.Close() }() // it was only read
			return a.plain(func(ctx context.Context, args []string) error {
				o, err := a.replayOptions(&fl, "")
				if err != nil {
					return err
				}
				if args[0] == "-" {
					return a.replay(args[0], &cuttable{ctx: ctx, in: in}, o, fl)
				}
				return a.replay(args[0], until{ctx, in}, o, fl)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&fl.json, "json", false, "one JSON object")
	f.StringVar(&fl.script, "script", "", "write a script that reproduces the cuts to this new `FILE`; serve it with \"ripcord model serve FILE\"")
	f.DurationSliceVar(&fl.idle, "idle", nil, "an idle limit of your set-up, a `TIME` such as 45s, beside the well-known ones; may be repeated")
	f.Lookup("idle").DefValue = "" // or the help shows an empty list
	return cmd
}

// readable is what helps where a transcript cannot be read.
const readable = "name a transcript that you may read"

// transcript opens the file that name is; nil if there is none of that name.
func (a *app) transcript(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, &api.Error{Code: event.FailDamaged, Message: fmt.Sprintf("%s cannot be read: %v", name, err), Hint: readable}
	case !info.Mode().IsRegular():
		return nil, usagef("name a file, a session, or - for the standard input", "%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &api.Error{Code: event.FailDamaged, Message: fmt.Sprintf("%s cannot be read: %v", name, err), Hint: readable}
	}
	return f, nil
}

func (a *app) replaySession(ctx context.Context, svc api.Service, name string, fl replayFlags) error {
	s, err := resolve(ctx, svc, name)
	var ae *api.Error
	if errors.As(err, &ae) && ae.Code == event.FailUsage {
		return usagef("name a file that is there, or a session of `ripcord sessions list`", "there is no file %s, and: %s", name, ae.Message)
	}
	if err != nil {
		return err
	}
	in := &recordLines{}
	next, stop := iter.Pull2(svc.Records(ctx, s.ID, 0))
	defer stop()
	in.next = next
	o, err := a.replayOptions(&fl, forensics.Ripcord)
	if err != nil {
		return err
	}
	return a.replay(string(s.ID), until{ctx, in}, o, fl, &in.damage)
}

// replay reads in, prints the report and writes the script.
func (a *app) replay(name string, in io.Reader, o forensics.Options, fl replayFlags, notes ...*[]string) error {
	r, err := forensics.Replay(in, o)
	for _, n := range notes {
		r.Notes = append(r.Notes, *n...)
	}
	if err != nil {
		return &api.Error{Code: event.FailDamaged, Message: fmt.Sprintf("%s: %v", name, err), Hint: readable, Err: err}
	}
	if fl.json {
		a.out.write(line(r))
	} else if err := r.Print(printer{a}, name); err != nil {
		return err
	}
	if fl.script == "" {
		return nil
	}
	return a.writeScript(fl.script, &r)
}

// writeScript never writes over a file: it may be the transcript itself.
func (a *app) writeScript(name string, r *forensics.Report) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usagef("name a new file with --script", "the script cannot be written: %v", err)
	}
	err = r.Script(f)
	if err = errors.Join(err, f.Close()); err == nil {
		a.say("wrote %s; it holds words of the transcript: read it before you send it. Serve it with `ripcord model serve %s`", name, name)
		return nil
	}
	err = errors.Join(err, os.Remove(name))
	if errors.Is(err, forensics.ErrNoCut) {
		return usagef("leave --script out", "%v", forensics.ErrNoCut)
	}
	return err
}

// printer writes to stdout as everything else does.
type printer struct{ a *app }

func (p printer) Write(b []byte) (int, error) {
	p.a.out.write(b)
	return len(b), nil
}

// cuttable is a reader that ends with ctx although a read waits for input. A
// read that is cut is left behind and takes what comes next.
type cuttable struct {
	ctx  context.Context
	in   io.Reader
	rest []byte // read and not handed on
}

func (c *cuttable) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		type read struct {
			b   []byte
			err error
		}
		got := make(chan read, 1)
		go func() {
			b := make([]byte, 32<<10)
			n, err := c.in.Read(b)
			got <- read{b[:n], err}
		}()
		select {
		case <-c.ctx.Done():
			return 0, context.Cause(c.ctx)
		case r := <-got:
			if len(r.b) == 0 {
				return 0, r.err
			}
			c.rest = r.b // an error comes again
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// until is a reader of what never waits that ends with ctx.
type until struct {
	ctx context.Context
	in  io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.in.Read(p)
}

// recordLines gives a session's records as its journal has them. What is
// damaged is remembered, and what stands behind it is read.
type recordLines struct {
	next   func() (api.Frame, error, bool)
	buf    []byte
	damage []string
}

const damageKept = 100

func (r *recordLines) Read(p []byte) (int, error) {
	for len(r.buf) == 0 {
		f, err, ok := r.next()
		switch {
		case !ok:
			return 0, io.EOF
		case err != nil:
			if len(r.damage) < damageKept {
				r.damage = append(r.damage, oneLine(err.Error()))
			}
		case f.Record != nil:
			r.buf = append(append(r.buf, f.Line...), '\n')
		}
	}
	n := copy(p, r.buf)
	if r.buf = r.buf[n:]; len(r.buf) == 0 {
		r.buf = nil
	}
	return n, nil
}
