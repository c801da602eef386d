package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kstate/model"
)

// The tests of the graphs read the screen as a person does: they find a box by
// its name and follow each stroke cell by cell. They share nothing with
// picture.go, which reads the same drawings for the program.

// grid is a screen, one rune a cell.
type grid [][]rune

func gridOf(text string) grid {
	var g grid
	for row := range strings.SplitSeq(text, "\n") {
		g = append(g, []rune(row))
	}
	return g
}

func (g grid) at(x, y int) rune {
	if y < 0 || y >= len(g) || x < 0 || x >= len(g[y]) {
		return ' '
	}
	return g[y][x]
}

// box is a node on the screen, borders included.
type box struct{ x0, y0, x1, y1 int }

func (b box) border(x, y int) bool {
	return x >= b.x0 && x <= b.x1 && y >= b.y0 && y <= b.y1 && (x == b.x0 || x == b.x1 || y == b.y0 || y == b.y1)
}

const sideGlyphs = "│├┤┝┥╞╡►◄"

// findBox finds the box around a name: the row of the name, between two borders.
func (g grid) findBox(name string) (box, bool) {
	for y := range g {
		row := string(g[y])
		i := strings.Index(row, name)
		if i < 0 {
			continue
		}
		x0 := len([]rune(row[:i])) - 1
		for g.at(x0, y) == ' ' {
			x0--
		}
		x1 := x0 + 1
		for x1 < len(g[y]) && !strings.ContainsRune(sideGlyphs, g[y][x1]) {
			x1++
		}
		if x0 >= 0 && x1 < len(g[y]) && strings.ContainsRune(sideGlyphs, g[y][x0]) && strings.TrimSpace(string(g[y][x0+1:x1])) == name {
			return box{x0, y - 1, x1, y + 2}, true
		}
	}
	return box{}, false
}

// names under which a state may stand on the screen.
func screenNames(state string) []string {
	return []string{state, strings.TrimPrefix(state, "Replica")}
}

// strokes are the sides on which a glyph goes on: r, l, d, u.
var strokes = map[rune]string{
	'─': "rl", '━': "rl", '═': "rl", '│': "du", '┃': "du", '║': "du",
	'╭': "rd", '┏': "rd", '╔': "rd", '╮': "ld", '┓': "ld", '╗': "ld",
	'╰': "ru", '┗': "ru", '╚': "ru", '╯': "lu", '┛': "lu", '╝': "lu",
}

// exits are the glyphs in a border at which a stroke leaves.
var exits = map[rune]byte{'├': 'r', '┝': 'r', '╞': 'r', '┤': 'l', '┥': 'l', '╡': 'l', '┬': 'd', '┰': 'd', '╥': 'd', '┴': 'u', '┸': 'u', '╨': 'u'}

var arrows = map[rune]byte{'►': 'r', '◄': 'l', '▼': 'd', '▲': 'u'}

var opposite = map[byte]byte{'r': 'l', 'l': 'r', 'u': 'd', 'd': 'u'}

func stepTo(x, y int, d byte) (int, int) {
	switch d {
	case 'r':
		return x + 1, y
	case 'l':
		return x - 1, y
	case 'd':
		return x, y + 1
	}
	return x, y - 1
}

// stroke is one followed stroke: the glyphs after the first, and where it ended.
type stroke struct {
	glyphs string
	x, y   int
	ok     bool // ended at an arrowhead that points along it
}

func (g grid) follow(x, y int, d byte) stroke {
	s := stroke{glyphs: string(g.at(x, y))}
	for range 1000 {
		x, y = stepTo(x, y, d)
		r := g.at(x, y)
		if arrows[r] == d {
			s.x, s.y, s.ok = x, y, true
			return s
		}
		sides := strokes[r]
		if !strings.Contains(sides, string(opposite[d])) {
			return s
		}
		s.glyphs += string(r)
		d = strings.Replace(sides, string(opposite[d]), "", 1)[0]
	}
	return s
}

// drawnEdges follows every stroke that leaves a box.
func drawnEdges(t *testing.T, g grid, states []string) map[[2]string]stroke {
	t.Helper()
	boxes := map[string]box{}
	for _, s := range states {
		found := false
		for _, name := range screenNames(s) {
			if b, ok := g.findBox(name); ok && !found {
				boxes[s], found = b, true
			}
		}
		if !found {
			t.Fatalf("no box is called %s", s)
		}
	}
	edges := map[[2]string]stroke{}
	for _, from := range states {
		b := boxes[from]
		for y := b.y0; y <= b.y1; y++ {
			for x := b.x0; x <= b.x1; x++ {
				d, ok := exits[g.at(x, y)]
				if !ok || !b.border(x, y) {
					continue
				}
				s := g.follow(x, y, d)
				if !s.ok {
					t.Errorf("a stroke that leaves %s at column %d, row %d ends without an arrowhead", from, x, y)
					continue
				}
				to := ""
				for name, c := range boxes {
					if c.border(s.x, s.y) {
						to = name
					}
				}
				if _, twice := edges[[2]string{from, to}]; twice || to == "" {
					t.Errorf("stroke from %s to %q: twice, or into nothing", from, to)
				}
				edges[[2]string{from, to}] = s
			}
		}
	}
	return edges
}

