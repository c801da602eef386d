package ui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"kstate/model"
)

var sizes = []struct{ w, h int }{{80, 24}, {100, 30}, {160, 50}}

// scenes are the frames that every picture test draws, by name.
func scenes() map[string]*model.Frame {
	return map[string]*model.Frame{
		"empty": emptyFrame(), "lab": labFrame(), "deletion": deletionFrame(), "offline": offlineFrame(), "many": many(),
		"odd": oddFrame(), "loading": loadingFrame(), "disconnected": disconnectedFrame(), "inspected": inspectedFrame(),
	}
}

var manyOnce *model.Frame

// many is manyFrame, made once: it is large.
func many() *model.Frame {
	if manyOnce == nil {
		manyOnce = manyFrame()
	}
	f := *manyOnce
	return &f
}

// ordersOne is the subject of inspectedFrame.
var ordersOne = model.Subject{Kind: model.PartitionSubject, Topic: "orders", Partition: 1}

// inspectedFrame has the znodes of orders-1, which differ from memory, and rests
// at a call that writes two znodes.
func inspectedFrame() *model.Frame {
	f := offlineFrame()
	state := model.Znode{Path: "/brokers/topics/orders/partitions/1/state", Data: []byte(`{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,3,1]}`), Stat: model.Stat{Czxid: 88, Mzxid: 90}}
	f.Inspection = &model.Inspection{Subject: ordersOne, At: testNow, Znodes: []model.Znode{
		state,
		{Path: "/brokers/topics/orders", Data: []byte(`{"removing_replicas":{},"partitions":{"2":[3,1,2],"1":[2,3],"0":[1,2,3]},"adding_replicas":{},"version":2}`), Stat: model.Stat{Version: 4, Czxid: 80}},
		{Path: "/admin/delete_topics/orders", Data: []byte{}, Stat: model.Stat{Czxid: 93}},
		{Path: "/config/topics/orders", Data: []byte("\x00\x01binary\xff")},
		{Path: "/brokers/ids/2", Missing: true},
		{Path: "/controller", Err: "NOAUTH"},
	}}
	f.Run, f.StopReason = model.Paused, "stepped by I/O"
	call := &model.Call{Fenced: true, Epoch: 1, Ops: []model.Op{
		{Kind: model.OpSet, Path: state.Path, Data: []byte(`{"controller_epoch":1,"leader":3,"version":1,"leader_epoch":1,"isr":[3,1]}`)},
		{Kind: model.OpDelete, Path: "/admin/delete_topics/orders", Version: model.AnyVersion}}}
	f.At = call
	f.StepZnodes = &model.StepZnodes{Position: f.Position, Changes: []model.ZnodeChange{{Op: call.Ops[0], Before: state}, {Op: call.Ops[1], Before: f.Inspection.Znodes[2]}}}
	return f
}

// Every view of every scene, at every size.
func TestScreens(t *testing.T) {
	for name, f := range scenes() {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size.w, size.h), func(t *testing.T) {
				var b strings.Builder
				for v := range viewCount {
					if size.w > 80 && v != graphsView && v != inspectorView && name != "deletion" {
						continue
					}
					s := newScreen(f, size.w, size.h)
					s.inspector.choose(ordersOne)
					s.show(v)
					fmt.Fprintf(&b, "%s\n%s\n", viewNames[v], s.text())
				}
				golden(t, fmt.Sprintf("screens/%s_%dx%d", name, size.w, size.h), b.String())
			})
		}
	}
}

// Every dialog, at the least size and at a large one.
func TestDialogs(t *testing.T) {
	for _, size := range []struct{ w, h int }{{60, 16}, {80, 24}, {160, 50}} {
		var b strings.Builder
		for _, key := range []string{"E", "C", "A", "D", "R", "K", "S", "T", "X", "?"} {
			s := newScreen(offlineFrame(), size.w, size.h).typed("3", "down", "down", "right", key)
			fmt.Fprintf(&b, "%s\n%s\n", key, s.text())
		}
		s := newScreen(offlineFrame(), size.w, size.h).typed("3", "E", "enter")
		fmt.Fprintf(&b, "E enter\n%s\n", s.text())
		s.setFrame(previewFrame(s.dialogs[1].(*preview)))
		fmt.Fprintf(&b, "E enter, answered\n%s\n", s.text())
		f := labFrame()
		f.Mode = model.ControlMode
		fmt.Fprintf(&b, "q in control mode\n%s\n", newScreen(f, size.w, size.h).typed("q").text())
		golden(t, fmt.Sprintf("dialogs_%dx%d", size.w, size.h), b.String())
	}
}

