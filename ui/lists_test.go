package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kstate/model"
)

// shown are the partitions in a window of h rows.
func shown(l *partitionList, v *model.View, h int) []string {
	var out []string
	for _, tp := range l.rows(l.source(v), h) {
		out = append(out, tp.String())
	}
	return out
}

func TestPartitionWindow(t *testing.T) {
	v := many().View
	l := &partitionList{}
	if got := shown(l, v, 3); !slices.Equal(got, []string{"topic-00000-0", "topic-00000-1", "topic-00000-2"}) {
		t.Errorf("the first rows are %v", got)
	}
	l.move(l.source(v), moveEnd)
	if got := shown(l, v, 3); !slices.Equal(got, []string{"topic-01999-97", "topic-01999-98", "topic-01999-99"}) {
		t.Errorf("the last rows are %v", got)
	}
	l.move(l.source(v), movePageUp)
	if got := shown(l, v, 3); l.cursor != model.TP("topic-01999", 96) || got[0] != "topic-01999-96" {
		t.Errorf("a page up: cursor %s, rows %v", l.cursor, got)
	}
	l.choose(model.TP("topic-01000", 99))
	l.move(l.source(v), moveDown)
	if got := shown(l, v, 2); l.cursor != model.TP("topic-01001", 0) || !slices.Equal(got, []string{"topic-01001-0", "topic-01001-1"}) {
		t.Errorf("down over the end of a topic: cursor %s, rows %v", l.cursor, got)
	}
}

// A row that goes away leaves the cursor on its neighbour; rows that come in
// front of the window do not move it.
func TestCursorStaysWhereItIs(t *testing.T) {
	c := labCluster()
	l := &topicList{}
	v := c.Freeze()
	l.move(l.source(v), moveDown)
	l.rows(l.source(v), 2)
	addTopic(c, "aaa", []int32{1})
	c.DropTopic("orders")
	v = c.Freeze()
	rows := slices.Clone(l.rows(l.source(v), 2))
	if l.cursor != "unclean" || !slices.Equal(rows, []string{"clicks", "unclean"}) {
		t.Errorf("cursor %s, rows %v", l.cursor, rows)
	}
	c.DropTopic("unclean")
	v = c.Freeze()
	if rows := l.rows(l.source(v), 2); l.cursor != "clicks" || len(rows) != 2 {
		t.Errorf("after the last one went: cursor %s, rows %v", l.cursor, rows)
	}
	for _, name := range []string{"aaa", "clicks"} {
		c.DropTopic(name)
	}
	if rows := l.rows(l.source(c.Freeze()), 2); len(rows) != 0 {
		t.Errorf("an empty cluster shows %v", rows)
	}
}

func TestFilter(t *testing.T) {
	v := many().View
	for _, c := range []struct {
		text, first string
		topics      int
	}{
		{"topic-0012", "topic-00120-0", 10},
		{"00120-7", "topic-00120-7", 1},
		{"-77", "topic-00000-77", 2000},
		{"-777", "", 0},
		{"ic-00120-", "topic-00120-0", 1},
		{"nothing", "", 0},
		{"", "topic-00000-0", 0},
	} {
		l := &partitionList{}
		l.filter.setText(c.text, v)
		rows := shown(l, v, 5)
		if c.first == "" && len(rows) > 0 || c.first != "" && (len(rows) == 0 || rows[0] != c.first) || len(l.filter.hits) != c.topics {
			t.Errorf("%q: rows %v, %d topics, want first %q of %d topics", c.text, rows, len(l.filter.hits), c.first, c.topics)
		}
	}
}

// Walking backwards through a filter visits the same rows.
func TestFilterBothWays(t *testing.T) {
	v := many().View
	for _, text := range []string{"topic-0012", "-99", "01500-3"} {
		f := &filter{}
		f.setText(text, v)
		s := partitionSource{v, f}
		var forth, back []model.TopicPartition
		for k, ok := s.first(); ok; k, ok = s.after(k) {
			forth = append(forth, k)
		}
		for k, ok := s.last(); ok; k, ok = s.before(k) {
			back = append(back, k)
		}
		slices.Reverse(back)
		if len(forth) == 0 || !slices.Equal(forth, back) {
			t.Errorf("%q: %d rows forth, %d back", text, len(forth), len(back))
		}
		for _, k := range forth {
			if !s.has(k) {
				t.Errorf("%q: %s is walked but not there", text, k)
			}
		}
	}
}

