package interrupt

import "slices"

// Terminator ends something that a tool started. It must be idempotent, must
// not block and must not fail loudly; a panic is reported and goes no further.
type Terminator func()

// Registrar takes the terminators of one tool call. It leads nowhere else: not
// to the coordinator, not to the signal.
type Registrar interface {
	// Register adds t. If the signal has tripped t runs at once, here. After
	// the registrar or its coordinator was closed the error is [ErrClosed].
	Register(t Terminator) (id int, err error)
	// Unregister removes what Register gave id to; an id it does not know is
	// no error.
	Unregister(id int)
	// Close drops the call's terminators; one that a trip has already begun to
	// run may still be running. It is idempotent.
	Close()
}

type registrar struct {
	// update and isolate are the coordinator's; its state holds ours.
	update      func(func(*state))
	isolate     func(func())
	terminators []listener // guarded by update
	closed      bool       // guarded by update
}

// handle is what a tool is given: it holds functions only.
type handle struct {
	register   func(Terminator) (int, error)
	unregister func(int)
	close      func()
}

func (h handle) Register(t Terminator) (int, error) { return h.register(t) }
func (h handle) Unregister(id int)                  { h.unregister(id) }
func (h handle) Close()                             { h.close() }

// Registrar returns a new registrar, one for each tool call. After Close the
// error is [ErrClosed].
func (c *Coordinator) Registrar() (Registrar, error) {
	r := &registrar{update: c.update, isolate: c.isolate}
	closed := false
	c.update(func(s *state) {
		if closed = s.closed; !closed {
			s.registrars = append(s.registrars, r)
		}
	})
	if closed {
		return nil, ErrClosed
	}
	return handle{r.register, r.unregister, r.end}, nil
}

func (r *registrar) register(t Terminator) (id int, err error) {
	now := false
	r.update(func(s *state) {
		if r.closed || s.closed {
			err = ErrClosed
			return
		}
		s.nextID++
		id = s.nextID
		if now = s.cause != nil; !now {
			r.terminators = append(r.terminators, listener{id, t})
		}
	})
	if now {
		r.isolate(t)
	}
	return id, err
}

// holds reports whether the terminator is still there to be run.
func (r *registrar) holds(id int) (ok bool) {
	r.update(func(*state) {
		ok = slices.ContainsFunc(r.terminators, func(l listener) bool { return l.id == id })
	})
	return ok
}

func (r *registrar) unregister(id int) {
	r.update(func(*state) {
		r.terminators = slices.DeleteFunc(r.terminators, func(l listener) bool { return l.id == id })
	})
}

func (r *registrar) end() {
	r.update(func(s *state) {
		r.closed, r.terminators = true, nil
		s.registrars = slices.DeleteFunc(s.registrars, func(o *registrar) bool { return o == r })
	})
}
