//go:build !unix

package proc

import "errors"

func newHost(Options) (Host, error) {
	return nil, errors.New("process trees need Linux or another Unix")
}
