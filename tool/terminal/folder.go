package terminal

import (
	"path/filepath"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

// folder says where a command runs: the workspace, or a folder inside it, links
// followed.
func folder(workspace, asked string) (string, error) {
	if asked == "" {
		return workspace, nil
	}
	if strings.ContainsRune(asked, 0) {
		return "", tool.Replyf("cwd holds a NUL byte; give a folder inside the workspace")
	}
	path := asked
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", tool.Replyf("cwd: %w; give a folder inside the workspace", err)
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", tool.Replyf("the workspace: %w", err)
	}
	if rel, err := filepath.Rel(root, real); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", tool.Replyf("cwd %s is outside the workspace; give a folder inside it, or change there in the command", asked)
	}
	return real, nil
}
