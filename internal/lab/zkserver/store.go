package zkserver

import (
	"crypto/rand"
	"io"
	"slices"
	"sync"
	"time"
)

// Limits bound what clients can make a Store hold. A write past a limit is
// refused with QuotaExceeded. A zero field takes its default.
type Limits struct {
	Nodes   int   // znodes, default 5,000,000
	Bytes   int64 // paths, data and ACLs together, default 4 GiB
	Watches int   // watched paths of one session or Watcher, default 2,000,000
}

// Options of a Store. The zero value is a store on the real clock.
type Options struct {
	// Now is the clock; nil means time.Now. Only sessions' deadlines, ctime,
	// mtime and the numbering of a fresh store depend on it.
	Now func() time.Time
	// FirstZxid is the number of the first txn. 0 means: beyond every zxid of
	// an earlier store, by the clock, so that no client of an earlier life has
	// seen more than this one has done: such a client would be refused for ever.
	FirstZxid int64
	// Random yields session ids (once) and passwords; nil means ids from the
	// clock and passwords from crypto/rand. A seeded reader repeats a run.
	Random io.Reader
	// SuperDigest is user:base64(sha1(user:password)) of a digest identity that
	// passes every ACL; empty for none.
	SuperDigest string
	Limits      Limits
	// OnTxn is told of every txn, refused ones too, in order, before its events.
	OnTxn func(Txn)
	// Intercept decides on faults: see Verdict.
	Intercept func(Request) Verdict
	// Log is told what Open repairs, and when the log cannot be written.
	Log func(line string)
}

// Store is the tree, its sessions and its watches. All methods may be called
// from any goroutine; each is atomic.
type Store struct {
	mu  sync.Mutex
	opt Options

	root  *node
	zxid  int64 // the last one given out
	count int   // znodes, the root included
	bytes int64 // paths, data and ACLs
	now   time.Time

	timed map[*node]timedNode // containers and TTL znodes

	sessions    map[int64]*session
	lastSession int64

	watching  map[Watcher]*watching
	watches   map[string][]*watching
	recursive int    // watching entries with a recursive watch, over all paths
	step      uint64 // stamps watchings that have got the event at hand

	tx   tx
	log  *txnLog
	acls map[string]*aclList
}

// timedNode is what a container or TTL znode needs beside its node.
type timedNode struct {
	path      string
	ttlMillis int64 // 0 for a container
}

// tx is the txn at work: reused, since there is only one at a time.
type tx struct {
	zxid    int64
	millis  int64
	changes []change
}

// NewStore makes a store in memory with ZooKeeper's own znodes in it.
func NewStore(o Options) *Store {
	s := emptyStore(o)
	first := o.FirstZxid
	if first == 0 {
		first = epochZxid(s.clock()) + 1
	}
	s.zxid = first - 1
	return s
}

func emptyStore(o Options) *Store {
	if o.Limits.Nodes == 0 {
		o.Limits.Nodes = 5_000_000
	}
	if o.Limits.Bytes == 0 {
		o.Limits.Bytes = 4 << 30
	}
	if o.Limits.Watches == 0 {
		o.Limits.Watches = 2_000_000
	}
	s := &Store{
		opt:      o,
		timed:    map[*node]timedNode{},
		sessions: map[int64]*session{},
		watching: map[Watcher]*watching{},
		watches:  map[string][]*watching{},
		acls:     map[string]*aclList{},
	}
	s.lastSession = s.firstSession()
	s.plantBuiltins()
	return s
}

// plantBuiltins makes the znodes that every ZooKeeper has. They were never
// created by a txn, so they do not count as created children.
func (s *Store) plantBuiltins() {
	open := s.internACL(OpenACL)
	bare := func(name string) *node { return &node{name: name, data: []byte{}, acl: open} }
	config := bare("config")
	config.acl = s.internACL([]ACL{{Perms: PermRead, Scheme: "world", ID: "anyone"}})
	config.aversion = -1
	system := bare("zookeeper")
	system.attach(config)
	system.attach(bare("quota"))
	s.root = bare("")
	s.root.attach(system)
	s.count = 4
	walk("/", s.root, func(path string, n *node) bool {
		s.bytes += n.weight(path)
		return true
	})
}

var epochStart = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// epochZxid is a zxid beyond those of every life that began before now, for a
// life would need more than 1,024 txns in each microsecond to get there. Whole
// seconds in the upper half, as ensembles number their epochs, would not do: a
// lab that is reset starts its next life within the second.
func epochZxid(now time.Time) int64 {
	return int64(now.Sub(epochStart)/time.Microsecond) << 10
}

func (s *Store) clock() time.Time {
	if s.opt.Now != nil {
		return s.opt.Now()
	}
	return time.Now()
}

func (s *Store) random() io.Reader {
	if s.opt.Random != nil {
		return s.opt.Random
	}
	return rand.Reader
}

// Zxid is the number of the last txn.
func (s *Store) Zxid() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zxid
}

// Len is the number of znodes, the root and ZooKeeper's own included.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Get reads a znode: its data (nil when null) and Stat, or NoNode.
func (s *Store) Get(path string) ([]byte, Stat, Code) { return s.GetW(nil, path) }

// GetW is Get, and arms a one-shot data watch for w if the znode is there.
func (s *Store) GetW(w Watcher, path string) ([]byte, Stat, Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, code := s.read(inProcess, path)
	if code != OK {
		return nil, Stat{}, code
	}
	code = s.arm(w, inProcess, path, bitDataOnce)
	return n.data, n.stat(), code
}

// Exists reads a znode's Stat, or answers NoNode.
func (s *Store) Exists(path string) (Stat, Code) { return s.ExistsW(nil, path) }

// ExistsW is Exists, and arms a one-shot data watch for w, there or not.
func (s *Store) ExistsW(w Watcher, path string) (Stat, Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hasNUL(path) {
		return Stat{}, BadArguments
	}
	n, code := s.read(inProcess, path)
	if code != OK && code != NoNode {
		return Stat{}, code
	}
	if armed := s.arm(w, inProcess, path, bitDataOnce); armed != OK {
		return Stat{}, armed
	}
	if n == nil {
		return Stat{}, code
	}
	return n.stat(), OK
}

// Children lists the names of a znode's children in order, and its Stat.
func (s *Store) Children(path string) ([]string, Stat, Code) { return s.ChildrenW(nil, path) }

// ChildrenW is Children, and arms a one-shot child watch for w.
func (s *Store) ChildrenW(w Watcher, path string) ([]string, Stat, Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, code := s.read(inProcess, path)
	if code != OK {
		return nil, Stat{}, code
	}
	code = s.arm(w, inProcess, path, bitChildOnce)
	return slices.Clone(n.kids.names()), n.stat(), code
}

// Walk visits path and all znodes below it, parents first, children in order,
// at one version of the tree, until visit returns false. visit must not call
// the store. It answers NoNode when path is not there.
func (s *Store) Walk(path string, visit func(path string, data []byte, stat Stat) bool) Code {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, code := s.read(inProcess, path)
	if code != OK {
		return code
	}
	walk(path, n, func(path string, n *node) bool { return visit(path, n.data, n.stat()) })
	return OK
}

// read finds a node that the caller may read.
func (s *Store) read(c *caller, path string) (*node, Code) {
	n := s.find(path)
	if n == nil {
		return nil, NoNode
	}
	if !s.may(c, n.acl, PermRead) {
		return nil, NoAuth
	}
	return n, OK
}
