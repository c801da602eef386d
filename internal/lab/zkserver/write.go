package zkserver

import (
	"fmt"
	"slices"
	"strings"
)

type changeKind uint8

const (
	changeCreate changeKind = iota + 1
	changeDelete
	changeData
	changeACL
)

// change is one thing that a txn did, with what undoes it.
type change struct {
	kind   changeKind
	path   string
	node   *node
	parent *node    // create, delete
	data   []byte   // create, set: what was written
	acl    *aclList // create, setACL

	old       node // what the node was: data, acl, versions
	oldTimed  timedNode
	timed     bool
	parentPz  int64 // the parent's pzxid before
	parentNew int32 // the parent's count of created children before

	before, after *Value // for OnTxn
}

// Apply performs one write for a session (0: for nobody, no ephemerals) and
// gives its result and zxid. A refused write takes a zxid too.
func (s *Store) Apply(session int64, op Op) (OpResult, int64) {
	res, zxid := s.writeInProcess(session, op.Kind, []Op{op})
	return res[0], zxid
}

// Multi performs all ops or none. Without failure every Code is OK. Else the
// ops before the failed one have Code OK though nothing was done, the failed
// one has its own, those after it RuntimeInconsistency.
func (s *Store) Multi(session int64, ops []Op) ([]OpResult, int64) {
	return s.writeInProcess(session, OpMulti, ops)
}

func (s *Store) writeInProcess(session int64, kind OpCode, ops []Op) ([]OpResult, int64) {
	c := &caller{session: session, trusted: true}
	v := s.intercept(Request{Session: session, Op: kind, Ops: ops})
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.Cut == CutBefore {
		return failAt(ops, 0, ConnectionLoss), s.zxid
	}
	res, zxid := s.write(c, kind, ops, v)
	if v.Cut == CutAfter || v.DropReply {
		return failAt(ops, 0, ConnectionLoss), zxid
	}
	return res, zxid
}

// failAt is the result list of a write that failed at op k.
func failAt(ops []Op, k int, code Code) []OpResult {
	res := make([]OpResult, len(ops))
	for i := k; i < len(res); i++ {
		res[i].Code = RuntimeInconsistency
	}
	if k < len(res) {
		res[k].Code = code
	}
	return res
}

// write performs a client's txn. The lock is held.
func (s *Store) write(c *caller, kind OpCode, ops []Op, v Verdict) ([]OpResult, int64) {
	s.begin()
	zxid := s.tx.zxid
	res := s.attempt(c, ops, v)
	code := OK
	for _, r := range res {
		if r.Code != OK && r.Code != RuntimeInconsistency {
			code = r.Code
		}
	}
	info := Txn{Kind: TxnRequest, Session: c.session, Op: kind, Code: code, Ops: ops, Results: res}
	if !s.commit(&info) {
		res = failAt(ops, 0, SystemError)
	}
	return res, zxid
}

// attempt applies ops in order; on the first failure nothing is left of them.
func (s *Store) attempt(c *caller, ops []Op, v Verdict) []OpResult {
	if v.Code != OK {
		return failAt(ops, min(max(v.At, 0), max(len(ops)-1, 0)), v.Code)
	}
	if c.session != 0 && s.sessions[c.session] == nil {
		return failAt(ops, 0, SessionExpired)
	}
	done := false
	defer func() {
		if !done {
			s.undo()
		}
	}()
	res := make([]OpResult, len(ops))
	for i := range ops {
		res[i] = s.apply(c, &ops[i])
		if code := res[i].Code; code != OK {
			return failAt(ops, i, code)
		}
	}
	done = true
	return res
}

// begin starts a txn: it has its zxid whatever comes of it.
func (s *Store) begin() {
	s.now = s.clock()
	s.zxid++
	s.tx.zxid = s.zxid
	s.tx.millis = s.now.UnixMilli()
	clear(s.tx.changes)
	s.tx.changes = s.tx.changes[:0]
}

