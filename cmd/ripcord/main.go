package main

import (
	"os"

	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

func main() {
	proc.Main(workflow.Role()) // a guardian's life is this call, and a script engine's
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