// previewFrame answers a preview: one leader moves, one election fails, one is unclean.
func previewFrame(p *preview) *model.Frame {
	f := offlineFrame()
	elected := model.Verdict{Strategy: p.strategy, Leader: 3, New: &model.LeaderAndIsr{Leader: 3, LeaderEpoch: 2, ISR: []int32{3, 1}}, Recipients: []int32{1, 3},
		Candidates: []model.Candidate{{Broker: 2}, {Broker: 3, Registered: true, Online: true, InISR: true}}}
	unclean := elected
	unclean.Unclean = true
	f.Preview = &model.ElectionPreview{Strategy: p.strategy, Scope: p.scope, Total: 7, Results: []model.PreviewResult{
		{TopicPartition: model.TP("orders", 1), OldLeader: model.NoLeader, Verdict: elected},
		{TopicPartition: model.TP("clicks", 1), OldLeader: model.NoLeader, Error: model.ErrEligibleLeadersNotAvailable, Why: "no replica of the ISR [2] is live", Verdict: model.Verdict{Leader: model.NoLeader}},
		{TopicPartition: model.TP("unclean", 0), OldLeader: 2, Verdict: unclean},
	}}
	return f
}

// A terminal that is too small says so, down to one cell.
func TestTooSmall(t *testing.T) {
	var b strings.Builder
	for _, size := range []struct{ w, h int }{{59, 24}, {80, 15}, {20, 3}, {5, 2}, {1, 1}, {0, 0}} {
		fmt.Fprintf(&b, "%dx%d\n%s\n", size.w, size.h, newScreen(labFrame(), size.w, size.h).text())
	}
	golden(t, "too_small", b.String())
}

// No line is wider than the terminal and no row too many, whatever the size,
// the view, the dialog and the names.
func TestNothingOutsideTheTerminal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := scenes()
	names := []string{"empty", "lab", "deletion", "offline", "many", "odd", "loading", "disconnected", "inspected"}
	keys := []string{"", "E", "C", "A", "D", "R", "K", "S", "T", "X", "?", "/", "enter", "end", "right", "left", "pgdown"}
	for range 1500 {
		w, h := 1+r.IntN(200), 1+r.IntN(60)
		if r.IntN(2) == 0 {
			w, h = minWidth+r.IntN(110), minHeight+r.IntN(40)
		}
		name := names[r.IntN(len(names))]
		s := newScreen(all[name], w, h)
		s.inspector.choose(ordersOne)
		s.show(view(r.IntN(int(viewCount))))
		var pressed []string
		for range r.IntN(3) {
			if k := keys[r.IntN(len(keys))]; k != "" {
				pressed = append(pressed, k)
				s.typed(k)
			}
		}
		checkOutside(t, fmt.Sprintf("%s %dx%d view %s keys %v", name, w, h, viewNames[s.view], pressed), s.draw(), w, h)
	}
}

func checkOutside(t *testing.T, what, content string, w, h int) {
	t.Helper()
	rows := strings.Split(content, "\n")
	if len(rows) > h {
		t.Errorf("%s: %d rows", what, len(rows))
	}
	for y, row := range rows {
		if n := ansi.StringWidth(row); n > w {
			t.Errorf("%s: row %d is %d wide: %q", what, y, n, row)
		}
		if n := ansi.StringWidthWc(row); n > w {
			t.Errorf("%s: row %d is %d wide for a terminal without graphemes: %q", what, y, n, row)
		}
		if i := strings.IndexFunc(ansi.Strip(row), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Errorf("%s: row %d has a control character: %q", what, y, row)
		}
	}
}