// commit logs the txn, tells OnTxn and fires the events. It is false when the
// log refused; then the txn is undone.
func (s *Store) commit(info *Txn) bool {
	if !s.appendLog(info) {
		s.undo()
		return false
	}
	defer s.publish(s.tx.changes) // watchers hear of it even if the hook panics
	if s.opt.OnTxn != nil {
		info.Zxid, info.At = s.tx.zxid, s.now
		for i := range s.tx.changes {
			c := &s.tx.changes[i]
			info.Changes = append(info.Changes, Change{Path: c.path, Before: c.before, After: c.after})
		}
		s.opt.OnTxn(*info)
	}
	return true
}

// apply performs one op of the txn at work.
func (s *Store) apply(c *caller, op *Op) OpResult {
	switch op.Kind {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		return s.create(c, op)
	case OpDelete:
		return OpResult{Code: s.delete(c, op)}
	case OpSetData:
		return s.setData(c, op)
	case OpSetACL:
		return s.setACL(c, op)
	case OpCheck:
		return OpResult{Code: s.checkVersion(c, op)}
	}
	return OpResult{Code: Unimplemented}
}

// maxTTL is the longest time to live that fits ZooKeeper's owner field.
const maxTTL = 0x00ff_ffff_ffff

// knownFlags tells whether the flags of a create are any that there are.
func knownFlags(flags int32) bool { return flags >= Persistent && flags <= SequentialTTL }

// flagsOK tells whether the flags are known and fit the op. A createContainer
// makes a container whatever they say.
func flagsOK(op *Op) bool {
	switch op.Flags {
	case Persistent, Ephemeral, Sequential, EphemeralSequential, Container:
		return op.Kind != OpCreateTTL
	case PersistentTTL, SequentialTTL:
		return op.Kind == OpCreateTTL && op.TTLMillis > 0 && op.TTLMillis <= maxTTL
	}
	return false
}

// create makes a znode. The order of the refusals is ZooKeeper's: it decides
// which one a client sees.
func (s *Store) create(c *caller, op *Op) OpResult {
	fail := func(code Code) OpResult { return OpResult{Code: code} }
	parentPath, _, slash := splitPath(op.Path)
	if !flagsOK(op) || !slash || hasNUL(op.Path) {
		return fail(BadArguments)
	}
	acl := s.acceptACL(c, op.ACL)
	if acl == nil {
		return fail(InvalidACL)
	}
	parent := s.find(parentPath)
	if parent == nil {
		return fail(NoNode)
	}
	if !s.may(c, parent.acl, PermCreate) {
		return fail(NoAuth)
	}
	path := op.Path
	if op.Flags == Sequential || op.Flags == EphemeralSequential || op.Flags == SequentialTTL {
		path += fmt.Sprintf("%010d", parent.created)
	}
	if !validPath(path) {
		return fail(BadArguments)
	}
	_, name, _ := splitPath(path)
	if path == "/" || parent.kids.get(name) != nil {
		return fail(NodeExists)
	}
	if parent.owner != 0 {
		return fail(NoChildrenEphemerals)
	}
	if s.count >= s.opt.Limits.Nodes || s.bytes+int64(len(path)+len(op.Data)+acl.bytes) > s.opt.Limits.Bytes {
		return fail(QuotaExceeded)
	}
	n := &node{
		name: strings.Clone(name), data: op.Data, acl: acl,
		czxid: s.tx.zxid, mzxid: s.tx.zxid, pzxid: s.tx.zxid, ctime: s.tx.millis, mtime: s.tx.millis,
	}
	if (op.Flags == Ephemeral || op.Flags == EphemeralSequential) && op.Kind != OpCreateContainer {
		if c.session == 0 {
			return fail(SessionExpired)
		}
		n.owner = c.session
	}
	timed := timedNode{path: path, ttlMillis: op.TTLMillis}
	s.addNode(path, parent, n, op.Kind == OpCreateContainer || op.Kind == OpCreateTTL, timed)
	return OpResult{Path: path, Stat: n.stat()}
}

