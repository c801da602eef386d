package ui

// source is an ordered sequence that may be long: a list asks for neighbours
// and never counts. Each answer must cost no more than a search.
type source[K any] interface {
	compare(a, b K) int
	has(k K) bool
	first() (K, bool)
	last() (K, bool)
	after(k K) (K, bool)
	before(k K) (K, bool)
}

// list is a cursor and a window over a source. Both are keys, not numbers, so
// that rows that come and go elsewhere do not move what the operator looks at.
type list[K any] struct {
	cursor, top K
	set         bool // cursor and top are valid
	page        int  // rows that were drawn last: how far a page goes
	visible     []K  // reused
}

// settle puts the cursor on an entry that exists; false when there is none.
func (l *list[K]) settle(s source[K]) bool {
	if l.set && s.has(l.cursor) {
		return true
	}
	k, ok := s.first()
	if l.set {
		if next, found := s.after(l.cursor); found {
			k, ok = next, true
		} else if prev, found := s.before(l.cursor); found {
			k, ok = prev, true
		}
	}
	if !ok {
		l.set = false
		return false
	}
	if !l.set {
		l.top = k
	}
	l.cursor, l.set = k, true
	return true
}

// rows are the entries in a window of h rows that holds the cursor. The slice
// is valid until the next call.
func (l *list[K]) rows(s source[K], h int) []K {
	l.visible = l.visible[:0]
	l.page = max(h, 1)
	if h <= 0 || !l.settle(s) {
		return nil
	}
	if s.compare(l.cursor, l.top) < 0 {
		l.top = l.cursor
	}
	if !l.walk(s, h) {
		l.top = l.stepBack(s, l.cursor, h-1)
		l.walk(s, h)
	}
	if missing := h - len(l.visible); missing > 0 {
		if top := l.stepBack(s, l.visible[0], missing); s.compare(top, l.top) != 0 {
			l.top = top
			l.walk(s, h)
		}
	}
	return l.visible
}

// walk fills visible from top; false when the cursor lies below the window.
func (l *list[K]) walk(s source[K], h int) bool {
	l.visible = l.visible[:0]
	k, ok := l.top, true
	if !s.has(k) {
		k, ok = s.after(k)
	}
	seen := false
	for ok && len(l.visible) < h {
		l.visible = append(l.visible, k)
		seen = seen || s.compare(k, l.cursor) == 0
		k, ok = s.after(k)
	}
	if len(l.visible) > 0 {
		l.top = l.visible[0]
	}
	return seen
}

func (l *list[K]) stepBack(s source[K], k K, n int) K {
	for range n {
		prev, ok := s.before(k)
		if !ok {
			break
		}
		k = prev
	}
	return k
}

// move takes a movement key; false when it is none.
func (l *list[K]) move(s source[K], m movement) bool {
	if !l.settle(s) {
		return false
	}
	step, n := s.after, 1
	switch m {
	case moveUp:
		step = s.before
	case moveDown:
	case movePageUp:
		step, n = s.before, l.page
	case movePageDown:
		n = l.page
	case moveHome:
		l.cursor, _ = s.first()
		return true
	case moveEnd:
		l.cursor, _ = s.last()
		return true
	default:
		return false
	}
	for range n {
		k, ok := step(l.cursor)
		if !ok {
			break
		}
		l.cursor = k
	}
	return true
}

// choose puts the cursor on a key.
func (l *list[K]) choose(k K) {
	if !l.set {
		l.top = k
	}
	l.cursor, l.set = k, true
}

// movement is what a key of movement asks for.
type movement uint8

const (
	moveUp movement = iota + 1
	moveDown
	movePageUp
	movePageDown
	moveHome
	moveEnd
	moveLeft
	moveRight
)

// scroll is a window over numbered lines.
type scroll struct {
	y, x int // first line, first column
	page int
}

const sideStep = 8 // columns that one key moves sideways

func (s *scroll) move(m movement) bool {
	switch m {
	case moveUp:
		s.y--
	case moveDown:
		s.y++
	case movePageUp:
		s.y -= max(1, s.page)
	case movePageDown:
		s.y += max(1, s.page)
	case moveHome:
		s.y, s.x = 0, 0
	case moveEnd:
		s.y = 1 << 30
	case moveLeft:
		s.x = max(0, s.x-sideStep)
	case moveRight:
		s.x += sideStep
	default:
		return false
	}
	return true
}

// fit keeps the window inside of n lines when h are shown.
func (s *scroll) fit(n, h int) {
	s.page = h
	s.y = max(0, min(s.y, n-h))
}