// A filter looks at a bounded number of topics for each frame, and follows
// topics that come and go.
func TestFilterIsBoundedAndFollows(t *testing.T) {
	c := model.NewCluster()
	for i := range filterOnKey + 2*filterOnFrame {
		c.AddTopic(fmt.Sprintf("t%06d", i))
	}
	v := c.Freeze()
	f := &filter{}
	f.setText("t", v)
	if !f.busy || len(f.hits) != filterOnKey {
		t.Errorf("after the key: busy %v, %d topics, want %d", f.busy, len(f.hits), filterOnKey)
	}
	for range 3 {
		f.advance(v, filterOnFrame)
	}
	if f.busy || len(f.hits) != filterOnKey+2*filterOnFrame {
		t.Errorf("after three frames: busy %v, %d topics", f.busy, len(f.hits))
	}
	f.advance(v, filterOnFrame)
	if f.busy {
		t.Error("the filter looks again at a cluster that has not changed")
	}
	c.DropTopic("t000000")
	c.AddTopic("t999999")
	v = c.Freeze()
	s := topicSource{v, f}
	if k, _ := s.first(); k != "t000001" {
		t.Errorf("a topic that is gone is still the first: %s", k)
	}
	for range 14 {
		f.advance(v, filterOnFrame)
	}
	if k, _ := s.last(); k != "t999999" {
		t.Errorf("a new topic is not found: the last is %s", k)
	}
}

func TestFilterOnTheScreen(t *testing.T) {
	s := newScreen(labFrame(), 80, 24).typed("3", "/", "'ord", "enter")
	if text := s.text(); strings.Contains(text, "clicks-0") || !strings.Contains(text, "orders-2") || !strings.Contains(text, "filter ord") {
		t.Errorf("the filter does not hold:\n%s", text)
	}
	s.typed("/", "'x")
	if !strings.Contains(s.text(), "nothing matches ordx") {
		t.Errorf("nothing is said of an empty list:\n%s", s.text())
	}
	s.typed("esc")
	if !strings.Contains(s.text(), "clicks-0") {
		t.Errorf("esc does not clear the filter:\n%s", s.text())
	}
	s.typed("4", "/", "'9092", "enter")
	if text := s.text(); strings.Contains(text, ":9091") || !strings.Contains(text, ":9092") {
		t.Errorf("brokers are not filtered:\n%s", text)
	}
}

func TestDeletionRowsBothWays(t *testing.T) {
	s := deletionSource{deletionFrame().View}
	var forth, back []deletionRow
	for k, ok := s.first(); ok; k, ok = s.after(k) {
		forth = append(forth, k)
	}
	for k, ok := s.last(); ok; k, ok = s.before(k) {
		back = append(back, k)
	}
	slices.Reverse(back)
	want := []deletionRow{{model.ToBeDeleted, ""}, {model.ToBeDeleted, "orders"}, {model.ToBeDeleted, "unclean"},
		{model.DeletionStarted, ""}, {model.DeletionStarted, "orders"}, {model.IneligibleForDeletion, ""}, {model.IneligibleForDeletion, "unclean"}}
	if !slices.Equal(forth, want) || !slices.Equal(back, want) {
		t.Errorf("forth %v\nback %v", forth, back)
	}
}

// The log follows, stays when scrolled back, and follows again.
func TestLogStaysWhenScrolledBack(t *testing.T) {
	h := sampleHistory(100)
	f := labFrame()
	f.History = h.Snapshot()
	s := newScreen(f, 80, 24).typed("7")
	lastRow := func() string { return strings.Split(s.text(), "\n")[21] }
	more := func(n int) {
		for range n {
			h.Append(model.Record{Position: uint64(101 + h.Snapshot().N), At: testNow, Input: &model.Started{}})
		}
		g := labFrame()
		g.History = h.Snapshot()
		s.setFrame(g)
	}
	if !strings.Contains(lastRow(), " 100 ") {
		t.Fatalf("the last row is %q", lastRow())
	}
	s.typed("pgup")
	back := lastRow()
	more(50)
	if lastRow() != back {
		t.Errorf("scrolled back, the last row became %q from %q", lastRow(), back)
	}
	s.typed("end")
	more(1)
	if !strings.Contains(lastRow(), "started") || s.log.back {
		t.Errorf("after end the last row is %q", lastRow())
	}
	// Records that are no longer kept move a view that was on them.
	s.typed("home")
	more(6000)
	if row := lastRow(); row == back || !strings.Contains(s.text(), "no longer kept") {
		t.Errorf("the log shows records that are gone: %q", row)
	}
}

// The log's cursor is on one record; moving it scrolls only where it must.
func TestLogCursor(t *testing.T) {
	f := labFrame()
	f.History = sampleHistory(100).Snapshot()
	s := newScreen(f, 80, 24).typed("7")
	s.draw()
	for _, c := range []struct {
		key  string
		at   uint64
		back bool
	}{{"up", 99, true}, {"up", 98, true}, {"down", 99, true}, {"down", 100, false}, {"down", 100, false}, {"home", 1, true}, {"up", 1, true}, {"pgdown", 17, true}, {"end", 100, false}, {"pgup", 84, true}} {
		s.typed(c.key)
		if r := s.log.chosen(f.History); r.Position != c.at || s.log.back != c.back {
			t.Errorf("after %s the cursor is on %d, scrolled back %v, want %d, %v", c.key, r.Position, s.log.back, c.at, c.back)
		}
	}
	empty := newScreen(labFrame(), 80, 24).typed("7", "up", "enter")
	if len(empty.dialogs) != 0 || !strings.Contains(empty.text(), "nothing has happened yet") {
		t.Errorf("an empty log:\n%s", empty.text())
	}
}