// addNode attaches a new node and records the change.
func (s *Store) addNode(path string, parent, n *node, timed bool, tn timedNode) {
	ch := change{kind: changeCreate, path: path, node: n, parent: parent, data: n.data, acl: n.acl,
		parentPz: parent.pzxid, parentNew: parent.created, timed: timed, oldTimed: tn}
	parent.created++
	parent.pzxid = s.tx.zxid
	s.plant(&ch)
	if s.opt.OnTxn != nil {
		ch.after = n.value()
	}
	s.tx.changes = append(s.tx.changes, ch)
}

// plant puts the node of a change into the tree and the side tables.
func (s *Store) plant(ch *change) {
	n := ch.node
	ch.parent.attach(n)
	s.count++
	s.bytes += n.weight(ch.path)
	if n.owner != 0 {
		own := s.sessions[n.owner]
		if own.ephemerals == nil {
			own.ephemerals = map[string]struct{}{}
		}
		own.ephemerals[ch.path] = struct{}{}
	}
	if ch.timed {
		s.timed[n] = ch.oldTimed
	}
}

// uproot is the opposite of plant.
func (s *Store) uproot(ch *change) {
	n := ch.node
	ch.parent.detach(n.name)
	s.count--
	s.bytes -= n.weight(ch.path)
	if own := s.sessions[n.owner]; own != nil {
		delete(own.ephemerals, ch.path)
	}
	delete(s.timed, n)
}

func (s *Store) delete(c *caller, op *Op) Code {
	parentPath, name, slash := splitPath(op.Path)
	if !slash || hasNUL(op.Path) || protected(op.Path) {
		return BadArguments
	}
	parent := s.find(parentPath)
	if parent == nil {
		return NoNode
	}
	if !s.may(c, parent.acl, PermDelete) {
		return NoAuth
	}
	n := parent.kids.get(name)
	switch {
	case n == nil:
		return NoNode
	case op.Version != AnyVersion && op.Version != n.version:
		return BadVersion
	case n.kids.count() > 0:
		return NotEmpty
	}
	s.removeNode(op.Path, parent, n)
	return OK
}

// removeNode detaches a childless node and records the change.
func (s *Store) removeNode(path string, parent, n *node) {
	ch := change{kind: changeDelete, path: path, node: n, parent: parent,
		parentPz: parent.pzxid, parentNew: parent.created}
	ch.oldTimed, ch.timed = s.timed[n]
	if s.opt.OnTxn != nil {
		ch.before = n.value()
	}
	s.uproot(&ch)
	parent.pzxid = s.tx.zxid
	s.tx.changes = append(s.tx.changes, ch)
}

func (s *Store) setData(c *caller, op *Op) OpResult {
	if !validPath(op.Path) {
		return OpResult{Code: BadArguments}
	}
	n := s.find(op.Path)
	switch {
	case n == nil:
		return OpResult{Code: NoNode}
	case !s.may(c, n.acl, PermWrite):
		return OpResult{Code: NoAuth}
	case op.Version != AnyVersion && op.Version != n.version:
		return OpResult{Code: BadVersion}
	case s.bytes+int64(len(op.Data)-len(n.data)) > s.opt.Limits.Bytes:
		return OpResult{Code: QuotaExceeded}
	}
	s.writeData(op.Path, n, op.Data)
	return OpResult{Stat: n.stat()}
}

// writeData stores new data in a node and records the change.
func (s *Store) writeData(path string, n *node, data []byte) {
	ch := change{kind: changeData, path: path, node: n, data: data, old: *n}
	if s.opt.OnTxn != nil {
		ch.before = n.value()
	}
	s.bytes += int64(len(data) - len(n.data))
	n.data = data
	n.version++
	if n.version == AnyVersion {
		n.version = 0 // -1 would match nothing but "any"
	}
	n.mzxid, n.mtime = s.tx.zxid, s.tx.millis
	if s.opt.OnTxn != nil {
		ch.after = n.value()
	}
	s.tx.changes = append(s.tx.changes, ch)
}

