package interrupt

// Wait is the one shape of an abandonable wait (TRN-19): the value if it is
// there, else the interrupted error once sig trips. The value is looked for
// before the wait and again after the trip, so that what has arrived is never
// thrown away. A closed channel gives ok false and no error.
func Wait[T any](sig Signal, ch <-chan T) (v T, ok bool, err error) {
	select {
	case v, ok = <-ch:
		return v, ok, nil
	default:
	}
	select {
	case v, ok = <-ch:
		return v, ok, nil
	case <-sig.Done():
	}
	select {
	case v, ok = <-ch:
		return v, ok, nil
	default:
		return v, false, sig.Checkpoint()
	}
}
