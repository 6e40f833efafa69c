package remote

import (
	"context"
	"iter"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Open implements api.Service.
func (c *Client) Open(ctx context.Context, req api.OpenRequest) (api.SessionState, error) {
	s, err := call[wireState](ctx, c, "open", req)
	return s.state(), err
}

// Release implements api.Service.
func (c *Client) Release(ctx context.Context, id event.SessionID) error {
	_, err := call[none](ctx, c, "release", sessionArg{id})
	return err
}

// Status implements api.Service.
func (c *Client) Status(ctx context.Context, id event.SessionID) (api.SessionState, error) {
	s, err := call[wireState](ctx, c, "status", sessionArg{id})
	return s.state(), err
}

// Submit implements api.Service.
func (c *Client) Submit(ctx context.Context, req api.SubmitRequest) (api.Submitted, error) {
	return call[api.Submitted](ctx, c, "submit", req)
}

// Continue implements api.Service.
func (c *Client) Continue(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	return call[api.Submitted](ctx, c, "continue", sessionArg{id})
}

// RunHeld implements api.Service.
func (c *Client) RunHeld(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	return call[api.Submitted](ctx, c, "run-held", sessionArg{id})
}

// RunNext implements api.Service.
func (c *Client) RunNext(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	return call[api.Submitted](ctx, c, "run-next", sessionArg{id})
}

// Inbox implements api.Service.
func (c *Client) Inbox(ctx context.Context, id event.SessionID) ([]api.Waiting, error) {
	return call[[]api.Waiting](ctx, c, "inbox", sessionArg{id})
}

// EditInput implements api.Service.
func (c *Client) EditInput(ctx context.Context, req api.EditRequest) error {
	_, err := call[none](ctx, c, "edit_input", req)
	return err
}

// RemoveInput implements api.Service.
func (c *Client) RemoveInput(ctx context.Context, req api.RemoveRequest) error {
	_, err := call[none](ctx, c, "remove_input", req)
	return err
}

// ClearInbox implements api.Service.
func (c *Client) ClearInbox(ctx context.Context, req api.ClearRequest) ([]string, error) {
	return call[[]string](ctx, c, "clear_inbox", req)
}

// Retry implements api.Service.
func (c *Client) Retry(ctx context.Context, req api.RetryRequest) (api.Submitted, error) {
	return call[api.Submitted](ctx, c, "retry", req)
}

// Rewind implements api.Service.
func (c *Client) Rewind(ctx context.Context, req api.RewindRequest) (api.Rewound, error) {
	return call[api.Rewound](ctx, c, "rewind", req)
}

// Fork implements api.Service.
func (c *Client) Fork(ctx context.Context, req api.ForkRequest) (event.SessionID, error) {
	return call[event.SessionID](ctx, c, "fork", req)
}

// Compact implements api.Service.
func (c *Client) Compact(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	return call[api.Submitted](ctx, c, "compact", sessionArg{id})
}

// Wait implements api.Service.
func (c *Client) Wait(ctx context.Context, id event.SessionID, input event.InputID) (api.Result, error) {
	w, err := call[*wireResult](ctx, c, "wait", inputArg{id, input})
	if err != nil {
		return api.Result{}, err
	}
	if w == nil {
		return api.Result{}, protocolError("wait answered without a result", nil)
	}
	return *w.result(), nil
}

// Interrupt implements api.Service.
func (c *Client) Interrupt(ctx context.Context, req api.InterruptRequest) (api.Interrupted, error) {
	return call[api.Interrupted](ctx, c, "interrupt", req)
}

// Decide implements api.Service.
func (c *Client) Decide(ctx context.Context, req api.DecideRequest) error {
	_, err := call[none](ctx, c, "decide", req)
	return err
}

// Follow implements api.Service.
func (c *Client) Follow(ctx context.Context, id event.SessionID, from event.Seq, live bool) iter.Seq2[api.Frame, error] {
	return c.stream(ctx, "follow", streamArg{id, from, live})
}

// Records implements api.Service.
func (c *Client) Records(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[api.Frame, error] {
	return c.stream(ctx, "records", streamArg{Session: id, From: from})
}

// Sessions implements api.Service.
func (c *Client) Sessions(ctx context.Context) ([]api.SessionInfo, error) {
	return call[[]api.SessionInfo](ctx, c, "sessions", none{})
}

// Delete implements api.Service.
func (c *Client) Delete(ctx context.Context, id event.SessionID) error {
	_, err := call[none](ctx, c, "delete", sessionArg{id})
	return err
}

// Verify implements api.Service.
func (c *Client) Verify(ctx context.Context, id event.SessionID) (api.VerifyReport, error) {
	return call[api.VerifyReport](ctx, c, "verify", sessionArg{id})
}

// PreviewRepair implements api.Service.
func (c *Client) PreviewRepair(ctx context.Context, id event.SessionID) (api.RepairPreview, error) {
	return call[api.RepairPreview](ctx, c, "preview_repair", sessionArg{id})
}

// Jobs implements api.Service.
func (c *Client) Jobs(ctx context.Context, id event.SessionID) ([]api.JobInfo, error) {
	return call[[]api.JobInfo](ctx, c, "jobs", sessionArg{id})
}

// JobLog implements api.Service.
func (c *Client) JobLog(ctx context.Context, id event.SessionID, job event.JobID) (string, error) {
	return call[string](ctx, c, "job_log", jobArg{Session: id, Job: job})
}

// KillJob implements api.Service.
func (c *Client) KillJob(ctx context.Context, id event.SessionID, job event.JobID) error {
	_, err := call[none](ctx, c, "kill_job", jobArg{Session: id, Job: job})
	return err
}

// KeepJob implements api.Service.
func (c *Client) KeepJob(ctx context.Context, id event.SessionID, job event.JobID, keep bool) error {
	_, err := call[none](ctx, c, "keep_job", jobArg{id, job, keep})
	return err
}
