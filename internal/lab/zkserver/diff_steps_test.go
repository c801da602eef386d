package zkserver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A sequence of the differential test: what a few clients send, drawn from a
// seed. Paths begin with "@", which stands for a znode of the sequence's own, so
// that a sequence can be sent again to servers that have seen it.

// stepKind is what a client does in a step.
type stepKind uint8

const (
	stepRequest  stepKind = iota
	stepCut               // the client drops its connection and comes back in its session
	stepMove              // it comes back while the old connection is there
	stepImpostor          // somebody else tries its session with a wrong password
)

// diffClients is how many clients a sequence has.
const diffClients = 3

// step is one step of a sequence. Which fields count depends on kind and op.
type step struct {
	client int
	kind   stepKind
	op     OpCode
	path   string
	data   []byte
	version,
	flags, mode int32
	ttl     int64
	acl     []ACL
	nullACL bool
	watch   bool
	scheme  string
	millis  int32      // stepRequest closeSession: timeout of the session after it
	back    int64      // setWatches: how far relativeZxid is behind the last zxid
	lists   [][]string // setWatches
	parts   []step     // multi, multiRead
	torn    int        // bytes of the body's end that are not sent
}

// String shows a step so that it can be replayed by hand.
func (s step) String() string {
	text := fmt.Sprintf("client %d: ", s.client)
	switch s.kind {
	case stepCut:
		return text + "cut and back"
	case stepMove:
		return text + "moved to a second connection"
	case stepImpostor:
		return text + "somebody with a wrong password"
	}
	text += s.ask()
	if s.torn > 0 {
		text += fmt.Sprintf(" without its last %d bytes", s.torn)
	}
	return text
}

func (s step) ask() string {
	switch s.op {
	case OpMulti, OpMultiRead:
		var parts []string
		for _, p := range s.parts {
			parts = append(parts, p.ask())
		}
		return fmt.Sprintf("%v [%s]", s.op, strings.Join(parts, "; "))
	case OpSetWatches, OpSetWatches2:
		return fmt.Sprintf("%v since %d back %q", s.op, s.back, s.lists)
	case OpAuth:
		return fmt.Sprintf("auth %q %q", s.scheme, s.data)
	}
	return fmt.Sprintf("%v %q data %q version %d flags %d mode %d ttl %d acl %v watch %v", s.op, s.path, s.data, s.version, s.flags,
		s.mode, s.ttl, s.acl, s.watch)
}

// body is what the request carries, for a root znode and the last zxid.
func (s step) body(root string, zxid int64) []byte {
	b := s.whole(root, zxid)
	return b[:max(0, len(b)-s.torn)]
}

func (s step) whole(root string, zxid int64) []byte {
	path := strings.Replace(s.path, "@", root, 1)
	acl := func(b []byte) []byte {
		if s.nullACL {
			return putInt32(b, -1)
		}
		return putACL(b, s.acl)
	}
	switch s.op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return putInt32(acl(putBuffer(putText(nil, path), s.data)), s.flags)
	case OpCreateTTL:
		return putInt64(putInt32(acl(putBuffer(putText(nil, path), s.data)), s.flags), s.ttl)
	case OpDelete, OpCheck:
		return versionBody(path, s.version)
	case OpSetData:
		return setBody(path, s.data, s.version)
	case OpSetACL:
		return putInt32(acl(putText(nil, path)), s.version)
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		return watchBody(path, s.watch)
	case OpGetACL, OpSync, OpGetEphemerals, OpCountChildren:
		return pathBody(path)
	case OpCheckWatches, OpRemoveWatches, OpAddWatch:
		return versionBody(path, s.mode)
	case OpReconfig:
		return putInt64(putText(putText(putText(nil, ""), ""), ""), -1)
	case OpAuth:
		return authBody(s.scheme, string(s.data))
	case OpSASL:
		return putBuffer(nil, s.data)
	case OpSetWatches, OpSetWatches2:
		var lists [][]string
		for _, l := range s.lists {
			var paths []string
			for _, p := range l {
				paths = append(paths, strings.Replace(p, "@", root, 1))
			}
			lists = append(lists, paths)
		}
		return setWatchesBody(zxid-s.back, lists...)
	case OpMulti, OpMultiRead:
		var parts []part
		for _, p := range s.parts {
			parts = append(parts, part{p.op, p.whole(root, zxid)})
		}
		return multiBody(parts...)
	}
	return nil // ping, whoAmI, closeSession, unknown
}

// ends tells whether the server must close the connection after the reply.
func (s step) ends() bool {
	switch s.op {
	case OpCloseSession:
		return true
	case OpAuth:
		return s.torn == 0 && s.scheme != "digest" && s.scheme != "ip"
	}
	_, known := opNames[s.op]
	return !known
}

// drawing draws sequences. It never lets one connection set a one-shot watch on
// a path where it may have a persistent one, nor a recursive one where it may
// have a one-shot watch of children: see oneShotOnPersistent.
type drawing struct {
	*rand.Rand
	lasting  [diffClients]map[string]bool // paths with a persistent watch, by client
	children [diffClients]map[string]bool // paths with a one-shot watch of children
}

