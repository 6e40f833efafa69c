package web

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"

	"github.com/ripcord-go/ripcord/tool"
)

// show reads the page's body and makes the result.
func (f *fetch) show(r *request, p *page, a fetchArgs) (tool.Result, error) {
	defer p.Body.Close()
	if p.moved != "" {
		return tool.Text(fmt.Sprintf("%s (%s): it redirects to another host, which was not asked: %s\nFetch that URL if it is what you want.\n",
			r.at, printable(p.Status), printable(p.moved))), nil
	}
	media, params, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
	if err != nil {
		media, params = "", nil
	}
	if !mayBeText(media) {
		return tool.Text(fmt.Sprintf("%s (%s): it is %s, which is not text and is not shown\n", r.at, printable(p.Status), media)), nil
	}
	data, note, err := r.read(p)
	if err != nil {
		return r.failed(err)
	}
	if media == "" || media == "application/octet-stream" {
		media, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	page := isHTML(media)
	text, err := f.decode(data, params["charset"], page)
	if err != nil {
		return tool.Result{}, tool.Replyf("%s can't be shown: %w", r.at, err)
	}
	if strings.ContainsRune(text, 0) || !mayBeText(media) {
		return tool.Text(fmt.Sprintf("%s (%s): it is not text (said to be %s, %d bytes) and is not shown\n", r.at, printable(p.Status), media, len(data))), nil
	}
	head := fmt.Sprintf("%s (%s, %s, %d bytes)\n", r.at, printable(p.Status), media, len(data))
	if page && !a.Raw {
		var title, more string
		title, text, more = f.markdown(r, p, text)
		note += more
		if title != "" {
			head += "Title: " + title + "\n"
		}
	}
	res := tool.Text(head + "\n" + window(text, a.Offset, f.Shown) + note)
	res.Stopped = r.stopped
	if r.overdue && !res.Stopped {
		yes := true
		res.TimedOut = &yes
	}
	return res, nil
}

// mayBeText reports whether what is said to be media is looked at.
func mayBeText(media string) bool {
	switch media {
	case "", "application/octet-stream", "application/json", "application/xml", "application/javascript", "application/x-javascript",
		"application/ecmascript", "application/yaml", "application/x-yaml", "application/toml", "application/x-sh", "application/sql",
		"application/graphql", "application/x-ndjson", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml")
}

func isHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// window is the part of text that one call shows.
func window(text string, offset, shown int) string {
	from := min(max(offset, 0), len(text))
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(from+max(shown, utf8.UTFMax), len(text))
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	part := text[from:to]
	switch {
	case text == "":
		return "[there is no text]\n"
	case part == "":
		return fmt.Sprintf("[the text ends at %d]\n", len(text))
	case !strings.HasSuffix(part, "\n"):
		part += "\n"
	}
	if to < len(text) {
		part += fmt.Sprintf("[there is more: %d of %d bytes shown so far; go on with offset=%d]\n", to, len(text), to)
	}
	return part
}

// limited gives at most left bytes and knows whether there were more.
type limited struct {
	src  io.Reader
	left int64
	over bool
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		var one [1]byte
		n, err := l.src.Read(one[:])
		if n == 0 && err == nil {
			return 0, nil
		}
		if l.over = l.over || n > 0; l.over {
			err = io.EOF
		}
		return 0, err
	}
	n, err := l.src.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// read reads the body up to its bounds. What came before a stop or a time-out
// is given, with a note; an error means that nothing is of use.
func (r *request) read(p *page) (data []byte, note string, err error) {
	wire := &limited{src: awake{r, p.Body}, left: r.Wire}
	var src io.Reader = wire
	switch enc := strings.ToLower(strings.TrimSpace(p.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
	case "gzip", "x-gzip":
		if src, err = gzip.NewReader(wire); err != nil {
			if r.signal.Cancelled() || r.timedOut() {
				return nil, "", err
			}
			return nil, "", tool.Replyf("%s says that it is gzip and is not (%w)", r.at, err)
		}
	default:
		return nil, "", tool.Replyf("%s comes as %s, which was not asked for and is not read", r.at, printable(enc))
	}
	body := &limited{src: src, left: r.Body}
	data, err = io.ReadAll(body)
	switch {
	case wire.over:
		note = fmt.Sprintf("[only the first %d bytes of the answer were read: it is longer]\n", r.Wire)
	case body.over:
		note = fmt.Sprintf("[only the first %d bytes of the page were read: it is longer]\n", r.Body)
	case err == nil:
	case r.signal.Cancelled():
		r.stopped = true
		note = fmt.Sprintf("[stopped after %d bytes of the page]\n", len(data))
	case r.timedOut():
		r.overdue = true
		note = fmt.Sprintf("[%s; %d bytes of the page came]\n", r.late(), len(data))
	case errors.Is(err, io.ErrUnexpectedEOF):
		note = fmt.Sprintf("[the server ended the answer too early, after %d bytes]\n", len(data))
	default:
		note = fmt.Sprintf("[the answer broke off after %d bytes: %v]\n", len(data), err)
	}
	return data, note, nil
}

// markdown makes Markdown of HTML. What the library can't do, or what there is
// no time for, comes as text without its tags.
func (f *fetch) markdown(r *request, p *page, in string) (title, text, note string) {
	if len(in) > f.HTML {
		in = strings.ToValidUTF8(in[:f.HTML], "")
		note = fmt.Sprintf("[only the first %d bytes of the HTML are shown]\n", f.HTML)
	}
	title, tidy := tidied(in)
	if out, err := convert(tidy, p.url.String(), r); err == nil {
		return title, out, note
	}
	return title, plain(tidy), note + "[shown as text without its tags]\n"
}

// convert calls the library; a panic in it is an error.
func convert(in, from string, r *request) (out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the conversion to Markdown panicked: %v", p)
		}
	}()
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))))
	b, err := conv.ConvertReader(looking{r, strings.NewReader(in)}, converter.WithDomain(from))
	return strings.TrimSpace(string(b)), err
}

// looking is a reader that ends with the signal.
type looking struct {
	r   *request
	src io.Reader
}

func (l looking) Read(p []byte) (int, error) {
	if err := l.r.signal.Checkpoint(); err != nil {
		l.r.stopped = true
		return 0, err
	}
	return l.src.Read(p[:min(len(p), 16<<10)])
}
