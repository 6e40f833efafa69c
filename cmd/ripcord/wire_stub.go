//go:build !ripcordroot

package main

import (
	"context"
	"errors"
)

func wire(context.Context, *app, need) (*engine, error) {
	return nil, errors.New("not wired yet")
}