func legalEdges[S interface {
	comparable
	String() string
}](g *model.Graph[S]) (states []string, edges [][2]string) {
	for _, s := range g.States {
		states = append(states, s.String())
	}
	for _, e := range g.Edges {
		edges = append(edges, [2]string{e.From.String(), e.To.String()})
	}
	return states, edges
}

var graphSizes = []struct{ w, h int }{{80, 24}, {100, 30}, {160, 50}, {200, 60}}

// Every legal edge has a stroke on the screen, and every stroke is a legal edge.
func TestEveryLegalEdgeIsDrawn(t *testing.T) {
	for _, size := range graphSizes {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			g := gridOf(newScreen(labFrame(), size.w, size.h).text())
			states, legal := legalEdges(model.PartitionGraph)
			checkEdges(t, drawnEdges(t, g, states), legal, 8)
			states, legal = legalEdges(model.ReplicaGraph)
			checkEdges(t, drawnEdges(t, g, states), legal, 14)
		})
	}
}

func checkEdges(t *testing.T, drawn map[[2]string]stroke, legal [][2]string, n int) {
	t.Helper()
	if len(legal) != n {
		t.Fatalf("%d legal edges, want %d", len(legal), n)
	}
	for _, e := range legal {
		if _, ok := drawn[e]; !ok {
			t.Errorf("no stroke leads from %s to %s", e[0], e[1])
		}
	}
	for e := range drawn {
		if !slices.Contains(legal, e) {
			t.Errorf("a stroke leads from %s to %s, which is not legal", e[0], e[1])
		}
	}
}

// Each edge is lit alone, and can be told by its shape.
func TestLitEdges(t *testing.T) {
	for _, size := range graphSizes[:3] {
		for _, e := range model.ReplicaGraph.Edges {
			f := labFrame()
			f.Edges.LastReplica = &model.ReplicaEdge{Edge: e}
			checkLit(t, f, size.w, size.h, e.From.String(), e.To.String(), "━┃┏┓┗┛┝┥┰┸")
			f.Edges.LastReplica, f.Edges.ProposedReplica = nil, &model.ReplicaEdge{Edge: e}
			checkLit(t, f, size.w, size.h, e.From.String(), e.To.String(), "═║╔╗╚╝╞╡╥╨")
		}
		for _, e := range model.PartitionGraph.Edges {
			f := labFrame()
			f.Edges.LastPartition = &model.PartitionEdge{Edge: e}
			checkLit(t, f, size.w, size.h, e.From.String(), e.To.String(), "━┃┏┓┗┛┝┥┰┸")
			f.Edges.LastPartition, f.Edges.ProposedPartition = nil, &model.PartitionEdge{Edge: e}
			checkLit(t, f, size.w, size.h, e.From.String(), e.To.String(), "═║╔╗╚╝╞╡╥╨")
		}
	}
}

func checkLit(t *testing.T, f *model.Frame, w, h int, from, to, glyphs string) {
	t.Helper()
	g := gridOf(newScreen(f, w, h).text())
	lit := 0
	for _, graph := range [][]string{first(legalEdges(model.PartitionGraph)), first(legalEdges(model.ReplicaGraph))} {
		for e, s := range drawnEdges(t, g, graph) {
			is := strings.IndexFunc(s.glyphs, func(r rune) bool { return !strings.ContainsRune(glyphs, r) }) < 0
			if is {
				lit++
			}
			if is != (e == [2]string{from, to}) {
				t.Errorf("%dx%d, %s to %s is lit: the stroke from %s to %s is %s", w, h, from, to, e[0], e[1], s.glyphs)
			}
		}
	}
	if lit != 1 {
		t.Errorf("%dx%d: %d strokes are lit, want the one from %s to %s", w, h, lit, from, to)
	}
}

func first[A, B any](a A, _ B) A { return a }

// The counts in the boxes are those of the view.
func TestCountsInTheBoxes(t *testing.T) {
	for _, f := range []*model.Frame{labFrame(), deletionFrame(), offlineFrame(), manyFrame()} {
		for _, size := range graphSizes {
			g := gridOf(newScreen(f, size.w, size.h).text())
			for _, s := range model.PartitionStates {
				checkCount(t, g, s.String(), f.View.PartitionCounts[s])
			}
			for _, s := range model.ReplicaStates {
				checkCount(t, g, s.String(), f.View.ReplicaCounts[s])
			}
		}
	}
}

func checkCount(t *testing.T, g grid, state string, want int) {
	t.Helper()
	for _, name := range screenNames(state) {
		if b, ok := g.findBox(name); ok {
			if got := strings.TrimSpace(string(g[b.y1-1][b.x0+1 : b.x1])); got != fmt.Sprint(want) {
				t.Errorf("%s shows %q, want %d", state, got, want)
			}
			return
		}
	}
	t.Errorf("no box is called %s", state)
}

// An edge that is not legal has no stroke: the legend names it.
func TestRefusedEdgeThatIsNotLegal(t *testing.T) {
	f := labFrame()
	f.Edges.LastPartition = &model.PartitionEdge{Edge: model.Edge[model.PartitionState]{From: model.OnlinePartition, To: model.NewPartition}, Subject: model.TP("orders", 0), Refused: true}
	if text := newScreen(f, 80, 24).text(); !strings.Contains(text, "refused orders-0 OnlinePartition to NewPartition") {
		t.Errorf("the refused transition is not named:\n%s", text)
	}
}
