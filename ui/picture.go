package ui

import (
	"strings"

	"kstate/model"
)

// point is a place in a picture: column and row from its upper left corner.
type point struct{ x, y int }

var (
	right = point{1, 0}
	left  = point{-1, 0}
	down  = point{0, 1}
	up    = point{0, -1}
)

func (p point) plus(d point) point { return point{p.x + d.x, p.y + d.y} }

// node is a box: its border is the outermost ring of the rectangle.
type node[S comparable] struct {
	state      S
	x, y, w, h int
}

func (n *node[S]) contains(p point) bool {
	return p.x >= n.x && p.x < n.x+n.w && p.y >= n.y && p.y < n.y+n.h
}

// picture is a drawing of a graph that was read: its text, its boxes, and for
// each edge the cells of its stroke from port to arrowhead.
type picture[S comparable] struct {
	w, h  int
	rows  [][]string // one glyph a cell
	nodes []node[S]
	edges map[model.Edge[S]][]point
}

// ports are the glyphs in a border where a stroke leaves, with its direction.
var ports = map[string]point{"├": right, "┤": left, "┬": down, "┴": up}

// heads are the arrowheads with the direction in which they point.
var heads = map[string]point{"►": right, "◄": left, "▼": down, "▲": up}

// turns says where a stroke goes on that enters a glyph in a direction.
var turns = map[string]map[point]point{
	"─": {right: right, left: left},
	"│": {up: up, down: down},
	"╮": {right: down, up: left},
	"╯": {right: up, down: left},
	"╭": {left: down, up: right},
	"╰": {left: up, down: right},
}

// readPicture finds the boxes around the names and follows the strokes.
func readPicture[S comparable](names map[string]S, drawing string) *picture[S] {
	p := &picture[S]{edges: map[model.Edge[S]][]point{}}
	for line := range strings.SplitSeq(strings.Trim(drawing, "\n"), "\n") {
		p.rows = append(p.rows, strings.Split(line, ""))
		p.w = max(p.w, len(p.rows[len(p.rows)-1]))
	}
	p.h = len(p.rows)
	p.findNodes(names)
	for i := range p.nodes {
		p.findEdges(&p.nodes[i])
	}
	return p
}

func (p *picture[S]) at(q point) string {
	if q.y < 0 || q.y >= p.h || q.x < 0 || q.x >= len(p.rows[q.y]) {
		return " "
	}
	return p.rows[q.y][q.x]
}

// findNodes looks for upper left corners; the name is in the row below.
func (p *picture[S]) findNodes(names map[string]S) {
	for y, row := range p.rows {
		for x, g := range row {
			if g != "┌" {
				continue
			}
			n := node[S]{x: x, y: y}
			for p.at(point{x + n.w, y}) != "┐" {
				n.w++
			}
			for p.at(point{x, y + n.h}) != "└" {
				n.h++
			}
			n.w, n.h = n.w+1, n.h+1
			name := strings.TrimSpace(strings.Join(p.rows[y+1][x+1:x+n.w-1], ""))
			n.state = names[name]
			p.nodes = append(p.nodes, n)
		}
	}
}

// findEdges follows every stroke that leaves the box.
func (p *picture[S]) findEdges(from *node[S]) {
	for y := from.y; y < from.y+from.h; y++ {
		for x := from.x; x < from.x+from.w; x++ {
			at := point{x, y}
			if d, ok := ports[p.at(at)]; ok {
				path := p.follow(at, d)
				to := p.node(path[len(path)-1])
				if to != nil {
					p.edges[model.Edge[S]{From: from.state, To: to.state}] = path
				}
			}
		}
	}
}

// follow walks a stroke to its arrowhead, or to where it ends.
func (p *picture[S]) follow(at, d point) []point {
	path := []point{at}
	for {
		at = at.plus(d)
		g := p.at(at)
		if heads[g] == d {
			return append(path, at)
		}
		next, ok := turns[g][d]
		if !ok {
			return path
		}
		path, d = append(path, at), next
	}
}

func (p *picture[S]) node(at point) *node[S] {
	for i := range p.nodes {
		if p.nodes[i].contains(at) {
			return &p.nodes[i]
		}
	}
	return nil
}

// A lit stroke differs by its shape too, so that it shows without colour.
var (
	heavy = map[string]string{"─": "━", "│": "┃", "╮": "┓", "╯": "┛", "╭": "┏", "╰": "┗", "├": "┝", "┤": "┥", "┬": "┰", "┴": "┸"}
	twin  = map[string]string{"─": "═", "│": "║", "╮": "╗", "╯": "╝", "╭": "╔", "╰": "╚", "├": "╞", "┤": "╡", "┬": "╥", "┴": "╨"}
)

// draw writes the picture with the counts in its nodes.
func (p *picture[S]) draw(a area, count func(S) (string, style)) {
	for y, row := range p.rows {
		for x, g := range row {
			if g != " " && x < a.w && y < a.h {
				a.c.set(a.x+x, a.y+y, cell{g, plain})
			}
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		inside := a.sub(n.x+1, n.y+1, n.w-2, n.h-2)
		text, st := count(n.state)
		for y := range inside.h {
			inside.restyle(y, st)
		}
		inside.put(indent(p.rows[n.y+1][n.x+1:]), 1, st, text)
	}
}

// light redraws the stroke of an edge.
func (p *picture[S]) light(a area, e model.Edge[S], st style, shape map[string]string) {
	for _, at := range p.edges[e] {
		g := p.at(at)
		if lit, ok := shape[g]; ok {
			g = lit
		}
		if at.x < a.w && at.y < a.h {
			a.c.set(a.x+at.x, a.y+at.y, cell{g, st})
		}
	}
}

func indent(row []string) int {
	n := 0
	for n < len(row) && row[n] == " " {
		n++
	}
	return n
}

// restyle changes the style of a row and leaves its text.
func (a area) restyle(y int, st style) {
	for x := range a.w {
		a.c.cells[(a.y+y)*a.c.w+a.x+x].style = st
	}
}
