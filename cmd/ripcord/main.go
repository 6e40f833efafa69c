package main

import (
	"os"

	"github.com/ripcord-go/ripcord/proc"
)

func main() {
	proc.Main() // a guardian's life is this call
	a := &app{
		env:    os.Getenv,
		stdin:  os.Stdin,
		stderr: os.Stderr,
		stops:  arm(),
		out:    &sink{w: os.Stdout},
		wire:   wire,
	}
	os.Exit(a.main(os.Args[1:]))
}
