package builtin

import (
	"bytes"
	"io/fs"
	"net/http"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

// kindOf names what a binary file looks to be, by its first bytes.
func kindOf(head []byte) string {
	for _, k := range []struct{ magic, kind string }{
		{"\x7fELF", "an ELF program or library"},
		{"MZ", "a Windows program or library"},
		{"\xcf\xfa\xed\xfe", "a Mach-O program or library"},
		{"\xca\xfe\xba\xbe", "a Mach-O program or a Java class"},
		{"SQLite format 3\x00", "an SQLite database"},
		{"\x28\xb5\x2f\xfd", "zstd data"},
		{"\xfd7zXZ\x00", "xz data"},
		{"BZh", "bzip2 data"},
		{"\xff\xfe", "UTF-16 text"},
		{"\xfe\xff", "UTF-16 text"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.kind
		}
	}
	switch media, _, _ := strings.Cut(http.DetectContentType(head), ";"); media {
	case "application/octet-stream", "text/plain":
		return "of no kind that is known here"
	default:
		return media
	}
}

// binary refuses a file that is no text, with its kind and size.
func binary(p place, fi fs.FileInfo, head []byte) error {
	return tool.Replyf("%s is binary (%d bytes, %s); look at it with file, xxd or strings in bash", p.show, fi.Size(), kindOf(head[:min(len(head), sniffLength)]))
}
