package mcp

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// mouth is a wire on which only notices go out.
type mouth struct {
	wire
	err     error // of each notice
	notices int
}

func (m *mouth) cancelled(context.Context, *sent) error { m.notices++; return m.err }
func (m *mouth) abandoned(*sent)                        {}
func (m *mouth) heard() int64                           { return 0 }
func (m *mouth) broken() <-chan struct{}                { return nil }

// asked is a request that was sent, and for which answers may lie ready.
func asked(t *testing.T, m *mouth, ready ...answer) *exchange {
	t.Helper()
	o := Options{Log: slog.New(slog.DiscardHandler)}
	s := newServer(t.Context(), Server{Name: "own"}, &o)
	x := &exchange{remote: &remote{name: "mcp__own__write", server: s}, conn: &conn{wire: m, ctx: t.Context(), failed: make(chan struct{})},
		sig: interrupt.New(interrupt.Options{}).Signal(), began: time.Now(), sent: newSent(), track: &track{}, done: make(chan answer, 1)}
	x.sent.as(int64(1), nil)
	x.cancel = func() {
		select {
		case x.done <- answer{err: context.Canceled}:
		default:
		}
	}
	for _, a := range ready {
		x.done <- a
	}
	return x
}

// proves TOL-07: what the server said before it was told anything is the call's
// end, however the wait for it ended
func TestAnAnswerInHandIsTheCallsEnd(t *testing.T) {
	failed := &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "the disk is full"}}}
	for words, a := range map[string]answer{
		"the disk is full": {res: failed},
		"internal trouble": {err: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal trouble"}},
	} {
		for how, end := range map[string]func(*exchange) (tool.Result, error){
			"stopped": func(x *exchange) (tool.Result, error) { return x.stopped(t.Context()) },
			"overdue": func(x *exchange) (tool.Result, error) { return x.overdue(t.Context()) },
		} {
			m := &mouth{}
			res, err := end(asked(t, m, a))
			said := res.Content.Text()
			if err != nil || res.Stopped || res.TimedOut != nil || !strings.Contains(said, words) || strings.Contains(said, "told") || m.notices != 0 {
				t.Errorf("%s: stopped %v, timed out %v, %d notices: %q, %v", how, res.Stopped, res.TimedOut, m.notices, said, err)
			}
		}
	}
}

// proves TOL-26: that a server was told is said only if it took the notice
func TestAServerThatTookNoNoticeWasNotTold(t *testing.T) {
	for want, failure := range map[string]error{"was told": nil, "may not have been told": errors.New("nobody listens")} {
		for how, end := range map[string]func(*exchange) (tool.Result, error){
			"stopped": func(x *exchange) (tool.Result, error) { return x.stopped(t.Context()) },
			"overdue": func(x *exchange) (tool.Result, error) { return x.overdue(t.Context()) },
		} {
			res, err := end(asked(t, &mouth{err: failure}))
			if err != nil || !strings.Contains(res.Content.Text(), want+" that the call is no longer needed") {
				t.Errorf("%s, the notice ends with %v: %q, %v", how, failure, res.Content.Text(), err)
			}
		}
	}
}