// What a name holds cannot reach the terminal: only the screen's own sequences do.
func TestForeignSequencesStayOut(t *testing.T) {
	known := map[string]bool{resetSequence: true}
	for _, s := range sequences {
		known[s] = true
	}
	for v := range viewCount {
		s := newScreen(oddFrame(), 160, 50)
		s.show(v)
		for rest := s.draw(); ; {
			i := strings.IndexByte(rest, 0x1b)
			if i < 0 {
				break
			}
			j := strings.IndexByte(rest[i:], 'm')
			if j < 0 || !known[rest[i:i+j+1]] {
				t.Fatalf("view %s: the screen holds %q", viewNames[v], rest[i:min(i+12, len(rest))])
			}
			rest = rest[i+j+1:]
		}
	}
}

// A notice that does not fit says where the rest is, and there it is.
func TestLongNotice(t *testing.T) {
	f := labFrame()
	text := "topic orders cannot be read: " + strings.Repeat("its znode is no JSON, ", 6) + "and so on to the end"
	f.Notices = []model.Notice{{Seq: 1, At: testNow, Level: model.Warn, Text: text}}
	s := newScreen(f, 80, 24)
	if row := strings.Split(s.text(), "\n")[23]; !strings.HasSuffix(row, "… N shows all of it") {
		t.Errorf("the last row is %q", row)
	}
	if s.typed("N"); !strings.Contains(s.text(), "so on to the end") {
		t.Errorf("the notice is not shown whole:\n%s", s.text())
	}
}

// What is said stays until a key, or its time.
func TestNotices(t *testing.T) {
	s := newScreen(disconnectedFrame(), 80, 24)
	if !strings.Contains(s.text(), "lost the connection to ZooKeeper") {
		t.Fatalf("the notice is not shown:\n%s", s.text())
	}
	later := disconnectedFrame()
	later.Now += errorMillis
	s.setFrame(later)
	if !strings.Contains(s.text(), "lost the connection") {
		t.Error("the notice went too early")
	}
	later = disconnectedFrame()
	later.Now += errorMillis + 1
	s.setFrame(later)
	if strings.Contains(s.text(), "lost the connection") {
		t.Error("the notice stays, and was shown twice")
	}
	s = newScreen(disconnectedFrame(), 80, 24).typed("2")
	if strings.Contains(s.text(), "lost the connection") {
		t.Error("a key does not take the notice away")
	}
	if !strings.Contains(s.text(), "STALE 18:36:39") || !strings.Contains(s.text(), "READ-ONLY") {
		t.Errorf("stale or read-only is not said:\n%s", s.text())
	}
}

// Whether everything is recorded stands in the first row, at any width.
func TestTheJournalIsInTheStatusLine(t *testing.T) {
	for _, c := range []struct {
		width int
		j     *model.JournalStatus
		want  string
	}{
		{80, nil, ""}, {80, &model.JournalStatus{Records: 5}, " rec "}, {160, &model.JournalStatus{Records: 5}, " recording "},
		{80, &model.JournalStatus{Lost: 12}, " JOURNAL LACKS 12 "},
		{80, &model.JournalStatus{Failing: "no space left on device"}, " JOURNAL FAILS "},
		{80, &model.JournalStatus{Failing: "no space left on device", Lost: 7}, " JOURNAL FAILS, 7 LOST "},
	} {
		f := labFrame()
		f.Mode, f.Journal = model.ControlMode, c.j
		row, _, _ := strings.Cut(newScreen(f, c.width, 24).text(), "\n")
		if !strings.Contains(row, c.want) || !strings.Contains(row, "connected") || c.j == nil && strings.Contains(row, "rec") {
			t.Errorf("width %d, %+v: %q, want %q", c.width, c.j, row, c.want)
		}
	}
}

