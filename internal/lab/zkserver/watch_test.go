package zkserver

import (
	"slices"
	"testing"
)

func TestWhatEachWatchFiresOn(t *testing.T) {
	steps := []Op{Create("/w", nil, 0), Set("/w", nil, -1), {Kind: OpSetACL, Path: "/w", Version: -1},
		Create("/w/k", nil, 0), Set("/w/k", nil, -1), Delete("/w/k", -1), Delete("/w", -1)}
	all := map[WatchKind][]string{ // armed anew before each step where it can be
		DataWatch:       {"NodeDataChanged /w", "NodeDeleted /w"},
		ExistsWatch:     {"NodeCreated /w", "NodeDataChanged /w", "NodeDeleted /w"},
		ChildWatch:      {"NodeChildrenChanged /w", "NodeChildrenChanged /w", "NodeDeleted /w"},
		PersistentWatch: {"NodeCreated /w", "NodeDataChanged /w", "NodeChildrenChanged /w", "NodeChildrenChanged /w", "NodeDeleted /w"},
		RecursiveWatch:  {"NodeCreated /w", "NodeDataChanged /w", "NodeCreated /w/k", "NodeDataChanged /w/k", "NodeDeleted /w/k", "NodeDeleted /w"},
	}
	for kind, want := range all {
		s, _ := quietStore(t)
		w := &seen{}
		for i, op := range steps {
			code := s.Watch(w, "/w", kind)
			if needs := kind == DataWatch || kind == ChildWatch; (code == NoNode) != (needs && i == 0) {
				t.Errorf("kind %d step %d: %v", kind, i, code)
			}
			must(t, s, 0, op)
		}
		if got := w.take(); !slices.Equal(got, want) {
			t.Errorf("kind %d\n got %q\nwant %q", kind, got, want)
		}
	}
}

func TestOneShotWatchesFireOnce(t *testing.T) {
	s, _ := quietStore(t)
	w := &seen{}
	s.ExistsW(w, "/w")
	must(t, s, 0, Create("/w", nil, 0))
	must(t, s, 0, Set("/w", nil, -1))
	wantEvents(t, w, "NodeCreated /w")
	s.GetW(w, "/w")
	s.Multi(0, []Op{Set("/w", nil, -1), Set("/w", nil, -1), Delete("/w", -1)})
	wantEvents(t, w, "NodeDataChanged /w")
}

func TestOneEventWhereWatchesMeet(t *testing.T) {
	s, _ := quietStore(t)
	w, other := &seen{}, &seen{}
	must(t, s, 0, Create("/w", nil, 0))
	s.GetW(w, "/w")
	s.ExistsW(w, "/w")
	s.ChildrenW(w, "/w")
	s.Watch(w, "/w", PersistentWatch)
	s.Watch(w, "/", RecursiveWatch)
	s.ChildrenW(other, "/w")
	must(t, s, 0, Delete("/w", -1))
	wantEvents(t, w, "NodeDeleted /w")
	wantEvents(t, other, "NodeDeleted /w")
}

func TestAMultiFiresForEachOpInOrder(t *testing.T) {
	s, _ := quietStore(t)
	w := &seen{}
	s.Watch(w, "/", PersistentWatch)
	s.Watch(w, "/a", PersistentWatch)
	s.Multi(0, []Op{Create("/a", nil, 0), Set("/a", nil, -1), Set("/a", nil, -1), Delete("/a", -1)})
	wantEvents(t, w, "NodeCreated /a", "NodeChildrenChanged /", "NodeDataChanged /a", "NodeDataChanged /a",
		"NodeDeleted /a", "NodeChildrenChanged /")
}

func TestOneShotAndPersistentLiveSideBySide(t *testing.T) {
	s, _ := quietStore(t) // 3.8 loses the persistent one here: ZOOKEEPER-4466
	w := &seen{}
	must(t, s, 0, Create("/w", nil, 0))
	s.Watch(w, "/w", RecursiveWatch)
	s.ChildrenW(w, "/w")
	must(t, s, 0, Create("/w/a", nil, 0))
	must(t, s, 0, Create("/w/b", nil, 0))
	wantEvents(t, w, "NodeCreated /w/a", "NodeChildrenChanged /w", "NodeCreated /w/b")
	s.Watch(w, "/w", PersistentWatch) // replaces the recursive one
	must(t, s, 0, Create("/w/c", nil, 0))
	wantEvents(t, w, "NodeChildrenChanged /w")
	if s.recursive != 0 {
		t.Errorf("%d recursive watches are left", s.recursive)
	}
}

func TestUnwatchLeavesNothing(t *testing.T) {
	s, _ := quietStore(t)
	w := &seen{}
	s.Watch(w, "/", RecursiveWatch)
	s.Watch(w, "/x", ExistsWatch)
	s.Unwatch(w)
	must(t, s, 0, Create("/x", nil, 0))
	wantEvents(t, w)
	if len(s.watches)+len(s.watching)+s.recursive != 0 {
		t.Errorf("left: %v %v %d", s.watches, s.watching, s.recursive)
	}
}

