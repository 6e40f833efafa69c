package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/tool/web"
)

// proves TOL-25: HTML that nests without end, or widens without end, is
// brought into a shape that can be converted in bounded time.
func TestHTMLIsBroughtIntoABoundedShape(t *testing.T) {
	for name, unit := range map[string]string{"quotes": "<blockquote>x", "lists": "<ul><li>x", "cells": "<table><tr><td>x", "inline": "<b><i><a href=x><em>x",
		"divs": "<div>x", "hidden close": "<blockquote><!--</blockquote>-->x", "close out of place": "<blockquote><table><tr><td></blockquote>x", "item without a list": "<li><div>x"} {
		_, out := web.Tidied(strings.Repeat(unit, 20_000))
		if d := depthOf(t, out); d > web.Depth {
			t.Errorf("%s: %d deep", name, d)
		}
		if lists := strings.Count(out[:min(len(out), 4000)], "<blockquote>"); lists > 2*web.Depth {
			t.Errorf("%s: %d quotes at its beginning", name, lists)
		}
	}
	_, out := web.Tidied("<table><tr>" + strings.Repeat("<td>x", 5000) + strings.Repeat("<tr><td>y", 5000))
	if n := strings.Count(strings.SplitAfterN(out, "</tr>", 2)[0], "<td>"); n > 64 {
		t.Errorf("a row of %d cells", n)
	}
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, strings.Repeat("<blockquote>", 480)+strings.Repeat("<p>word</p>", 2000))
	})
	got := ok(t, web.Config{AllowPrivate: local}, m{"url": at})
	has(t, got, "> > > > > > word")
	if strings.Contains(got, "> > > > > > > word") {
		t.Error("quotes are nested deeper than is promised")
	}
}

// depthOf checks that the elements of tidied HTML are well-formed.
func depthOf(t *testing.T, out string) (deepest int) {
	t.Helper()
	var stack []string
	for {
		_, rest, ok := strings.Cut(out, "<")
		if !ok {
			break
		}
		tag, after, closed := strings.Cut(rest, ">")
		if !closed {
			t.Fatalf("a tag has no end: %.100q", rest)
		}
		out = after
		name, _, _ := strings.Cut(tag, " ")
		switch {
		case name == "br" || name == "hr" || name == "img":
		case strings.HasPrefix(name, "/"):
			if len(stack) == 0 || stack[len(stack)-1] != name[1:] {
				t.Fatalf("%s closes %v", name, stack)
			}
			stack = stack[:len(stack)-1]
		default:
			stack = append(stack, name)
			deepest = max(deepest, len(stack))
		}
	}
	if len(stack) > 0 {
		t.Fatalf("%v are not closed", stack)
	}
	return deepest
}

// proves TOL-25: what pages hold stays readable.
func TestTidiedHTMLKeepsWhatIsSaid(t *testing.T) {
	for in, want := range map[string]string{
		"a < b <c>d</c> &lt;e":              "a &lt; b d &lt;e",
		"<P>one<p>two":                      "<p>one</p><p>two</p>",
		"<p>one<div>two</div>":              "<p>one</p><div>two</div>",
		`<a href='x"y' onclick=z>l</a>`:     `<a href="x&quot;y">l</a>`,
		"<a href=x>l<a href=y>m</a>":        `<a href="x">lm</a>`,
		"</p></div>x</b>":                   "x",
		"<script>a</p>b</script>c":          "c",
		"<script>never closed":              "",
		"<!-- a -- <b> -->c<!doctype x>d":   "cd",
		"<ul><li>a<ul><li>b</ul><li>c</ul>": "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
		`<img src="data:x" alt="a>b">`:      `<img alt="a>b">`,
		`<td>x<li>y`:                        " x y",
		"<a href":                           "",
		"<b x=\"":                           "",
		"<":                                 "&lt;",
	} {
		if _, got := web.Tidied(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := web.Plain("<p>a <b>b</b></p><ul><li>c &amp; d</li></ul>"); got != "a b\nc & d" {
		t.Errorf("%q", got)
	}
}

// proves TOL-25: no page takes the shape apart.
func FuzzTidied(f *testing.F) {
	f.Add("<ul><li>a</b><td><!-- <p x='>'>")
	f.Add("<a =/ href = 'x' =>y</A ><title>t</title><svg></svg/>")
	f.Fuzz(func(t *testing.T, in string) {
		_, out := web.Tidied(in)
		if d := depthOf(t, out); d > web.Depth {
			t.Errorf("%d deep", d)
		}
		web.Plain(out)
	})
}
