package web

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

// last is a body that comes in one piece, with its end; before it is given out
// something happens.
type last struct {
	text string
	then func()
}

func (l last) Read(p []byte) (int, error) { l.then(); return copy(p, l.text), io.EOF }
func (l last) Close() error               { return nil }

// proves TOL-02, TOL-07, TOL-25: a page that came whole is a finished page,
// though a stop or the end of its time came with it; a page whose conversion was
// cut is a stopped one.
func TestAPageThatCameWholeIsNotCutByWhatComesLater(t *testing.T) {
	for _, k := range []struct {
		media, text   string
		trip, stopped bool
	}{
		{media: "text/plain", text: "the words", trip: true},
		{media: "text/plain", text: "the words"},
		{media: "text/html", text: "<p>the words"},
		{media: "text/html", text: "<p>the words", trip: true, stopped: true},
	} {
		c := interrupt.New(interrupt.Options{})
		f := New(Config{Total: time.Hour, Idle: time.Millisecond}).(*fetch)
		r := newRequest(t.Context(), f.Config, c.Signal())
		r.idle.Stop() // it runs again from the page's first bytes
		then := func() {
			if !k.trip {
				r.idle.Reset(0)
				<-r.ctx.Done()
				return
			}
			if _, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}); err != nil {
				t.Error(err)
			}
		}
		p := &page{Response: &http.Response{Status: "200 OK", Header: http.Header{"Content-Type": {k.media}}, Body: last{k.text, then}}, url: &url.URL{Scheme: "http", Host: "h"}}
		res, err := f.show(r, p, fetchArgs{})
		r.close()
		if said := res.Content.Text(); err != nil || res.Stopped != k.stopped || res.TimedOut != nil || !strings.Contains(said, "the words") ||
			strings.Contains(said, "without its tags") != k.stopped {
			t.Errorf("%+v: stopped %v, timed out %v, %q, %v", k, res.Stopped, res.TimedOut, said, err)
		}
	}
}