func TestEventComesBeforeAnyReplyThatCouldShowIt(t *testing.T) {
	_, addr := listening(t)
	c, w := connected(t, addr), connected(t, addr)
	w.want(OK, OpCreate, createBody("/n", nil, 0))
	for i := range 200 {
		w.want(OK, OpGetData, watchBody("/n", true))
		xid := c.send(OpSetData, setBody("/n", nil, -1))
		read := w.send(OpGetData, watchBody("/n", false))
		first := w.next()
		if first.xid == read { // read the old version: the event is still to come
			if v := (&decoder{b: first.body[4:]}).stat().Version; v != int32(i) {
				t.Fatalf("round %d: version %d before its event", i, v)
			}
			w.wantEvents("NodeDataChanged /n")
		} else if reply := w.next(); first.xid != -1 || reply.xid != read {
			t.Fatalf("round %d: %+v then %+v", i, first, reply)
		}
		if a := c.next(); a.xid != xid {
			t.Fatalf("round %d: %+v", i, a)
		}
	}
}

func TestFailedReadsArmNothing(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(NoNode, OpGetData, watchBody("/n", true))
	c.want(NoNode, OpGetChildren2, watchBody("/n", true))
	c.want(OK, OpCreate, createBody("/n", nil, 0))
	c.want(OK, OpDelete, versionBody("/n", -1))
	c.want(NoNode, OpExists, watchBody("/n", true))
	c.send(OpCreate, createBody("/n", nil, 0))
	c.wantEvents("NodeCreated /n")
	c.next()
}

func TestSetWatchesGivesWhatWasMissed(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	for _, p := range []string{"/same", "/changed", "/gone", "/kids", "/kids-same", "/kids-gone"} {
		c.want(OK, OpCreate, createBody(p, nil, 0))
	}
	since := c.call(OpPing, nil).zxid
	c.want(OK, OpSetData, setBody("/changed", nil, -1))
	c.want(OK, OpDelete, versionBody("/gone", -1))
	c.want(OK, OpDelete, versionBody("/kids-gone", -1))
	c.want(OK, OpCreate, createBody("/kids/k", nil, 0))
	c.want(OK, OpCreate, createBody("/appeared", nil, 0))
	n := c.reconnected(addr)
	xid := n.send(OpSetWatches, setWatchesBody(since, []string{"/same", "/changed", "/gone"},
		[]string{"/appeared", "/missing"}, []string{"/kids", "/kids-same", "/kids-gone"}))
	n.wantEvents("NodeDataChanged /changed", "NodeDeleted /gone", "NodeCreated /appeared",
		"NodeChildrenChanged /kids", "NodeDeleted /kids-gone")
	if a := n.next(); a.xid != xid || a.code != OK {
		t.Fatalf("events come first, then the reply: %+v", a)
	}
	n.send(OpMulti, multiBody(part{OpSetData, setBody("/same", nil, -1)}, part{OpCreate, createBody("/missing", nil, 0)},
		part{OpCreate, createBody("/kids-same/k", nil, 0)}, part{OpSetData, setBody("/changed", nil, -1)}))
	n.wantEvents("NodeDataChanged /same", "NodeCreated /missing", "NodeChildrenChanged /kids-same")
	n.next()
	n.quiet()
}

func TestSetWatches2RearmsPersistentWatchesWithoutReplay(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpAddWatch, versionBody("/p", 0))
	c.want(OK, OpAddWatch, versionBody("/r", 1))
	n := c.reconnected(addr)
	n.want(OK, OpCreate, createBody("/p", nil, 0))
	n.want(OK, OpCreate, createBody("/r", nil, 0))
	n.want(OK, OpSetWatches2, setWatchesBody(0, nil, nil, nil, []string{"/p"}, []string{"/r"}))
	n.send(OpMulti, multiBody(part{OpCreate, createBody("/p/k", nil, 0)}, part{OpCreate, createBody("/r/k", nil, 0)}))
	n.wantEvents("NodeChildrenChanged /p", "NodeCreated /r/k")
	n.next()
}

func TestRemoveAndCheckWatches(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createBody("/n", nil, 0))
	c.want(NoWatcher, OpRemoveWatches, versionBody("/n", 3))
	c.want(OK, OpGetData, watchBody("/n", true))
	c.want(OK, OpGetChildren, watchBody("/n", true))
	c.want(OK, OpCheckWatches, versionBody("/n", 1))
	c.want(OK, OpRemoveWatches, versionBody("/n", 1))
	c.want(NoWatcher, OpCheckWatches, versionBody("/n", 1))
	c.want(OK, OpCheckWatches, versionBody("/n", 3))
	c.want(OK, OpRemoveWatches, versionBody("/n", 2))
	c.want(NoWatcher, OpCheckWatches, versionBody("/n", 3))
	c.want(OK, OpSetData, setBody("/n", nil, -1))
	c.want(OK, OpAddWatch, versionBody("/n", 1))
	c.want(OK, OpRemoveWatches, versionBody("/n", 3))
	c.want(OK, OpSetData, setBody("/n", nil, -1))
	c.want(OK, OpAddWatch, versionBody("/\x00", 1)) // nobody looks at its path
	other := connected(t, addr)
	other.want(OK, OpCheckWatches, versionBody("/\x00", 3)) // anybody's, as in 3.8
	other.want(NoWatcher, OpRemoveWatches, versionBody("/\x00", 3))
}

func TestWatchesGoWithTheirConnection(t *testing.T) {
	s, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpAddWatch, versionBody("/", 1))
	c.want(OK, OpGetChildren, watchBody("/", true))
	n := c.reconnected(addr)
	n.want(OK, OpCreate, createBody("/x", nil, 0))
	n.quiet()
	if f := s.Store().figures(); f.watches != 0 {
		t.Errorf("%d watches are left", f.watches)
	}
}
