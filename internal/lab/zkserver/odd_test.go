package zkserver

import "testing"

// What random requests to a real ZooKeeper 3.8.4 have shown (TestRealDifferential),
// where one would not expect it.
func TestOddRequestsAreAnsweredAsZooKeeperDoes(t *testing.T) {
	s, addr := listening(t)
	c := connected(t, addr)
	owner := func(path string) int64 {
		t.Helper()
		st, code := s.Store().Exists(path)
		if code != OK {
			t.Fatalf("%s: %v", path, code)
		}
		return st.EphemeralOwner
	}

	// createContainer makes a container whatever its flags say.
	c.want(OK, OpCreateContainer, createBody("/c", nil, Ephemeral))
	if owner("/c") != 0 || len(s.Store().timed) != 1 {
		t.Errorf("createContainer with flags 1: owner %x, %d containers", owner("/c"), len(s.Store().timed))
	}
	c.want(BadArguments, OpCreateContainer, createBody("/c2", nil, PersistentTTL))

	// In a multi the flags decide what is created.
	multi := func(p part) []byte { t.Helper(); return c.want(OK, OpMulti, multiBody(p)).body }
	if op, _ := (&decoder{b: multi(part{OpCreate, createBody("/m4", nil, Container)})}).multiHeader(); op != OpCreate2 || len(s.Store().timed) != 2 {
		t.Errorf("create with flags 4 in a multi: answered as %v, %d containers", op, len(s.Store().timed))
	}
	if op, _ := (&decoder{b: multi(part{OpCreateContainer, createBody("/m0", nil, Persistent)})}).multiHeader(); op != OpCreate2 || len(s.Store().timed) != 3 {
		t.Errorf("createContainer with flags 0 in a multi: answered as %v, %d containers", op, len(s.Store().timed))
	}
	if op, _ := (&decoder{b: multi(part{OpCreateTTL, ttlBody("/m1", Persistent, 1000)})}).multiHeader(); op != OpCreate || len(s.Store().timed) != 3 {
		t.Errorf("createTTL with flags 0 in a multi: answered as %v, %d containers and TTL znodes", op, len(s.Store().timed))
	}
	for _, flags := range []int32{-1, 7, PersistentTTL} { // none, and one that needs a time to live
		c.want(MarshallingError, OpMulti, multiBody(part{OpCreate, createBody("/m", nil, flags)}))
	}
	wantBytes(t, "createTTL with flags 7 in a multi", multi(part{OpCreateTTL, ttlBody("/m", 7, 1000)}), "ffffffff 00 fffffff8 fffffff8 ffffffff 01 ffffffff")

	// A NUL matters to exists alone of the reads.
	c.want(BadArguments, OpExists, watchBody("/\x00", false))
	c.want(NoNode, OpGetData, watchBody("/\x00", false))
	c.want(NoNode, OpGetACL, pathBody("/\x00"))
	c.want(OK, OpSync, pathBody("/\x00"))

	// A reconfig that cannot be read spends no zxid, unlike other writes.
	before := s.Store().Zxid()
	if a := c.want(MarshallingError, OpReconfig, nil); a.zxid != before {
		t.Errorf("a short reconfig: zxid %d, before it %d", a.zxid, before)
	}
	if a := c.want(OK, OpSASL, putBuffer(nil, []byte("token"))); a.zxid != 0 {
		t.Errorf("sasl: zxid %d, want 0", a.zxid)
	}

	// setWatches tells what was missed without asking the ACL.
	since := s.Store().Zxid()
	c.want(OK, OpCreate, createACLBody("/secret", []ACL{{PermAll, "ip", "10.0.0.1"}}))
	c.want(NoAuth, OpGetData, watchBody("/secret", false))
	c.send(OpSetWatches, setWatchesBody(since, []string{"/secret"}, []string{"/secret"}, []string{"/secret"}))
	c.wantEvents("NodeDataChanged /secret", "NodeCreated /secret", "NodeChildrenChanged /secret")
	if a := c.next(); a.code != OK {
		t.Errorf("setWatches: %v", a.code)
	}
}

func TestHalfARecursiveWatchIsLeft(t *testing.T) {
	_, addr := listening(t)
	c, w := connected(t, addr), connected(t, addr)
	w.want(OK, OpAddWatch, versionBody("/a", 1))
	w.want(MarshallingError, OpCheckWatches, versionBody("a", 3)) // it looks above, where it looked at the path alone
	w.want(NoWatcher, OpCheckWatches, versionBody("", 3))
	w.want(OK, OpRemoveWatches, versionBody("/a", 2)) // data: the child's half hears of deletions
	c.want(OK, OpCreate, createBody("/a", nil, 0))
	c.want(OK, OpCreate, createBody("/a/b", nil, 0))
	c.want(OK, OpSetData, setBody("/a/b", nil, AnyVersion))
	w.quiet()
	c.want(OK, OpDelete, versionBody("/a/b", AnyVersion))
	w.wantEvents("NodeDeleted /a/b")
	w.want(OK, OpRemoveWatches, versionBody("/a", 1))
	w.want(NoWatcher, OpCheckWatches, versionBody("a", 3))
}

func TestIDsOfACLsAreReadAsJavaDoes(t *testing.T) {
	for _, c := range []struct {
		scheme, id string
		want       bool
	}{
		{"digest", "u:p", true}, {"digest", ":p", true}, {"digest", "u:p:", true}, {"digest", "u:p::", true},
		{"digest", "u", false}, {"digest", "u:", false}, {"digest", "::", false}, {"digest", "u:p:q", false}, {"digest", "", false},
		{"ip", "1.2.3.4", true}, {"ip", "01.002.3.4", true}, {"ip", "1.2.3.4/0", true}, {"ip", "1.2.3.4/32", true},
		{"ip", "1.2.3.4/33", false}, {"ip", "1.2.3.4/", false}, {"ip", "1.2.3", false}, {"ip", "1.2.3.256", false}, {"ip", "", false},
		{"world", "anyone", true}, {"world", "else", false}, {"none", "x", false},
	} {
		if got := validID(c.scheme, c.id); got != c.want {
			t.Errorf("%s:%s: %v, want %v", c.scheme, c.id, got, c.want)
		}
	}
}
