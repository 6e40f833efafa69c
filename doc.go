// Package ripcord is an agent runtime in which any turn can be stopped at any
// instant, any process can die at any instant, and what is left is true.
//
// A [Runtime] joins the rooms: a [journal.Store] keeps each session's journal,
// a [model.Model] answers, tools act, a gate says whether they may. It is an
// [api.Service], which the command line, the chat and a control socket use in
// the same way.
//
//	rt, err := ripcord.New(ripcord.Config{Store: store, Model: m, Tools: tools})
//	s, err := rt.Open(ctx, api.OpenRequest{Cwd: "."})
//	res, err := rt.Run(ctx, s.ID, "hello")
//	…
//	err = rt.Close(ctx)
//
// When ctx ends in the middle, the turn is stopped: its processes are gone, its
// partial answer is kept, its ending is on disk, and the next turn just works.
//
// # What it never does
//
// It picks no store, no model and no tools by itself, links no driver that was
// not asked for, reads no environment, and holds no decision about behaviour:
// those are turn's. Goroutines belong to the live sessions and end in Close.
//
// # Sub-agents
//
// A call of the tool task has a child session work, linked in both journals
// (docs/notes/0012). Each has one watcher, counted in agents.work, which gives
// the child's session up when its work has ended; [Runtime.Close] waits for all.
// A call that waits for its child has one goroutine that follows the child, and
// one for each question of it that stands open; both end before the call does.
//
// A program whose tools start processes should call proc.Main first thing in
// its main, so that process trees get a guardian; without it group kill is
// used, and daemons can escape.
package ripcord
