package tui

import (
	"bytes"
	"strings"

	"charm.land/glamour/v2"
	gansi "charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// press turns blocks into rows for a terminal of a width. It belongs to one
// goroutine: rendering Markdown is slow and must not hold up a key.
type press struct {
	width   int
	profile colorprofile.Profile
	md      *glamour.TermRenderer
	mdWidth int
}

// rows renders b; every row is at most width columns and holds nothing but
// text and style.
func (p *press) rows(b block) []string {
	var text string
	switch b.kind {
	case styled, lastBlock:
		text = strings.Join(b.lines, "\n")
	case spoken:
		text = bold("› ") + strings.ReplaceAll(clean(strings.TrimRight(b.text, "\n")), "\n", "\n  ")
	case markdown:
		text = p.markdown(b.text)
	}
	text = ansi.Wrap(strings.ReplaceAll(onlyStyle(text), "\t", "    "), max(4, p.width), "")
	rows := strings.Split(text, "\n")
	for i := range rows {
		rows[i] = p.tint(rows[i])
	}
	return rows
}

// markdown renders text, or shows it as it is when it cannot be rendered.
func (p *press) markdown(text string) string {
	text = cleanMarkdown(text)
	if p.md == nil || p.mdWidth != p.width {
		md, err := glamour.NewTermRenderer(
			glamour.WithStyles(p.style()), glamour.WithWordWrap(max(8, p.width)), glamour.WithInlineTableLinks(true))
		if err != nil {
			return text
		}
		p.md, p.mdWidth = md, p.width
	}
	out, err := p.md.Render(text)
	if err != nil {
		return text
	}
	rows := strings.Split(strings.Trim(out, "\n"), "\n")
	for i := range rows {
		rows[i] = trimRight(rows[i])
	}
	return strings.Join(rows, "\n")
}

// style is the renderer's, without margins and without a colour of its own for
// plain text, so that it reads on dark and light alike.
func (p *press) style() gansi.StyleConfig {
	if p.profile < colorprofile.ANSI {
		s := styles.NoTTYStyleConfig
		s.Document.Margin = nil
		s.Document.BlockPrefix, s.Document.BlockSuffix = "", ""
		return s
	}
	s := styles.DarkStyleConfig
	s.Document.Margin = nil
	s.Document.BlockPrefix, s.Document.BlockSuffix = "", ""
	s.Document.Color = nil
	return s
}

// trimRight takes the padding off a row that may end in style sequences.
func trimRight(row string) string {
	plain := ansi.Strip(row)
	n := ansi.StringWidth(strings.TrimRight(plain, " "))
	if n == ansi.StringWidth(plain) {
		return row
	}
	return ansi.Truncate(row, n, "")
}

// tint reduces colours to what the terminal can show; a row ends unstyled.
func (p *press) tint(row string) string {
	if !strings.Contains(row, "\x1b") {
		return row
	}
	var b bytes.Buffer
	w := colorprofile.Writer{Forward: &b, Profile: p.profile}
	if _, err := w.WriteString(row + "\x1b[m"); err != nil {
		return ansi.Strip(row)
	}
	return b.String()
}
