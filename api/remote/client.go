package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Client asks a [Handler] behind a Unix socket. It is an api.Service, safe for
// concurrent use, and connects anew for each call as needed.
type Client struct {
	path string
	http *http.Client
}

var _ api.Service = (*Client)(nil)

// Dial returns a client for the socket at path. It does not connect yet: a
// socket on which nobody listens shows as an error of the first call, with
// code "transport" and the system's error below it ([Absent] tells).
func Dial(path string) *Client {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
		DisableCompression: true,
		MaxIdleConns:       2,
	}
	return &Client{path, &http.Client{Transport: t}}
}

// Close gives idle connections up. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// post sends one call. The caller closes the body.
func (c *Client) post(ctx context.Context, name string, arg any) (*http.Response, error) {
	body, err := encode(arg)
	if err != nil {
		return nil, &api.Error{Code: event.FailUsage, Message: "the request cannot be sent: " + err.Error(), Err: err}
	}
	if len(body) > MaxBody {
		return nil, &api.Error{Code: event.FailUsage, Message: "the request is larger than 32 MiB", Hint: "send less at once"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ripcord"+prefix+name, bytes.NewReader(body))
	if err != nil {
		return nil, &api.Error{Code: event.FailInternal, Message: err.Error(), Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.transport(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

func (c *Client) transport(ctx context.Context, err error) *api.Error {
	if cause := context.Cause(ctx); cause != nil {
		return &api.Error{Code: event.FailTransport, Message: "the request was given up before it was answered", Hint: "ask again", Err: cause}
	}
	return &api.Error{Code: event.FailTransport, Message: "no process answers on the control socket " + c.path,
		Hint: "see `ripcord sessions list` for what is running", Err: err}
}

func refusal(resp *http.Response) error {
	var e struct {
		Error *wireError `json:"error"`
	}
	err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e)
	if err != nil || e.Error == nil {
		return protocolError("status "+resp.Status+" without an error", err)
	}
	return e.Error.api()
}

// call asks one question and reads its one answer.
func call[R any](ctx context.Context, c *Client, name string, arg any) (res R, err error) {
	resp, err := c.post(ctx, name, arg)
	if err != nil {
		return res, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&res); err != nil {
		if ctx.Err() != nil {
			return res, c.transport(ctx, err)
		}
		return res, protocolError(name+" was cut off", err)
	}
	return res, nil
}

// stream reads frames until the last line. It ends in silence when ctx does.
func (c *Client) stream(ctx context.Context, name string, arg streamArg) iter.Seq2[api.Frame, error] {
	return func(yield func(api.Frame, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := c.post(ctx, name, arg)
		if err != nil {
			if ctx.Err() == nil {
				yield(api.Frame{}, err)
			}
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		for lines.Scan() {
			var w wireFrame
			// The scanner reuses its memory and a frame is kept: Unmarshal
			// copies what it puts into a RawMessage.
			if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
				yield(api.Frame{}, protocolError("a line of the stream is not JSON", err))
				return
			}
			f, done, err := w.frame()
			if err != nil {
				yield(api.Frame{}, err)
				return
			}
			if done || !yield(f, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		cut := lines.Err()
		if cut == nil {
			cut = io.ErrUnexpectedEOF
		}
		yield(api.Frame{}, &api.Error{Code: event.FailTransport, Message: "the stream was cut off: the process that served it may have ended",
			Hint: "read what it wrote with `ripcord log show " + string(arg.Session) + "`", Err: cut})
	}
}

// Absent reports whether err says that nobody listens on the socket: it is not
// there, or whoever made it is gone.
func Absent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
