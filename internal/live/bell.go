package live

import "context"

// bell wakes a goroutine that looks at something: rung often before that has
// looked, it looks once.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

// ring never waits.
func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// each has look called after each ring, until the context is done.
func (b bell) each(ctx context.Context, look func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b:
			look()
		}
	}
}