// draw is the sequence of a seed, n steps long.
func draw(seed uint64, n int) []step {
	d := drawing{Rand: rand.New(rand.NewPCG(seed, 0x6b73))}
	for i := range d.lasting {
		d.lasting[i], d.children[i] = map[string]bool{}, map[string]bool{}
	}
	var out []step
	for range n {
		out = append(out, d.step())
	}
	return out
}

var (
	plainPaths = []string{"@", "@/a", "@/a", "@/b", "@/c", "@/a/b", "@/a/c", "@/b/a", "@/a/b/c", "@/b/a/b"}
	oddPaths   = []string{"", "/", "//", "@/", "@//a", "@/a/", "@/./a", "@/../a", "@/.", "@/a/..", "@/...", "@/\x00", "@/a\x00b", "@/\x01",
		"@/\x1f", "@/ ", "@/\x7f", "@/\u0085", "@/\u00e9", "@/\ue000", "@/\uf8ff", "@/\uf900", "@/\ufff0", "@/none/a", "a", "a/b",
		"@/a-", "@/b/a/c/d", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", "/zookeeper/none", "/none"}
	// protectedPaths are not written to: a change of them would outlive the sequence.
	writtenOdd = append(slices.DeleteFunc(slices.Clone(oddPaths), func(p string) bool { return p == "/zookeeper/none" || p == "/none" || p == "//" }),
		"@/\U0001f600", "@/\xff")

	diffACLs = [][]ACL{
		OpenACL, OpenACL, OpenACL, {{PermRead, "world", "anyone"}}, {{PermAll &^ PermRead, "world", "anyone"}}, {{PermAll, "auth", ""}},
		{{PermAll, "auth", "x"}, {PermRead, "world", "anyone"}}, {{PermAll, "digest", Digest("u:p")}}, {{PermAll &^ PermAdmin, "digest", Digest("u:p")}},
		{{PermAll, "ip", "127.0.0.1"}}, {{PermAll, "ip", "127.0.0.1/8"}}, {{PermAll, "ip", "10.0.0.0/33"}}, {{PermAll, "ip", "10.0.0.0/8"}},
		{{PermAll, "ip", "1.2.3"}}, {{PermAll, "ip", "01.2.3.4"}}, {{PermAll, "ip", "127.0.0.1/"}}, {{PermAll, "ip", ""}}, {{PermAll, "ip", "300.0.0.1"}},
		{{PermAll, "world", "nobody"}}, {{PermAll, "none", "x"}}, {{PermAll, "digest", "u"}}, {{PermAll, "digest", "u:"}}, {{PermAll, "digest", ":p"}},
		{{PermAll, "digest", "a:b:c"}}, {{PermAll, "digest", "a:b:"}}, {{PermAll, "digest", "::"}}, {{PermAll, "", ""}}, {{0, "world", "anyone"}}, {{-1, "world", "anyone"}}, {},
		{{PermRead, "world", "anyone"}, {PermRead, "world", "anyone"}, {PermAll, "ip", "127.0.0.1"}}, {{PermRead, "digest", Digest("u:p")}, {PermAdmin, "digest", Digest("v:p")}},
	}
	diffData = [][]byte{nil, {}, []byte("x"), []byte("data of a znode")}
)

func (d drawing) one(list []string) string { return list[d.IntN(len(list))] }

// chance is true p times in a hundred.
func (d drawing) chance(p int) bool { return d.IntN(100) < p }

func (d drawing) path() string {
	if d.chance(12) {
		return d.one(oddPaths)
	}
	return d.one(plainPaths)
}

// written is a path for a write.
func (d drawing) written() string {
	if d.chance(12) {
		return d.one(writtenOdd)
	}
	return d.one(plainPaths)
}

func (d drawing) version() int32 {
	if d.chance(60) {
		return AnyVersion
	}
	return int32(d.IntN(5) - 2)
}

func (d drawing) step() step {
	s := step{client: d.IntN(diffClients)}
	switch n := d.IntN(1000); {
	case n < 15:
		s.kind = stepCut
	case n < 25:
		s.kind = stepMove
	case n < 30:
		s.kind = stepImpostor
	default:
		d.request(&s)
	}
	if s.kind == stepCut || s.kind == stepMove || s.kind == stepImpostor || s.ends() {
		clear(d.lasting[s.client])
		clear(d.children[s.client])
	}
	return s
}

// request fills in a request.
func (d drawing) request(s *step) {
	switch n := d.IntN(1000); {
	case n < 380:
		s.op = d.writeOp()
		d.write(s)
	case n < 620:
		s.op = []OpCode{OpExists, OpGetData, OpGetChildren, OpGetChildren2}[d.IntN(4)]
		s.path, s.watch = d.path(), d.chance(60)
		s.watch = s.watch && !d.lasting[s.client][s.path]
		if s.watch && (s.op == OpGetChildren || s.op == OpGetChildren2) {
			d.children[s.client][s.path] = true
		}
	case n < 660:
		s.op, s.path = []OpCode{OpGetACL, OpGetACL, OpSync, OpGetEphemerals, OpCountChildren}[d.IntN(5)], d.path()
	case n < 800:
		s.op = OpMulti
		for range d.IntN(5) {
			p := step{op: d.writeOp()}
			if d.chance(3) {
				p = step{op: OpGetData, path: "@/a"} // foreign here
			} else if d.chance(25) {
				p.op = OpCheck
			}
			if p.op == OpSetACL {
				p.op = OpSetData
			}
			d.write(&p)
			p.nullACL = false // see nullACLInMulti
			s.parts = append(s.parts, p)
		}
	case n < 830:
		s.op = OpMultiRead
		for range d.IntN(4) {
			p := step{op: []OpCode{OpGetData, OpGetChildren, OpGetData, OpGetChildren, OpExists}[d.IntN(5)], path: d.path(), watch: d.chance(50)}
			if p.path != "" { // see emptyPath
				s.parts = append(s.parts, p)
			}
		}
	case n < 940:
		d.watching(s)
	case n < 970:
		s.op, s.scheme, s.data = OpAuth, d.one([]string{"digest", "digest", "digest", "ip", "sasl", "none", ""}), []byte(d.one([]string{"u:p", "v:p", "w", ""}))
	case n < 980:
		s.op, s.data = []OpCode{OpPing, OpWhoAmI, OpReconfig, OpSASL}[d.IntN(4)], []byte("token")
	case n < 990:
		s.op, s.millis = OpCloseSession, int32(d.IntN(30_000)-2000)
	default:
		s.op = []OpCode{-12, -9, 23, 99, 108, 1000}[d.IntN(6)]
	}
	if _, known := opNames[s.op]; known && s.op != OpCloseSession && d.chance(3) {
		if n := len(s.whole("@", 0)); n > 0 {
			s.torn = 1 + d.IntN(n)
		}
	}
}

func (d drawing) writeOp() OpCode {
	return []OpCode{OpCreate, OpCreate, OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpDelete, OpSetData, OpSetData, OpSetACL, OpCheck}[d.IntN(12)]
}

// write fills in the arguments of a write.
func (d drawing) write(s *step) {
	s.path, s.version, s.data, s.acl = d.written(), d.version(), diffData[d.IntN(len(diffData))], OpenACL
	if d.chance(20) {
		s.acl = diffACLs[d.IntN(len(diffACLs))]
		s.nullACL = d.chance(5)
	}
	switch s.op {
	case OpCreate, OpCreate2:
		s.flags = int32(d.IntN(4))
	case OpCreateContainer:
		s.flags = Container
	case OpCreateTTL:
		s.flags, s.ttl = PersistentTTL+int32(d.IntN(2)), 3_600_000
		if d.chance(10) {
			s.ttl = []int64{0, -1, 1 << 40, 1<<40 - 1, 1 << 48}[d.IntN(5)]
		}
	default:
		return
	}
	if d.chance(8) {
		s.flags = int32(d.IntN(10) - 1)
		if s.op == OpCreateTTL && s.ttl < 0 {
			s.ttl = 1 // ZooKeeper 3.8.4 ends at a negative one with other flags
		}
	}
	if !strings.HasPrefix(s.path, "@") && (s.flags == Sequential || s.flags == EphemeralSequential || s.flags == SequentialTTL) {
		s.flags = -1 // it would outlive the sequence
	}
}

// watching fills in a request about watches.
func (d drawing) watching(s *step) {
	lasting := d.lasting[s.client]
	switch n := d.IntN(100); {
	case n < 50:
		s.op, s.path, s.mode = OpAddWatch, d.path(), int32(d.IntN(2))
		if d.chance(8) {
			s.mode = int32(d.IntN(5) - 1)
		}
		if d.children[s.client][s.path] {
			s.mode = 0
		}
		lasting[s.path] = true
	case n < 75:
		s.op, s.path, s.mode = []OpCode{OpCheckWatches, OpRemoveWatches, OpRemoveWatches}[d.IntN(3)], d.path(), int32(1+d.IntN(3))
		if d.chance(5) {
			s.mode = int32(d.IntN(6) - 1)
		}
	default:
		s.op, s.back = OpSetWatches, int64(d.IntN(30))
		lists := 3
		if d.chance(50) {
			s.op, lists = OpSetWatches2, 5
		}
		for i := range lists {
			var l []string
			for range d.IntN(3) {
				p := d.path()
				if p == "" || i < 3 && lasting[p] || i == 4 && d.children[s.client][p] {
					continue
				}
				l = append(l, p)
			}
			s.lists = append(s.lists, l)
		}
		for _, p := range s.lists[2] {
			d.children[s.client][p] = true
		}
		if lists == 5 {
			for _, p := range slices.Concat(s.lists[3], s.lists[4]) {
				lasting[p] = true
			}
			for i := range 3 {
				s.lists[i] = slices.DeleteFunc(s.lists[i], func(p string) bool { return lasting[p] })
			}
		}
	}
}
