package main

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

func logCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "log", Short: "Read, follow, verify and preview the repair of a journal",
		Example: "  ripcord log show s_01\n  ripcord log verify s_01\n  ripcord log repair s_01 --dry-run",
	}
	cmd.AddCommand(logRead(a, "show", "Print a session's records; repairs nothing", false),
		logRead(a, "follow", "Print a session's records as they come, until interrupted", true),
		logVerify(a), logRepair(a))
	return cmd
}

func logRead(a *app, name, short string, follow bool) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: name + " ID", Short: short, Args: cobra.ExactArgs(1),
		Long:    short + ".\nWhat is damaged is told on stderr, what is readable behind it follows; the exit\ncode is then 7.",
		Example: "  ripcord log " + name + " s_01\n  ripcord log " + name + " s_01 --json   # the records' own bytes, one a line",
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			s, err := resolve(ctx, svc, args[0])
			if err != nil {
				return err
			}
			frames := svc.Records(ctx, s.ID, 0)
			if follow {
				frames = svc.Follow(ctx, s.ID, 0, false)
			}
			return a.printRecords(ctx, frames, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the records' own bytes, one a line")
	return cmd
}

// printRecords prints what holds. A damaged range is told where it stands among
// the records, and what is readable behind it follows (REC-02).
func (a *app) printRecords(ctx context.Context, frames iter.Seq2[api.Frame, error], asJSON bool) error {
	damaged := false
	for f, err := range frames {
		switch {
		case err != nil && ctx.Err() != nil:
			return onlyIf(damaged, exitError(exitDamaged))
		case err != nil && explain(err).Code == event.FailDamaged:
			damaged = true
			a.say("%s", oneLine(explain(err).Message))
			continue
		case err != nil:
			return err
		case f.Record == nil:
			continue
		case asJSON:
			a.out.write(append(append([]byte(nil), f.Line...), '\n'))
		default:
			a.print("%s\n", recordLine(f.Record))
		}
		if a.out.closed() {
			break
		}
	}
	return onlyIf(damaged, exitError(exitDamaged))
}

func recordLine(r *event.Record) string {
	head := []byte(r.Time.Local().Format("15:04:05.000"))
	where := ""
	if r.Turn > 0 {
		where = "t" + itoa(r.Turn)
		if r.Step > 0 {
			where += "." + itoa(r.Step)
		}
	}
	if r.Call != "" {
		where += " " + string(r.Call)
	}
	return pad(itoa(int(r.Seq)), -5) + "  " + string(head) + "  " + pad(string(r.Type), 18) + "  " + pad(oneLine(where), 12) + "  " + clip(string(r.Data), 100)
}

func logVerify(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify ID", Short: "Check every byte of a journal; changes nothing", Args: cobra.ExactArgs(1),
		Long:    "Check every byte of a journal; changes nothing. Exit 0 if all is as it was written, 7 if not.",
		Example: "  ripcord log verify s_01\n  ripcord log verify s_01 --json",
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			s, err := resolve(ctx, svc, args[0])
			if err != nil {
				return err
			}
			v, err := svc.Verify(ctx, s.ID)
			if err != nil {
				return err
			}
			if v.Damage == nil {
				v.Damage = []api.DamageInfo{}
			}
			if asJSON {
				a.out.write(line(v))
			} else {
				a.printVerify(s.ID, v)
			}
			if !v.OK {
				return exitError(exitDamaged)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

func (a *app) printVerify(id event.SessionID, v api.VerifyReport) {
	state := "ok"
	if !v.OK {
		state = "not as it was written"
	}
	a.print("%s  %s  %d records  %d bytes  verified %s\n", id, state, v.Records, v.Bytes, v.Verified)
	a.printTorn(v)
	for _, d := range v.Damage {
		a.print("damaged bytes %d-%d: %s\n", d.From, d.To, oneLine(d.Why))
	}
	for _, t := range slices.Sorted(maps.Keys(v.Unknown)) {
		a.print("%d records of the type %s, which this version does not know: kept and skipped\n", v.Unknown[t], oneLine(string(t)))
	}
	if v.OpenTurn != nil && len(v.Damage) == 0 { // else its end may stand in what cannot be read, and nothing repairs it
		a.print("turn %d is open; `ripcord log repair %s --dry-run` shows how it will be closed\n", *v.OpenTurn, id)
	}
}

func (a *app) printTorn(v api.VerifyReport) {
	if v.Torn != nil {
		a.print("torn at byte %d, %d bytes that are no record; opening the session sets them aside\n", v.Torn.Offset, v.Torn.Bytes)
	}
}

func logRepair(a *app) *cobra.Command {
	var asJSON, dry bool
	var aside string
	cmd := &cobra.Command{
		Use: "repair ID --dry-run", Short: "Show what recovery would add and what cutting would bury", Args: cobra.ExactArgs(1),
		Long: `Show which records recovery would add to an open turn and why, and what cutting
the turn off would bury instead. The repair itself happens when the session is
next opened.`,
		Example: "  ripcord log repair s_01 --dry-run\n  ripcord log repair s_01 --dry-run --json",
	}
	read := a.reading(func(ctx context.Context, svc api.Service, args []string) error {
		s, err := resolve(ctx, svc, args[0])
		if err != nil {
			return err
		}
		p, err := svc.PreviewRepair(ctx, s.ID)
		if err != nil {
			return err
		}
		if asJSON {
			a.out.write(line(p))
			return nil
		}
		v, err := svc.Verify(ctx, s.ID)
		if err != nil {
			return err
		}
		a.printTorn(v)
		a.printPreview(s.ID, p)
		return nil
	})
	cmd.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case aside != "":
			return later("`ripcord log repair --set-aside`", "a damaged journal stays readable with `ripcord log show`")
		case !dry:
			return usagef("add --dry-run to see what it will do", "a session is repaired when it is opened, not by this command")
		}
		return read(c, args)
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().StringVar(&aside, "set-aside", "", "")
	_ = cmd.Flags().MarkHidden("set-aside") // the flag was defined above
	return cmd
}

func (a *app) printPreview(id event.SessionID, p api.RepairPreview) {
	open := "turn " + itoa(p.Turn) + " of " + string(id) + " is open"
	switch {
	case p.Owner != nil:
		a.print("%s is in use by process %d on %s: nothing to repair, nothing would be added\n", id, p.Owner.PID, oneLine(p.Owner.Host))
		return
	case len(p.Adds) == 0:
		a.print("%s has no open turn: nothing to repair\n", id)
		return
	case p.Turn == 0:
		open = string(id) + " has no open turn, but work that outlived its process"
	}
	a.print("%s. Opening the session adds %d records and removes none:\n", open, len(p.Adds))
	for i, add := range p.Adds {
		why := ""
		if i < len(p.Why) {
			why = p.Why[i]
		}
		what := "record"
		if r, err := event.Parse(add); err == nil {
			what = string(r.Type)
		}
		a.print("  + %s  %s\n", pad(what, 18), oneLine(why))
	}
	if p.Turn == 0 {
		return
	}
	a.print("Cutting the turn off instead would bury %d records, %d tool results, %d bytes.\n", p.Cutting.Records, p.Cutting.Results, p.Cutting.Bytes)
}
