//go:build ripcordroot

package main
