package config

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// limit is one bound: a count, a time or a part of something.
type limit struct {
	key   string
	usual int64 // the runtime's own; 0: none
	count func(*file) *int64
	time  func(*file) string
	part  func(*file) *float64 // in millionths: dollars, or a part of 1
	put   func(*Settings, int64)
	rises bool // a higher value is the stricter one, and none the loosest
}

const million = 1e6

func (l limit) show(n int64) string {
	switch {
	case n == 0:
		return "none"
	case l.time != nil:
		return time.Duration(n).String()
	case l.part != nil:
		return strconv.FormatFloat(float64(n)/million, 'f', -1, 64)
	}
	return strconv.FormatInt(n, 10)
}

// looser says whether n lets pass what now does not.
func (l limit) looser(n, now int64) bool {
	if l.rises {
		return n < now
	}
	return n == 0 && now != 0 || now != 0 && n > now
}

func limitList() []limit {
	return append(turnLimits(), budgets()...)
}

func turnLimits() []limit {
	return []limit{
		{key: "timeout", usual: 0, time: func(f *file) string { return f.Timeout }, put: func(s *Settings, n int64) { s.Timeout = time.Duration(n) }},
		{key: "limits.max_steps", usual: 200, count: func(f *file) *int64 { return f.Limits.MaxSteps }, put: func(s *Settings, n int64) { s.Limits.MaxSteps = int(n) }},
		{key: "limits.max_calls", usual: 0, count: func(f *file) *int64 { return f.Limits.MaxCalls }, put: func(s *Settings, n int64) { s.Limits.MaxCalls = int(n) }},
		{key: "limits.max_tokens", usual: 0, count: func(f *file) *int64 { return f.Limits.MaxTokens }, put: func(s *Settings, n int64) { s.Limits.MaxTokens = n }},
		{key: "limits.max_wall", usual: 0, time: func(f *file) string { return f.Limits.MaxWall }, put: func(s *Settings, n int64) { s.Limits.MaxWall = time.Duration(n) }},
		{key: "limits.attempts", usual: 4, count: func(f *file) *int64 { return f.Limits.Attempts }, put: func(s *Settings, n int64) { s.Limits.Attempts = int(n) }},
		{key: "limits.parallel", usual: 8, count: func(f *file) *int64 { return f.Limits.Parallel }, put: func(s *Settings, n int64) { s.Limits.Parallel = int(n) }},
		{key: "limits.tool_bound", usual: int64(30 * time.Second), time: func(f *file) string { return f.Limits.ToolBound }, put: func(s *Settings, n int64) { s.Limits.ToolBound = time.Duration(n) }},
		{key: "limits.idle", usual: int64(5 * time.Minute), time: func(f *file) string { return f.Limits.Idle }, put: func(s *Settings, n int64) { s.Limits.Idle = time.Duration(n) }},
		{key: "limits.job_grace", usual: int64(2 * time.Second), time: func(f *file) string { return f.Limits.JobGrace }, put: func(s *Settings, n int64) { s.Limits.JobGrace = time.Duration(n) }},
		{key: "limits.agents", usual: 8, count: func(f *file) *int64 { return f.Limits.Agents }, put: func(s *Settings, n int64) { s.Limits.Agents = int(n) }},
		{key: "limits.agents_total", usual: 64, count: func(f *file) *int64 { return f.Limits.AgentsTotal }, put: func(s *Settings, n int64) { s.Limits.AgentsTotal = int(n) }},
		{key: "limits.agent_depth", usual: 3, count: func(f *file) *int64 { return f.Limits.AgentDepth }, put: func(s *Settings, n int64) { s.Limits.AgentDepth = int(n) }},
	}
}