func (s *Store) setACL(c *caller, op *Op) OpResult {
	if !validPath(op.Path) {
		return OpResult{Code: BadArguments}
	}
	acl := s.acceptACL(c, op.ACL)
	if acl == nil {
		return OpResult{Code: InvalidACL}
	}
	n := s.find(op.Path)
	switch {
	case n == nil:
		return OpResult{Code: NoNode}
	case !s.may(c, n.acl, PermAdmin):
		return OpResult{Code: NoAuth}
	case op.Version != AnyVersion && op.Version != n.aversion:
		return OpResult{Code: BadVersion}
	case s.bytes+int64(acl.bytes-n.acl.bytes) > s.opt.Limits.Bytes:
		return OpResult{Code: QuotaExceeded}
	}
	s.writeACL(op.Path, n, acl)
	return OpResult{Stat: n.stat()}
}

// writeACL stores a new list in a node and records the change.
func (s *Store) writeACL(path string, n *node, acl *aclList) {
	ch := change{kind: changeACL, path: path, node: n, acl: acl, old: *n}
	if s.opt.OnTxn != nil {
		ch.before = n.value()
	}
	s.bytes += int64(acl.bytes - n.acl.bytes)
	n.acl = acl
	n.aversion++
	if s.opt.OnTxn != nil {
		ch.after = n.value()
	}
	s.tx.changes = append(s.tx.changes, ch)
}

func (s *Store) checkVersion(c *caller, op *Op) Code {
	if !validPath(op.Path) {
		return BadArguments
	}
	n := s.find(op.Path)
	switch {
	case n == nil:
		return NoNode
	case !s.may(c, n.acl, PermRead):
		return NoAuth
	case op.Version != AnyVersion && op.Version != n.version:
		return BadVersion
	}
	return OK
}

// undo takes back the changes of the txn at work, last first.
func (s *Store) undo() {
	for i := len(s.tx.changes) - 1; i >= 0; i-- {
		ch := &s.tx.changes[i]
		switch ch.kind {
		case changeCreate:
			s.uproot(ch)
			ch.parent.pzxid, ch.parent.created = ch.parentPz, ch.parentNew
		case changeDelete:
			s.plant(ch)
			ch.parent.pzxid = ch.parentPz
		case changeData:
			s.bytes += int64(len(ch.old.data) - len(ch.node.data))
			ch.node.data, ch.node.version = ch.old.data, ch.old.version
			ch.node.mzxid, ch.node.mtime = ch.old.mzxid, ch.old.mtime
		case changeACL:
			s.bytes += int64(ch.old.acl.bytes - ch.node.acl.bytes)
			ch.node.acl, ch.node.aversion = ch.old.acl, ch.old.aversion
		}
	}
	s.tx.changes = s.tx.changes[:0]
}

// Sweep removes containers that have lost their last child and TTL znodes that
// nobody has set for longer than their time to live, one txn each, and tells
// how many. A Server calls it about once a minute.
func (s *Store) Sweep() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock().UnixMilli()
	var due []string
	for n, tn := range s.timed {
		if n.kids.count() > 0 {
			continue
		}
		if tn.ttlMillis == 0 && n.created > 0 || tn.ttlMillis > 0 && now-n.mtime > tn.ttlMillis {
			due = append(due, tn.path)
		}
	}
	slices.Sort(due)
	for _, path := range due {
		parentPath, name, _ := splitPath(path)
		parent := s.find(parentPath)
		s.begin()
		s.removeNode(path, parent, parent.kids.get(name))
		s.commit(&Txn{Kind: TxnSweep, Op: OpDelete, Ops: []Op{Delete(path, AnyVersion)}, Results: make([]OpResult, 1)})
	}
	return len(due)
}
