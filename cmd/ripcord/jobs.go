package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
)

func jobsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "jobs", Short: "List, read and kill background processes of sessions",
		Long: `List, read and kill background processes of sessions. The list has calls,
hooks and servers of tools too, while they run, and says whose each is. JOB is an id as the list
shows it; where two sessions have a job of that name, SESSION/JOB.`,
		Example: "  ripcord jobs list\n  ripcord jobs logs j1\n  ripcord jobs kill s_01/j1",
	}
	cmd.AddCommand(jobsList(a), &cobra.Command{
		Use: "logs JOB", Short: "Print what a job wrote", Args: cobra.ExactArgs(1),
		Example: "  ripcord jobs logs j1",
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			j, holder, done, err := a.findJob(ctx, svc, args[0])
			if err != nil {
				return err
			}
			defer done()
			text, err := holder.JobLog(ctx, j.Session, j.ID)
			if err != nil {
				return err
			}
			a.out.write([]byte(a.forOut(text)))
			return nil
		}),
	}, &cobra.Command{
		Use: "kill JOB", Short: "End a job's whole process tree", Args: cobra.ExactArgs(1),
		Example: "  ripcord jobs kill s_01/j1",
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			j, holder, done, err := a.findJob(ctx, svc, args[0])
			if err != nil {
				return err
			}
			defer done()
			if err := holder.KillJob(ctx, j.Session, j.ID); err != nil {
				return err
			}
			a.say("killed %s", j.ID)
			return nil
		}),
	})
	return cmd
}

func jobsList(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [SESSION]", Short: "List jobs of live sessions and kept jobs of others", Args: cobra.MaximumNArgs(1),
		Example: "  ripcord jobs list\n  ripcord jobs list s_01 --json",
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			var all []api.JobInfo
			err := a.eachHolder(ctx, svc, name, func(_ api.Service, jobs []api.JobInfo) bool {
				all = append(all, jobs...)
				return true
			})
			if err != nil {
				return err
			}
			if asJSON {
				a.out.write(array(all))
				return nil
			}
			for _, j := range all {
				a.print("%s  %s  %-4s  %-7s  pids %s  %s\n", j.ID, j.Session, oneLine(j.Owner), j.State, pids(j.PIDs), clip(j.Command, 60))
			}
			if len(all) == 0 {
				a.say("there are no jobs")
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON array")
	return cmd
}

func pids(ps []int) string {
	if len(ps) == 0 {
		return "-"
	}
	var out []string
	for _, p := range ps {
		out = append(out, itoa(p))
	}
	return strings.Join(out, ",")
}

// ownerWord is what belongs to an owner in plain words.
func ownerWord(owner string) string {
	if owner == "mcp" {
		return "server of tools"
	}
	return oneLine(owner)
}

// eachHolder visits the jobs of every session, or of the one named: over the
// control socket of whoever holds it, else from its journal.
func (a *app) eachHolder(ctx context.Context, svc api.Service, name string, visit func(holder api.Service, jobs []api.JobInfo) bool) error {
	all, err := svc.Sessions(ctx)
	sessions := all
	if err == nil && name != "" {
		var one api.SessionInfo
		one, err = resolve(ctx, svc, name)
		sessions = []api.SessionInfo{one}
	}
	if err != nil {
		return err
	}
	for _, s := range sessions {
		more, err := a.jobsOf(ctx, svc, s, lineOf(s, all), visit)
		switch {
		case err != nil && name != "":
			return err
		case err != nil: // one bad session does not hide the others
			a.say("%s: %v", s.ID, err)
		case !more:
			return nil
		}
	}
	return nil
}

func (a *app) jobsOf(ctx context.Context, svc api.Service, s api.SessionInfo, line []event.SessionID, visit func(api.Service, []api.JobInfo) bool) (more bool, err error) {
	for _, id := range line {
		c, err := a.control(id)
		if err != nil {
			return true, err
		}
		defer c.Close()
		bounded, cancel := context.WithTimeout(ctx, holderBound)
		defer cancel()
		jobs, err := c.Jobs(bounded, s.ID)
		switch {
		case err == nil:
			return visit(c, jobs), nil
		case errors.Is(err, context.DeadlineExceeded):
			return true, noAnswer(s, err)
		case !remote.Absent(err):
			return true, err
		}
	}
	jobs, err := svc.Jobs(ctx, s.ID)
	if err != nil {
		return true, err
	}
	// Nobody holds the session: only what was told to outlive it can live.
	kept := slices.DeleteFunc(jobs, func(j api.JobInfo) bool { return !j.Keep })
	return visit(svc, kept), nil
}

// findJob finds a job by its id, or by SESSION/ID where sessions have jobs of one
// name; one that runs comes before those that have ended. done gives up what the
// finding holds.
func (a *app) findJob(ctx context.Context, svc api.Service, name string) (j api.JobInfo, holder api.Service, done func(), err error) {
	session, id, named := strings.Cut(name, "/")
	if !named {
		session, id = "", name
	}
	type found struct {
		job    api.JobInfo
		holder api.Service
	}
	var all, run []found
	err = a.eachHolder(ctx, svc, session, func(h api.Service, jobs []api.JobInfo) bool {
		for _, one := range jobs {
			if one.ID == event.JobID(id) {
				all = append(all, found{one, h})
				if one.State == event.JobRunning {
					run = append(run, found{one, h})
				}
			}
		}
		return true
	})
	if len(run) > 0 {
		all = run
	}
	switch {
	case err != nil:
		return j, nil, nil, err
	case len(all) == 0:
		return j, nil, nil, usagef("`ripcord jobs list` shows what there is", "there is no job %s", name)
	case len(all) > 1:
		return j, nil, nil, usagef(fmt.Sprintf("name its session too: %s/%s", all[0].job.Session, id), "%d sessions have a job %s", len(all), id)
	}
	j, holder = all[0].job, all[0].holder
	if j.Owner != "" && j.Owner != "job" { // it has no output of its own, and ends with what it belongs to
		return j, nil, nil, usagef(fmt.Sprintf("`ripcord interrupt %s` stops what the session does", j.Session), "%s is no job but a %s that runs", id, ownerWord(j.Owner))
	}
	done = func() {}
	if c, ok := holder.(*remote.Client); ok {
		done = c.Close
	}
	return j, holder, done, nil
}
