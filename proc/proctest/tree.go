package proctest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
)

// Limits of a generated tree.
const (
	MaxDepth  = 5
	MaxFanOut = 6
	maxNodes  = 24
)

// Plan is a generated tree: a shell script that builds it.
type Plan struct {
	Seed  uint64
	Nodes int
	Text  string // what is in it, for people
	env   string
}

// Argv runs the tree; its environment must hold [Plan.Env].
func (p Plan) Argv() []string { return []string{"sh", "-c", `exec sh -c "$T" n 0`} }

// Env is what the tree's processes need.
func (p Plan) Env() []string {
	return []string{"T=" + p.env, `H=sh -c "$H" & exit 0`}
}

// trait is something awkward about a process.
type trait int

const (
	deaf    trait = iota // ignores TERM, INT and HUP
	catches              // catches TERM, works on, forks all the time
	session              // setsid
	daemon               // double fork: its parent is gone
	frozen               // SIGSTOPped
	buries               // has a zombie child and never waits
	nowhere              // its working directory was deleted
	silent               // holds no output pipe
	chatty               // prints
	inside               // in a pid namespace of its own
	hops                 // forks and exits for ever
	traits
)

func (k trait) String() string {
	return [...]string{"deaf", "catches", "session", "daemon", "frozen", "buries", "nowhere", "silent", "chatty", "inside", "hops"}[k]
}

// Tree makes the plan of seed; the same seed gives the same plan on the same
// system.
func Tree(seed uint64) Plan {
	g := &grower{r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	_, err := exec.LookPath("unshare")
	g.namespaces = err == nil && os.Geteuid() == 0
	g.grow(0)
	env := "case $1 in\n" + g.script.String() + "esac\n"
	return Plan{Seed: seed, Nodes: g.nodes, Text: strings.TrimSpace(g.text.String()), env: env}
}

type grower struct {
	r            *rand.Rand
	nodes        int
	namespaces   bool
	script, text strings.Builder
}

// has draws a trait; those that cost much are rare.
func (g *grower) has(k trait) bool {
	chance := map[trait]float64{deaf: .4, catches: .15, session: .3, daemon: .3, frozen: .1, buries: .1, nowhere: .1, silent: .3, chatty: .3, inside: .04, hops: .04}
	return g.r.Float64() < chance[k]
}

// grow writes the process with the next number, and below it its children.
func (g *grower) grow(depth int) (id int) {
	id = g.nodes
	g.nodes++
	kids := 0
	if depth < MaxDepth-1 {
		kids = g.r.IntN(MaxFanOut + 1)
	}
	if id == 0 {
		kids = max(kids, 1)
	}
	set := map[trait]bool{}
	var names []string
	for k := range traits {
		if set[k] = g.has(k); set[k] {
			names = append(names, k.String())
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d)\n", id)
	if set[deaf] {
		b.WriteString("trap '' TERM INT HUP\n")
	}
	if set[nowhere] {
		b.WriteString("d=$(mktemp -d) && cd \"$d\" && rmdir \"$d\"\n")
	}
	if set[silent] {
		b.WriteString("exec >/dev/null 2>&1\n")
	}
	if set[chatty] {
		b.WriteString("echo node $1\n")
	}
	fmt.Fprintf(&g.text, "%s%d %s\n", strings.Repeat(" ", depth), id, strings.Join(names, " "))
	for range kids {
		if g.nodes >= maxNodes {
			break
		}
		b.WriteString(g.spawn(g.grow(depth + 1)))
	}
	b.WriteString(end(set))
	g.script.WriteString(b.String())
	return id
}

// spawn is how a parent starts a child.
func (g *grower) spawn(id int) string {
	run := fmt.Sprintf(`sh -c "$T" n %d`, id)
	if g.namespaces && g.has(inside) {
		run = "unshare -pf --kill-child=SIGKILL " + run
	}
	if g.has(session) {
		run = "setsid " + run
	}
	if g.has(daemon) {
		return "(" + run + " &)\n"
	}
	return run + " &\n"
}

// end is what a process does once its children are started.
func end(set map[trait]bool) string {
	switch {
	case set[hops]:
		return "exec sh -c \"$H\"\n;;\n"
	case set[frozen]:
		return "kill -STOP $$\nexec sleep 1000\n;;\n"
	case set[catches]:
		return "trap 'echo busy' TERM\nwhile :; do sleep 0.05; done\n;;\n"
	case set[buries]:
		return "sleep 0 &\nexec sleep 1000\n;;\n"
	}
	return "exec sleep 1000\n;;\n"
}
