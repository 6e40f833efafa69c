package builtin_test

import (
	"fmt"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool/builtin"
)

func Example() {
	for _, t := range builtin.Tools(builtin.Options{}) { // no host: no bash
		fmt.Println(t.Spec().Name, t.Spec().Effect, interrupt.BehaviourOf(t))
	}
	// Output:
	// read pure NON_INTERRUPTIBLE
	// write unsafe NON_INTERRUPTIBLE
	// edit unsafe NON_INTERRUPTIBLE
	// apply_patch unsafe COOPERATIVE
	// grep pure COOPERATIVE
	// glob pure COOPERATIVE
	// ls pure COOPERATIVE
	// todo pure NON_INTERRUPTIBLE
}
