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
		{"cost", guard.Budget{Cost: 0.5}, guard.Spent{Cost: 0.5}, "cost"},
		{"room below the cost", guard.Budget{Cost: 0.5}, guard.Spent{Cost: 0.4999}, ""},
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

// proves TRN-11: an input's own bound on steps makes the budget smaller, never
// larger
func TestAnInputMayOnlyTakeFromTheBudget(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, c := range []struct {
		budget int
		own    *int
		want   int
	}{{3, nil, 3}, {3, n(2), 2}, {3, n(9), 3}, {0, n(9), 9}, {3, n(0), 3}, {3, n(-1), 3}} {
		if got := (guard.Budget{Steps: c.budget, Calls: 7}).Within(c.own); got.Steps != c.want || got.Calls != 7 {
			t.Errorf("%d within %v: %+v", c.budget, c.own, got)
		}
	}
}
