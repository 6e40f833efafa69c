// Package shell runs hooks that are commands: at the points of a session that
// [gate.Point] names, each as a process tree of its own with one JSON object on
// its stdin. Its [Hooks] is the [gate.Hooks] of the settings.
//
// # What a hook is told
//
// One JSON object, the field's usual names first; nothing of it is in the
// command line or the environment. Keys that say nothing at a point are left
// out.
//
//	key               at                          value
//	hook_event_name   all                         PreToolUse, PostToolUse, UserPromptSubmit, PermissionRequest,
//	                                              PreCompact, SessionStart, SessionEnd, Stop, Interrupt,
//	                                              SubagentStart, SubagentStop
//	point             all                         our name for it: pre_tool, turn_start, …
//	session_id, cwd   all
//	turn, step        within a turn               numbers from 1
//	principal, variables, attributes
//	                  within a turn               what its first input was submitted with, if anything
//	tool_name         pre_tool, permission_request, post_tool
//	tool_use_id       the same                    the call's id
//	tool_input        the same                    the call's arguments
//	tool_response     post_tool                   the call's end as the journal has it: outcome, success,
//	                                              content, exit_code, signal, timed_out, …
//	prompt            turn_start                  what the person said
//	message           permission_request          the question
//	source            session_start               new, opened, recovered
//	reason            the other ends              why
//	outcome           turn_stop, subagent_stop    how the turn ended
//	agent_id          subagent_start, _stop       the child's session
//
// # What a hook answers
//
// Exit 0 with nothing on stdout, or with text that is no JSON list and holds no
// line beginning with "{", has no objection and approves nothing. Else stdout is one JSON object:
//
//	{"decision": "allow" | "approve" | "ask" | "block" | "deny", "reason": "…"}
//	{"continue": false, "stopReason": "…"}                          blocks
//	{"hookSpecificOutput": {"permissionDecision": "allow" | "ask" | "deny", "permissionDecisionReason": "…"}}
//	{"hookSpecificOutput": {"decision": {"behavior": "allow" | "deny", "message": "…"}}}
//
// Of several the strongest counts. A changed input (updatedInput) is not taken
// over: such an answer blocks. Exit 2 blocks and stderr is the reason. What
// else can happen is a block at a gate:
//
//	                            at a gate                 at a report
//	another exit code           block, unless FailOpen    report, with the code
//	126, 127, did not start     block                     no-answer
//	a signal, no exit code      block                     no-answer
//	unreadable or over 1 MiB    block                     report
//	its time limit              block                     no-answer
//	the caller's wait is cut    block at once             goes on: nothing cuts it
//
// # Who owns which goroutine
//
//	begin ──▶ running ──exit──▶ ended ──leftovers killed, pipes read──▶ verdict
//	             │ limit, or the caller's wait was cut
//	             └─▶ TERM, grace, KILL ──▶ gone
//
// Each run has one goroutine that starts and ends its tree, and while it runs
// two that read its stdout and stderr; the first waits for the other two. Judge
// and Report wait for it, but a Judge whose wait is cut leaves it to its
// ladder. [Hooks.Close] ends what still runs and waits for all of them.
//
// # What it never does
//
// It renders no input into a command line, believes no missing answer, records
// nothing but its processes ([gate.RecorderOf]), and leaves no process behind: what a hook leaves running is ended
// with it.
package shell
