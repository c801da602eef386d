package zkserver

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"
)

// clock is a settable clock for tests.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// quietStore is a store with a clock that stands still, zxids from 1 and
// repeatable session ids.
func quietStore(t testing.TB, change ...func(*Options)) (*Store, *clock) {
	t.Helper()
	c := &clock{at: time.UnixMilli(1_700_000_000_000)}
	o := Options{Now: c.now, FirstZxid: 1, Random: rand.New(rand.NewSource(1))}
	for _, f := range change {
		f(&o)
	}
	s := NewStore(o)
	t.Cleanup(func() {
		if err := s.check(); err != nil {
			t.Errorf("invariant: %v", err)
		}
	})
	return s, c
}

// must performs a write that has to succeed.
func must(t testing.TB, s *Store, session int64, op Op) OpResult {
	t.Helper()
	r, _ := s.Apply(session, op)
	if r.Code != OK {
		t.Fatalf("%v %s: %v", op.Kind, op.Path, r.Code)
	}
	return r
}

// seen collects events as "type path".
type seen struct{ got []string }

func (w *seen) Notify(e Event) { w.got = append(w.got, fmt.Sprint(e.Type, " ", e.Path)) }

func (w *seen) take() []string {
	got := w.got
	w.got = nil
	return got
}

func wantEvents(t *testing.T, w *seen, want ...string) {
	t.Helper()
	if got := w.take(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

func TestNullDataDiffersFromEmptyData(t *testing.T) {
	s, _ := quietStore(t)
	must(t, s, 0, Create("/null", nil, 0))
	must(t, s, 0, Create("/empty", []byte{}, 0))
	if data, _, _ := s.Get("/null"); data != nil {
		t.Errorf("null data came back as %v", data)
	}
	if data, _, _ := s.Get("/empty"); data == nil || len(data) != 0 {
		t.Errorf("empty data came back as %#v", data)
	}
}

func TestRefusedWriteTakesAZxid(t *testing.T) {
	s, _ := quietStore(t)
	r, z := s.Apply(0, Set("/none", nil, -1))
	if r.Code != NoNode || z != 1 {
		t.Errorf("got %v at zxid %d, want no node at 1", r.Code, z)
	}
	if _, z := s.Apply(0, Create("/a", nil, 0)); z != 2 {
		t.Errorf("next zxid %d, want 2", z)
	}
}

func TestSequenceCountsEveryChildEverMade(t *testing.T) {
	s, _ := quietStore(t)
	must(t, s, 0, Create("/q", nil, 0))
	must(t, s, 0, Create("/q/plain", nil, 0))
	if r := must(t, s, 0, Create("/q/n-", nil, Sequential)); r.Path != "/q/n-0000000001" {
		t.Errorf("got %s", r.Path)
	}
	must(t, s, 0, Delete("/q/n-0000000001", -1))
	if r := must(t, s, 0, Create("/q/", nil, Sequential)); r.Path != "/q/0000000002" {
		t.Errorf("got %s", r.Path)
	}
	res, _ := s.Multi(0, []Op{Create("/q/m", nil, Sequential), Create("/q/m", nil, Sequential)})
	if res[0].Path != "/q/m0000000003" || res[1].Path != "/q/m0000000004" {
		t.Errorf("in a multi: %v", res)
	}
	st, _ := s.Exists("/q")
	if st.Cversion != 2*5-4 || st.NumChildren != 4 {
		t.Errorf("stat %+v", st)
	}
}

func TestSequenceTurnsNegativeAfterTheMaximum(t *testing.T) {
	s, _ := quietStore(t)
	must(t, s, 0, Create("/q", nil, 0))
	s.find("/q").created = 1<<31 - 1
	if r := must(t, s, 0, Create("/q/a", nil, Sequential)); r.Path != "/q/a2147483647" {
		t.Errorf("got %s", r.Path)
	}
	if r := must(t, s, 0, Create("/q/a", nil, Sequential)); r.Path != "/q/a-2147483648" {
		t.Errorf("got %s", r.Path)
	}
}

func TestStatNumbers(t *testing.T) {
	s, c := quietStore(t)
	ms := c.at.UnixMilli()
	must(t, s, 0, Create("/a", []byte("xyz"), 0)) // 1
	c.at = c.at.Add(time.Second)
	must(t, s, 0, Set("/a", []byte("xyz"), 0))                              // 2
	must(t, s, 0, Create("/a/b", nil, 0))                                   // 3
	must(t, s, 0, Op{Kind: OpSetACL, Path: "/a", ACL: OpenACL, Version: 0}) // 4
	must(t, s, 0, Delete("/a/b", 0))                                        // 5
	want := Stat{Czxid: 1, Mzxid: 2, Ctime: ms, Mtime: ms + 1000, Version: 1, Cversion: 2, Aversion: 1, DataLength: 3, Pzxid: 5}
	if got, _ := s.Exists("/a"); got != want {
		t.Errorf("stat\n got %+v\nwant %+v", got, want)
	}
	root, _ := s.Exists("/")
	if root.Cversion != 0 || root.NumChildren != 2 {
		t.Errorf("root %+v: cversion starts at -1 and one child was created", root)
	}
	if z, _ := s.Exists("/zookeeper"); z.Cversion != -2 {
		t.Errorf("/zookeeper %+v", z)
	}
}

func TestRefusalsInZooKeepersOrder(t *testing.T) {
	s, _ := quietStore(t)
	id, _ := s.CreateSession(0)
	must(t, s, 0, Create("/a", nil, 0))
	must(t, s, 0, Create("/a/kid", nil, 0))
	must(t, s, id, Create("/e", nil, Ephemeral))
	bad := []ACL{{Perms: 31, Scheme: "nonsense"}}
	for _, c := range []struct {
		op   Op
		want Code
	}{
		{Create("/x", nil, 7), BadArguments},
		{Create("/x", nil, -1), BadArguments},
		{Create("/x", nil, PersistentTTL), BadArguments},
		{Op{Kind: OpCreateTTL, Path: "/x", Flags: PersistentTTL}, BadArguments},
		{Op{Kind: OpCreateTTL, Path: "/x", Flags: Persistent, TTLMillis: 5}, BadArguments},
		{Create("noslash", nil, 0), BadArguments},
		{Create("", nil, 0), BadArguments},
		{Create("/nul\x00", nil, 0), BadArguments},
		{Op{Kind: OpCreate, Path: "/none/x", ACL: bad}, InvalidACL},
		{Op{Kind: OpCreate, Path: "/x", ACL: []ACL{}}, InvalidACL},
		{Create("/none/x", nil, 0), NoNode},
		{Create("rel/x", nil, 0), NoNode},
		{Create("/a//b", nil, 0), NoNode},
		{Create("/a/../b", nil, 0), NoNode},
		{Create("/a/..", nil, 0), BadArguments},
		{Create("/a/", nil, 0), BadArguments},
		{Create("/a/\u0085", nil, 0), BadArguments},
		{Create("/a/\xff", nil, 0), BadArguments},
		{Create("/a/\U0001f600", nil, 0), BadArguments},
		{Create("/", nil, 0), NodeExists},
		{Create("/a", nil, 0), NodeExists},
		{Create("/e/x", nil, 0), NoChildrenEphemerals},
		{Delete("a", 0), BadArguments},
		{Delete("/", -1), BadArguments},
		{Delete("/zookeeper/config", -1), BadArguments},
		{Delete("/none/x", -1), NoNode},
		{Delete("/none", -1), NoNode},
		{Delete("/a", 3), BadVersion},
		{Delete("/a", 0), NotEmpty},
		{Set("/a/", nil, -1), BadArguments},
		{Set("/none", nil, -1), NoNode},
		{Set("/a", nil, 1), BadVersion},
		{Set("/a", nil, -2), BadVersion},
		{Op{Kind: OpSetACL, Path: "/none", ACL: bad, Version: 9}, InvalidACL},
		{Op{Kind: OpSetACL, Path: "/none", Version: 9}, NoNode},
		{Op{Kind: OpSetACL, Path: "/a", Version: 9}, BadVersion},
		{Check("/a/", 0), BadArguments},
		{Check("/none", 0), NoNode},
		{Check("/a", 1), BadVersion},
		{Check("/a", 0), OK},
		{Check("/a", AnyVersion), OK},
	} {
		if r, _ := s.Apply(id, c.op); r.Code != c.want {
			t.Errorf("%v %q flags %d version %d: %v, want %v", c.op.Kind, c.op.Path, c.op.Flags, c.op.Version, r.Code, c.want)
		}
	}
	for path, want := range map[string]Code{"": NoNode, "a": NoNode, "/a/": NoNode, "/a//kid": NoNode, "/\x00": BadArguments, "/a": OK} {
		if _, code := s.Exists(path); code != want {
			t.Errorf("exists %q: %v, want %v", path, code, want)
		}
	}
}

func TestMultiIsAllOrNothing(t *testing.T) {
	s, _ := quietStore(t)
	w := &seen{}
	must(t, s, 0, Create("/a", []byte("1"), 0))
	must(t, s, 0, Create("/gone", []byte("g"), 0))
	s.Watch(w, "/", RecursiveWatch)
	before := dump(s)
	res, z := s.Multi(0, []Op{
		Create("/a/x", nil, 0), Set("/a", []byte("2"), 0), Delete("/gone", 0),
		{Kind: OpSetACL, Path: "/a", ACL: []ACL{{1, "world", "anyone"}}},
		Check("/a", 7), Set("/a", nil, -1),
	})
	codes := []Code{OK, OK, OK, OK, BadVersion, RuntimeInconsistency}
	for i, r := range res {
		if r.Code != codes[i] {
			t.Errorf("entry %d: %v, want %v", i, r.Code, codes[i])
		}
	}
	if z != 3 {
		t.Errorf("zxid %d, want 3", z)
	}
	if after := dump(s); after != before {
		t.Errorf("tree changed\nbefore %s\nafter %s", before, after)
	}
	wantEvents(t, w)
	if _, z := s.Multi(0, nil); z != 4 {
		t.Errorf("empty multi at zxid %d, want 4", z)
	}
	res, _ = s.Multi(0, []Op{Create("/n", nil, 0), Set("/n", []byte("d"), 0), Check("/n", 1)})
	for i, r := range res {
		if r.Code != OK {
			t.Errorf("each op sees the one before: entry %d is %v", i, r.Code)
		}
	}
	st, _ := s.Exists("/n")
	if st.Czxid != 5 || st.Mzxid != 5 || st.Version != 1 {
		t.Errorf("all ops share a zxid: %+v", st)
	}
	wantEvents(t, w, "NodeCreated /n", "NodeDataChanged /n")
}

// dump is the whole tree as text, ACLs and counters included.
func dump(s *Store) string {
	var b bytes.Buffer
	walk("/", s.root, func(path string, n *node) bool {
		fmt.Fprintf(&b, "%s %q %v %+v %d\n", path, n.data, n.acl.entries, n.stat(), n.created)
		return true
	})
	return b.String()
}

func TestSessionEndIsOneTxn(t *testing.T) {
	var txns []Txn
	s, _ := quietStore(t, func(o *Options) { o.OnTxn = func(x Txn) { txns = append(txns, x) } })
	id, passwd := s.CreateSession(time.Second) // 1
	if len(passwd) != 16 || id <= 0 || id>>56 != 0 {
		t.Errorf("id %x passwd %x", id, passwd)
	}
	must(t, s, 0, Create("/p", nil, 0))            // 2
	must(t, s, id, Create("/p/b", nil, Ephemeral)) // 3
	must(t, s, id, Create("/p/a", nil, Ephemeral)) // 4
	w := &seen{}
	s.Watch(w, "/p/a", ExistsWatch)
	s.Watch(w, "/p", ChildWatch)
	if !s.CloseSession(id) || s.CloseSession(id) {
		t.Error("a session ends once")
	}
	wantEvents(t, w, "NodeDeleted /p/a", "NodeChildrenChanged /p")
	st, _ := s.Exists("/p")
	if st.Pzxid != 5 || st.Cversion != 4 || st.NumChildren != 0 || s.Zxid() != 5 {
		t.Errorf("parent %+v, zxid %d", st, s.Zxid())
	}
	last := txns[len(txns)-1]
	if last.Kind != TxnCloseSession || last.Session != id || len(last.Changes) != 2 || last.Changes[0].Path != "/p/a" ||
		last.Changes[0].Before.Stat.EphemeralOwner != id || last.Changes[0].After != nil {
		t.Errorf("txn %+v", last)
	}
	if r, _ := s.Apply(id, Create("/late", nil, 0)); r.Code != SessionExpired {
		t.Errorf("write of an ended session: %v", r.Code)
	}
}

func TestExpiryIsNeverEarly(t *testing.T) {
	s, c := quietStore(t)
	id, _ := s.CreateSession(4 * time.Second)
	eternal, _ := s.CreateSession(0)
	c.at = c.at.Add(3 * time.Second)
	s.Touch(id)
	c.at = c.at.Add(4*time.Second - 1)
	if due := s.ExpireDue(); due != nil {
		t.Fatalf("expired %x before its time", due)
	}
	c.at = c.at.Add(1)
	if due := s.ExpireDue(); !slices.Equal(due, []int64{id}) {
		t.Fatalf("expired %x, want %x", due, id)
	}
	if s.Touch(id) || !s.Touch(eternal) {
		t.Error("only the silent session is gone")
	}
}

func TestPauseOfTheServerExtendsDeadlines(t *testing.T) {
	s, c := quietStore(t)
	quiet, _ := s.CreateSession(4 * time.Second)
	heard, _ := s.CreateSession(4 * time.Second)
	stopped := c.at.Add(time.Second)
	c.at = c.at.Add(11 * time.Second)
	s.Touch(heard) // its frame was handled before the pause was noticed
	s.ExtendDeadlines(stopped, 10*time.Second)
	if due := s.ExpireDue(); due != nil {
		t.Fatalf("expired %x", due)
	}
	c.at = c.at.Add(3 * time.Second)
	if due := s.ExpireDue(); !slices.Equal(due, []int64{quiet}) {
		t.Fatalf("expired %x, want %x", due, quiet)
	}
	c.at = c.at.Add(time.Second)
	if due := s.ExpireDue(); !slices.Equal(due, []int64{heard}) {
		t.Fatalf("expired %x, want %x: a session heard after the pause gets nothing extra", due, heard)
	}
}

func TestContainersAndTTLZnodesAreSwept(t *testing.T) {
	s, c := quietStore(t)
	must(t, s, 0, Op{Kind: OpCreateContainer, Path: "/c", Flags: Container})
	must(t, s, 0, Op{Kind: OpCreateTTL, Path: "/t", Flags: PersistentTTL, TTLMillis: 1000})
	must(t, s, 0, Create("/plain", nil, Container)) // flag 4 with op 1 is an ordinary znode
	must(t, s, 0, Create("/plain/x", nil, 0))
	must(t, s, 0, Delete("/plain/x", -1))
	c.at = c.at.Add(time.Second)
	if n := s.Sweep(); n != 0 {
		t.Fatalf("swept %d: the container never had a child, the ttl is not exceeded", n)
	}
	must(t, s, 0, Create("/c/x", nil, 0))
	must(t, s, 0, Create("/t/x", nil, 0))
	c.at = c.at.Add(time.Second)
	if n := s.Sweep(); n != 0 {
		t.Fatalf("swept %d: both have children", n)
	}
	must(t, s, 0, Delete("/c/x", -1))
	must(t, s, 0, Delete("/t/x", -1))
	if st, _ := s.Exists("/c"); st.EphemeralOwner != 0 {
		t.Errorf("container shows owner %d", st.EphemeralOwner)
	}
	w := &seen{}
	s.Watch(w, "/", ChildWatch)
	if n := s.Sweep(); n != 2 {
		t.Fatalf("swept %d, want 2", n)
	}
	wantEvents(t, w, "NodeChildrenChanged /")
	if names, _, _ := s.Children("/"); !slices.Equal(names, []string{"plain", "zookeeper"}) {
		t.Errorf("left %v", names)
	}
}

func TestLoadHonoursWhatIsGiven(t *testing.T) {
	s, _ := quietStore(t)
	err := s.Load([]Znode{
		{Path: "/k/brokers/ids/1", Data: []byte("b"), Owner: 77, Czxid: 71, Version: 2},
		{Path: "/k/brokers", Data: []byte{}},
		{Path: "/k/changes/c_0000000041", Czxid: 500},
		{Path: "/zookeeper/quota", Data: []byte("q")},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, st, _ := s.Get("/k/brokers/ids/1")
	if string(data) != "b" || st.EphemeralOwner != 77 || st.Czxid != 71 || st.Mzxid != 71 || st.Version != 2 {
		t.Errorf("%q %+v", data, st)
	}
	if data, _, _ := s.Get("/k/brokers"); data == nil {
		t.Error("a parent that is listed later gets its own data")
	}
	if data, _, code := s.Get("/k/brokers/ids"); data != nil || code != OK {
		t.Errorf("missing parent: %v %v", data, code)
	}
	if r := must(t, s, 0, Create("/k/changes/c_", nil, Sequential)); r.Path != "/k/changes/c_0000000042" || r.Stat.Czxid != 501 {
		t.Errorf("%+v", r)
	}
	if !s.Expire(77) {
		t.Error("the owner is a session")
	}
	if _, code := s.Exists("/k/brokers/ids/1"); code != NoNode {
		t.Errorf("after its owner's end: %v", code)
	}
	for _, bad := range [][]Znode{{{Path: "x"}}, {{Path: "/x"}, {Path: "/x"}}, {{Path: "/y", ACL: []ACL{}}}} {
		if err := s.Load(bad); err == nil {
			t.Errorf("load %v: no error", bad)
		}
	}
}

func TestChildrenStaySortedAcrossTheSwitchToAMap(t *testing.T) {
	s, _ := quietStore(t)
	var want []string
	for _, i := range rand.New(rand.NewSource(3)).Perm(100) {
		name := fmt.Sprintf("n%02d", i)
		must(t, s, 0, Create("/"+name, nil, 0))
		want = append(want, name)
		slices.Sort(want)
		got, _, _ := s.Children("/")
		if !slices.Equal(got[:len(got)-1], want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	for len(want) > 0 {
		must(t, s, 0, Delete("/"+want[0], -1))
		want = want[1:]
		if got, _, _ := s.Children("/"); !slices.Equal(got[:len(got)-1], want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestSeededStoresAreEqual(t *testing.T) {
	run := func() any {
		s, _ := quietStore(t)
		id, p := s.CreateSession(time.Second)
		id2, p2 := s.CreateSession(time.Second)
		return []any{id, p, id2, p2}
	}
	if a, b := run(), run(); !reflect.DeepEqual(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestAFreshStoreIsAheadOfEveryEarlierOne(t *testing.T) {
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a := NewStore(Options{Now: c.now})
	idA, _ := a.CreateSession(0)
	c.at = c.at.Add(time.Millisecond)
	b := NewStore(Options{Now: c.now})
	idB, _ := b.CreateSession(0)
	if b.Zxid() <= a.Zxid()+100_000 || idB <= idA {
		t.Errorf("zxid %x then %x, session %x then %x", a.Zxid(), b.Zxid(), idA, idB)
	}
}

// check finds a broken invariant of the whole store.
func (s *Store) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	count, bytes, owned := 0, int64(0), 0
	var bad error
	walk("/", s.root, func(path string, n *node) bool {
		count++
		bytes += n.weight(path)
		if n.owner != 0 {
			owned++
			own := s.sessions[n.owner]
			if own == nil {
				bad = fmt.Errorf("%s is owned by session 0x%x, which is not there", path, n.owner)
			} else if _, ok := own.ephemerals[path]; !ok {
				bad = fmt.Errorf("%s is not among the ephemerals of its owner", path)
			}
		}
		return bad == nil
	})
	for _, own := range s.sessions {
		owned -= len(own.ephemerals)
	}
	switch {
	case bad != nil:
		return bad
	case count != s.count || bytes != s.bytes:
		return fmt.Errorf("counted %d znodes and %d bytes, the store says %d and %d", count, bytes, s.count, s.bytes)
	case owned != 0:
		return fmt.Errorf("%d more ephemeral znodes in the tree than in the sessions", owned)
	}
	return nil
}