// budgets are those of tokens, of money and of a session.
func budgets() []limit {
	counts := func(key string, usual int64, get func(*file) *int64, put func(*Settings, int64)) limit {
		return limit{key: key, usual: usual, count: get, put: put}
	}
	parts := func(key string, usual int64, get func(*file) *float64, put func(*Settings, float64)) limit {
		return limit{key: key, usual: usual, part: get, put: func(s *Settings, n int64) { put(s, float64(n)/million) }}
	}
	prices := func(key string, get func(*file) *float64, put func(*Settings, float64)) limit {
		l := parts(key, 0, get, put)
		l.rises = true // tokens that cost less spend a budget later
		return l
	}
	return []limit{
		parts("limits.max_cost", 0, func(f *file) *float64 { return f.Limits.MaxCost }, func(s *Settings, n float64) { s.Limits.MaxCost = n }),
		counts("limits.context", 0, func(f *file) *int64 { return f.Limits.Context }, func(s *Settings, n int64) { s.Limits.Context = int(n) }),
		parts("limits.compact_at", 0.8*million, func(f *file) *float64 { return f.Limits.CompactAt }, func(s *Settings, n float64) { s.Limits.CompactAt = n }),
		counts("limits.session.max_steps", 0, func(f *file) *int64 { return f.Limits.Session.MaxSteps }, func(s *Settings, n int64) { s.Limits.Session.Steps = int(n) }),
		counts("limits.session.max_calls", 0, func(f *file) *int64 { return f.Limits.Session.MaxCalls }, func(s *Settings, n int64) { s.Limits.Session.Calls = int(n) }),
		counts("limits.session.max_tokens", 0, func(f *file) *int64 { return f.Limits.Session.MaxTokens }, func(s *Settings, n int64) { s.Limits.Session.Tokens = n }),
		{key: "limits.session.max_wall", time: func(f *file) string { return f.Limits.Session.MaxWall }, put: func(s *Settings, n int64) { s.Limits.Session.Wall = time.Duration(n) }},
		parts("limits.session.max_cost", 0, func(f *file) *float64 { return f.Limits.Session.MaxCost }, func(s *Settings, n float64) { s.Limits.Session.Cost = n }),
		prices("prices.input", func(f *file) *float64 { return f.Prices.Input }, func(s *Settings, n float64) { s.Prices.Input = n }),
		prices("prices.output", func(f *file) *float64 { return f.Prices.Output }, func(s *Settings, n float64) { s.Prices.Output = n }),
	}
}

// limits merges bounds; a project that is not trusted may only lower them.
func (p part) limits() error {
	for _, l := range limitList() {
		n, given, ok := l.read(&p.r.file)
		switch {
		case !ok:
			return p.r.must(l.key, l.key)
		case !given:
			continue
		}
		if n == 0 {
			n = l.usual // 0 means what the runtime does by itself
		}
		now := p.bounds[l.key]
		if higher := l.looser(n, now); higher && !p.door(l.key, l.key, fmt.Sprintf("%s instead of %s", l.show(n), l.show(now))) {
			continue
		}
		p.bounds[l.key] = n
		l.put(p.Settings, n)
		p.set(l.key, l.show(n), p.at(l.key))
	}
	return nil
}

// read is the limit's value in a file; ok is false if it means nothing.
func (l limit) read(f *file) (n int64, given, ok bool) {
	switch {
	case l.time != nil:
		text := l.time(f)
		if text == "" {
			return 0, false, true
		}
		d, err := time.ParseDuration(text)
		return int64(d), true, err == nil && d > 0
	case l.part != nil:
		v := l.part(f)
		if v == nil {
			return 0, false, true
		}
		most := million // dollars
		if l.key == "limits.compact_at" {
			most = 1
		}
		n = int64(math.Ceil(*v * million))
		return n, true, *v >= 0 && *v <= most // what is no number is neither
	}
	v := l.count(f)
	if v == nil {
		return 0, false, true
	}
	tokens := l.key == "limits.max_tokens" || l.key == "limits.session.max_tokens"
	return *v, true, *v >= 0 && (tokens || *v <= 1<<31)
}