// A source that is too long for the first row is shortened in its middle; that it
// is a fork, and of when, is told whole, and nothing else has to go for it.
func TestALongSourceIsShortenedInTheMiddle(t *testing.T) {
	const long, at = "zookeeper-1.example.org:2181,zookeeper-2.example.org:2181/kafka", "at 2026-11-30 03:45:50Z"
	const fork = "FORK of " + long + " " + at + ", here 127.0.0.1:42811"
	for _, c := range []struct {
		width  int
		source string
		change func(*model.Frame)
		want   []string
	}{
		{80, long, func(*model.Frame) {}, []string{" zookeeper-1.", "…", ":2181/kafka "}},
		{200, long, func(*model.Frame) {}, []string{" " + long + " "}},
		{80, fork, func(*model.Frame) {}, []string{" FORK of zoo…fka " + at + " "}},
		{120, fork, func(*model.Frame) {}, []string{" FORK of zookeeper-1.", "…", ":2181/kafka " + at + " "}},
		{200, fork, func(*model.Frame) {}, []string{" " + fork + " "}},
		{80, "FORK of 127.0.0.1:2181 " + at + ", here 127.0.0.1:42811", func(*model.Frame) {}, []string{" FORK of 127…181 " + at + " "}},
		{100, "FORK of 127.0.0.1:2181 " + at + ", here 127.0.0.1:42811", func(*model.Frame) {}, []string{" FORK of 127.0.0.1:2181 " + at + " "}},
		{80, fork, func(f *model.Frame) { f.Connection = model.Connection{Since: testNow} }, []string{" FORK " + at + " ", " STALE 18:"}},
		{80, "FORK of 字字字字字字 " + at, func(f *model.Frame) { f.Journal = &model.JournalStatus{} }, []string{" FORK " + at + " ", " rec "}},
	} {
		f := labFrame()
		f.Source = c.source
		c.change(f)
		row, _, _ := strings.Cut(newScreen(f, c.width, 24).text(), "\n")
		holds(t, fmt.Sprintf("%d columns, %s", c.width, c.source), row, append(c.want, "1000 (self) epoch 1 ")...)
	}
}

// How old the data may be stands in the first row, at any width.
func TestTheAgeOfTheDataIsInTheStatusLine(t *testing.T) {
	for w, want := range map[int]string{80: "connected, 3s", 160: "connected, 3 s old"} {
		f := labFrame()
		f.Mode, f.ReadOnly, f.Source = model.ObserveMode, true, "zookeeper-1.example.org:2181/kafka"
		f.Controller = model.ControllerStatus{Status: "active", ID: 1, Epoch: 3}
		f.Connection.Heard = f.Now - 3_900
		row, _, _ := strings.Cut(newScreen(f, w, 24).text(), "\n")
		if !strings.HasSuffix(strings.TrimRight(row, " "), want) {
			t.Errorf("width %d: %q, want %q at its end", w, row, want)
		}
	}
}

// That no topic is deleted stands in the first row, at any width.
func TestDeletionOffIsInTheStatusLine(t *testing.T) {
	for _, value := range []string{"true", "false"} {
		for _, w := range []int{80, 160} {
			f := labFrame()
			f.Mode, f.Journal, f.Settings = model.ControlMode, &model.JournalStatus{Records: 5}, []model.SettingValue{{Name: "delete.topic.enable", Value: value}}
			row, _, _ := strings.Cut(newScreen(f, w, 24).text(), "\n")
			if strings.Contains(row, " delete off ") != (value == "false") || !strings.Contains(row, "connected") || !strings.Contains(row, "(self) epoch") {
				t.Errorf("delete.topic.enable=%s, width %d: %q", value, w, row)
			}
		}
	}
}

// Whatever is pressed, pasted and resized in whatever order, and whatever frames
// come in between, nothing panics and nothing is drawn outside.
func TestAnyKeysInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	frames := []*model.Frame{labFrame(), emptyFrame(), deletionFrame(), offlineFrame(), oddFrame(), loadingFrame(), disconnectedFrame(), inspectedFrame(), recordsFrame()}
	var keys []string
	for _, b := range keyTable() {
		for _, k := range b.Keys() {
			if k != "q" && k != "ctrl+c" && k != "ctrl+z" {
				keys = append(keys, k)
			}
		}
	}
	keys = append(keys, "enter", "enter", "esc", "backspace", "y", "n", "'1", "'orders", "'字\u202e")
	for range 100 {
		s := newScreen(nil, 80, 24)
		var pressed []string
		for range 40 {
			switch r.IntN(12) {
			case 0:
				s.resize(minWidth+r.IntN(120), minHeight+r.IntN(40))
			case 1:
				f := *frames[r.IntN(len(frames))]
				s.setFrame(&f)
			case 2:
				s.paste(oddNames[r.IntN(len(oddNames))])
			default:
				k := keys[r.IntN(len(keys))]
				pressed = append(pressed, k)
				s.typed(k)
			}
			if s.draw(); r.IntN(4) == 0 {
				checkOutside(t, fmt.Sprintf("view %s keys %v", viewNames[s.view], pressed), s.draw(), s.w, s.h)
			}
		}
	}
}
