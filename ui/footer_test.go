package ui

import (
	"slices"
	"strings"
	"testing"

	"kstate/model"
)

// The last row of 80 columns has, in each view, the keys that matter there, and
// when the controller is held those that step it.
func TestFooterByView(t *testing.T) {
	for _, c := range []struct {
		view view
		keys []string // pressed before
		has  []string
	}{
		{graphsView, nil, []string{"enter step at hand", "w why", "space continue", "e b t i step"}},
		{topicsView, nil, []string{"enter inspect", "w why", "/ filter", "space continue", "e b t i step"}},
		{topicsView, []string{"/", "'ord", "enter"}, []string{"enter inspect", "esc show all", "space continue"}},
		{partitionsView, nil, []string{"enter inspect", "/ filter", "e b t i step"}},
		{brokersView, nil, []string{"enter inspect", "space continue", "e b t i step"}},
		{deletionView, []string{"down"}, []string{"enter inspect", "e b t i step"}},
		{requestsView, nil, []string{"w why", "e event", "b batch", "t transition", "i I/O"}},
		{logView, nil, []string{"enter record", "w why", "→ sideways", "e b t i step"}},
		{logView, []string{"up"}, []string{"enter record", "w why", "end follow", "e b t i step"}},
		{inspectorView, nil, []string{"esc back", "→ sideways", "e b t i step"}},
	} {
		s := newScreen(paused(), 80, 24)
		s.show(c.view)
		row := strings.Split(s.typed(c.keys...).text(), "\n")[23]
		for _, want := range append(c.has, "? help  q quit") {
			if !strings.Contains(row, want) {
				t.Errorf("view %s after %v: the last row lacks %q: %q", viewNames[c.view], c.keys, want, row)
			}
		}
	}
}

// Whatever else stands in the last row, w is named wherever it explains, what
// undoes a choice of the inspector is, and on a wide screen so is what breaks in.
func TestFooterNamesWhatMatters(t *testing.T) {
	for name, f := range map[string]*model.Frame{"running": labFrame(), "paused": paused(), "observed": besideFrame()} {
		for _, w := range []int{80, 160} {
			for v := range viewCount {
				s := newScreen(f, w, 24)
				s.inspector.choose(ordersOne)
				s.show(v)
				row := strings.Split(s.text(), "\n")[23]
				want := []string{"w why"}
				if v == inspectorView && (w == 160 || name == "running") {
					want = append(want, "8 controller")
				}
				if full := v == topicsView || v == partitionsView || v == brokersView; w == 160 && name != "observed" && !full {
					want = append(want, "F fault")
				}
				for _, k := range want {
					if !strings.Contains(row, k) {
						t.Errorf("%s, %d columns, view %s: the last row lacks %q: %q", name, w, viewNames[v], k, row)
					}
				}
			}
		}
	}
	s := newScreen(paused(), 160, 24).typed("8")
	if row := strings.Split(s.text(), "\n")[23]; strings.Contains(row, "8 controller") {
		t.Errorf("the controller is shown, and offered: %q", row)
	}
}

// What stands in the last row works when it is pressed.
func TestFooterOffersWhatWorks(t *testing.T) {
	for name, f := range scenes() {
		for v := range viewCount {
			s := newScreen(f, 160, 50)
			s.show(v)
			s.draw()
			for _, h := range s.footerKeys(130) {
				if len(strings.Fields(h.Key)) > 1 {
					continue
				}
				i := slices.IndexFunc(s.keys, func(b binding) bool { return shownKey(b.Keys()[0]) == h.Key })
				if why := s.keys[i].why(s.dashboard); why != "" {
					t.Errorf("%s, view %s: %s %s is offered, but %s", name, viewNames[v], h.Key, h.Desc, why)
				}
			}
		}
	}
}

// A call of a run is shown as waiting only when it takes long; one that was
// stepped to, at once.
func TestWaiting(t *testing.T) {
	waits := func(position uint64, now int64) *model.Frame {
		f := offlineFrame()
		f.Position, f.Now = position, now
		return f
	}
	s := newScreen(labFrame(), 80, 24)
	says := func(word string) {
		t.Helper()
		if row := strings.Split(s.text(), "\n")[22]; !strings.HasPrefix(row, " "+word+" ") {
			t.Errorf("want %s: %q", word, row)
		}
	}
	s.setFrame(waits(500, testNow+100))
	says("RUNNING")
	s.setFrame(waits(501, testNow+100+slowMillis))
	says("RUNNING")
	s.setFrame(waits(501, testNow+100+2*slowMillis))
	says("WAITING")
	s.setFrame(labFrame())
	says("RUNNING")
	s.setFrame(paused())
	says("PAUSED")
	s.setFrame(waits(4712, testNow))
	says("WAITING")
	if s.typed("8"); !strings.Contains(s.text(), "Step at hand") {
		t.Errorf("the step that was asked for is gone:\n%s", s.text())
	}
}

// Observe mode neither offers nor takes what holds a controller.
func TestObserveCannotHold(t *testing.T) {
	f := disconnectedFrame()
	f.Notices = nil
	s := newScreen(f, 160, 50)
	if text := s.text(); strings.Contains(text, "space pause") || strings.Contains(text, "RUNNING") || !strings.Contains(text, "FOLLOWS") {
		t.Errorf("observe mode looks like a controller of one's own:\n%s", text)
	}
	s.typed("space", "c", "e", "t")
	if len(s.commands) != 0 {
		t.Errorf("commands %v", s.commands)
	}
	f = labFrame()
	f.Run = model.Paused
	if text := newScreen(f, 80, 24).text(); !strings.Contains(text, "PAUSED  idle; the next event will be held") {
		t.Errorf("a held controller without events:\n%s", text)
	}
}
