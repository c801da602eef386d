package zkwatch

import "sync"

// delivery hands changes to a receiver who may be slow: nothing is dropped, but
// while nobody receives, a newer change of a path replaces the older one.
type delivery struct {
	out  chan []Change
	stop <-chan struct{}

	mu   sync.Mutex
	list []Change
	at   map[string]int // where in list a path waits
	gone int            // entries of list that were replaced
	bell chan struct{}
}

func newDelivery(stop <-chan struct{}) *delivery {
	return &delivery{out: make(chan []Change), stop: stop, at: map[string]int{}, bell: make(chan struct{}, 1)}
}

func (d *delivery) post(ch Change) {
	d.mu.Lock()
	if ch.Mark == NoMark {
		if i, waits := d.at[ch.Path]; waits {
			d.list[i] = Change{}
			d.gone++
		}
		d.at[ch.Path] = len(d.list)
	}
	d.list = append(d.list, ch)
	if d.gone > 1024 && d.gone > len(d.list)/2 {
		d.compact()
	}
	d.mu.Unlock()
	select {
	case d.bell <- struct{}{}:
	default:
	}
}

// compact takes replaced entries out.
func (d *delivery) compact() {
	kept := d.list[:0]
	for _, ch := range d.list {
		if ch.Mark == NoMark && ch.Path == "" {
			continue
		}
		if ch.Mark == NoMark {
			d.at[ch.Path] = len(kept)
		}
		kept = append(kept, ch)
	}
	clear(d.list[len(kept):])
	d.list, d.gone = kept, 0
}

func (d *delivery) take() []Change {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone > 0 {
		d.compact()
	}
	list := d.list
	d.list = nil
	clear(d.at)
	return list
}

// run delivers until stop.
func (d *delivery) run() {
	defer close(d.out)
	for {
		select {
		case <-d.bell:
		case <-d.stop:
			return
		}
		list := d.take()
		if len(list) == 0 {
			continue
		}
		select {
		case d.out <- list:
		case <-d.stop:
			return
		}
	}
}
