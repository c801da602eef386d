package zkserver

import "testing"

func TestDigestACLs(t *testing.T) {
	_, addr := listening(t)
	owner, other := connected(t, addr), connected(t, addr)
	if a := owner.want(OK, OpAuth, authBody("digest", "ann:secret")); a.zxid != 0 {
		t.Errorf("auth answers zxid %d, want 0", a.zxid)
	}
	other.want(OK, OpAuth, authBody("digest", "nocolon")) // succeeds, with or without a colon
	mine := []ACL{{PermAll, "auth", ""}, {PermAll, "digest", Digest("ann:secret")}}
	owner.want(OK, OpCreate, createACLBody("/n", mine))
	a := owner.want(OK, OpGetACL, pathBody("/n"))
	d := &decoder{b: a.body}
	if got := d.acl(); len(got) != 1 || got[0] != (ACL{PermAll, "digest", Digest("ann:secret")}) {
		t.Errorf("auth becomes the caller's digest, once: %v", got)
	}
	for _, refused := range []part{
		{OpGetData, watchBody("/n", true)}, {OpExists, watchBody("/n", true)}, {OpGetChildren2, watchBody("/n", true)},
		{OpSetData, setBody("/n", nil, -1)}, {OpSetACL, aclBody("/n", OpenACL, -1)}, {OpGetACL, pathBody("/n")},
		{OpCreate, createBody("/n/k", nil, 0)}, {OpDelete, versionBody("/n/k", -1)}, {OpCheck, versionBody("/n", 0)},
		{OpCountChildren, pathBody("/n")},
	} {
		other.want(NoAuth, refused.op, refused.body)
	}
	owner.want(OK, OpCreate, createBody("/n/k", nil, 0))
	other.want(OK, OpGetData, watchBody("/n/k", false)) // no inheritance
	owner.want(OK, OpDelete, versionBody("/n/k", -1))
	owner.want(OK, OpDelete, versionBody("/n", -1))
	other.quiet() // a refused read leaves no watch
}

func TestAUserWithReadSeesNoHash(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createACLBody("/n", []ACL{{PermRead, "world", "anyone"}, {PermAll, "digest", "ann:hash"}}))
	d := &decoder{b: c.want(OK, OpGetACL, pathBody("/n")).body}
	if got := d.acl(); got[1].ID != "ann:x" {
		t.Errorf("%v", got)
	}
}

func TestUnreadableEventsAreDropped(t *testing.T) {
	_, addr := listening(t)
	owner, other := connected(t, addr), connected(t, addr)
	owner.want(OK, OpAuth, authBody("digest", "ann:secret"))
	other.want(OK, OpAddWatch, versionBody("/", 1))
	other.want(NoNode, OpExists, watchBody("/n", true))
	owner.want(OK, OpCreate, createACLBody("/n", []ACL{{PermAll, "auth", ""}}))
	owner.want(OK, OpCreate, createBody("/n/open", nil, 0))
	other.wantEvents("NodeCreated /n/open")
	other.quiet()
}

func TestWhichACLsAreValid(t *testing.T) {
	s, _ := quietStore(t)
	for _, c := range []struct {
		scheme, id string
		ok         bool
	}{
		{"world", "anyone", true}, {"world", "x", false}, {"digest", "a:b", true}, {"digest", "a", false}, {"digest", "a:b:c", false},
		{"ip", "10.0.0.1", true}, {"ip", "10.0.0.0/8", true}, {"ip", "10.0.0.0/33", false}, {"ip", "10.0.0", false},
		{"auth", "", false}, {"sasl", "x", false}, {"", "", false},
	} {
		if got := s.acceptACL(&caller{}, []ACL{{PermAll, c.scheme, c.id}}) != nil; got != c.ok {
			t.Errorf("%s:%s valid %v, want %v", c.scheme, c.id, got, c.ok)
		}
	}
}

func TestIPACLsMatchThePeer(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createACLBody("/near", []ACL{{PermAll, "ip", "127.0.0.0/8"}}))
	c.want(OK, OpCreate, createACLBody("/far", []ACL{{PermAll, "ip", "10.0.0.1"}}))
	c.want(OK, OpGetData, watchBody("/near", false))
	c.want(NoAuth, OpGetData, watchBody("/far", false))
}

func TestUnknownSchemeFailsAndCloses(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(AuthFailed, OpAuth, authBody("kerberos", "x"))
	c.wantClosed()
}

func TestSuperDigestPassesEverything(t *testing.T) {
	_, addr := listening(t, func(o *Options) { o.SuperDigest = Digest("super:test") })
	c := connected(t, addr)
	c.want(OK, OpCreate, createACLBody("/n", []ACL{{PermAll, "digest", "ann:hash"}}))
	c.want(NoAuth, OpGetData, watchBody("/n", false))
	c.want(OK, OpAuth, authBody("digest", "super:test"))
	c.want(OK, OpGetData, watchBody("/n", false))
}

func TestIdentitiesBelongToTheConnection(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpAuth, authBody("digest", "ann:secret"))
	c.want(OK, OpCreate, createACLBody("/n", []ACL{{PermAll, "auth", ""}}))
	n := c.reconnected(addr)
	n.want(NoAuth, OpGetData, watchBody("/n", false))
	n.want(OK, OpAuth, authBody("digest", "ann:secret"))
	n.want(OK, OpGetData, watchBody("/n", false))
}
