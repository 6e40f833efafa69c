package guard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/guard"
)

// proves TRN-11
func TestABudgetNamesTheFirstBoundThatIsReached(t *testing.T) {
	all := guard.Budget{Steps: 3, Calls: 5, Tokens: 100, Wall: time.Minute}
	for _, c := range []struct {
		name   string
		budget guard.Budget
		spent  guard.Spent
		want   string
	}{
		{"nothing is bounded", guard.Budget{}, guard.Spent{Steps: 1e6, Calls: 1e6, Tokens: 1e12, Wall: 1e6 * time.Hour}, ""},
		{"room for another step", all, guard.Spent{Steps: 2, Calls: 4, Tokens: 99, Wall: time.Minute - 1}, ""},
		{"steps", all, guard.Spent{Steps: 3}, "steps"},
		{"calls", all, guard.Spent{Calls: 5}, "calls"},
		{"calls of one step may be over it", all, guard.Spent{Calls: 50}, "calls"},
		{"tokens", all, guard.Spent{Tokens: 100}, "tokens"},
		{"wall", all, guard.Spent{Wall: time.Minute}, "wall"},
		{"the first of several", all, guard.Spent{Steps: 9, Calls: 9, Tokens: 900, Wall: time.Hour}, "steps"},
	} {
		if got := c.budget.Exceeded(c.spent); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func ExampleBudget_Exceeded() {
	b := guard.Budget{Steps: 2, Wall: time.Minute}
	fmt.Printf("%q\n", b.Exceeded(guard.Spent{Steps: 1, Wall: 10 * time.Second}))
	fmt.Printf("%q\n", b.Exceeded(guard.Spent{Steps: 1, Wall: 2 * time.Minute}))
	// Output:
	// ""
	// "wall"
}
