package interrupt

// Live counts what waits for a trip: listeners and terminators. For tests only.
func (c *Coordinator) Live() (listeners, terminators int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.state.registrars {
		terminators += len(r.terminators)
	}
	return len(c.state.listeners), terminators
}
