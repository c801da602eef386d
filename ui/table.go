package ui

// column is one column of a table. A column without a width takes a share of
// what the others leave, by its weight.
type column struct {
	title  string
	width  int
	right  bool
	weight int
}

// table lays rows of text under headings.
type table []column

const leastShare = 4

// place calls put with the columns' places for a width.
func (t table) place(w int, put func(i, x, w int)) {
	rest, weights := w-len(t)+1, 0
	for _, c := range t {
		rest -= c.width
		weights += c.weight
	}
	x := 0
	for i, c := range t {
		cw := c.width
		if c.weight > 0 {
			cw = max(rest*c.weight/weights, leastShare)
			rest, weights = rest-cw, weights-c.weight
		}
		put(i, x, cw)
		x += cw + 1
	}
}

func (t table) header(a area, y int) {
	t.place(a.w, func(i, x, w int) { t.put(a, i, x, y, w, faint, t[i].title) })
}

// row writes one text for each column.
func (t table) row(a area, y int, st style, values ...string) {
	t.place(a.w, func(i, x, w int) {
		if i < len(values) {
			t.put(a, i, x, y, w, st, values[i])
		}
	})
}

func (t table) put(a area, i, x, y, w int, st style, s string) {
	cut := a.sub(x, y, w, 1)
	if t[i].right {
		cut.putRight(cut.w, 0, st, s)
		return
	}
	cut.put(0, 0, st, s)
}

// title draws the first row of a pane and returns the rest.
func (a area) title(name string, focused bool, info string) area {
	st := faint
	if focused {
		st = heading
	}
	a.fill(0, 0, a.w, border, "─")
	x := a.put(1, 0, st, " "+name+" ")
	if info != "" {
		a.sub(x+1, 0, a.w-x-2, 1).put(0, 0, plain, " "+info+" ")
	}
	return a.below(1)
}
