package zkserver

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxIdentities bounds what auth requests can pile up on one connection.
const maxIdentities = 100

// handle does one request and queues its reply. A reason means that the
// connection ends, after what is queued has left.
func (c *conn) handle(frame []byte) (reason string) {
	d := &decoder{b: frame}
	r := &request{xid: d.int32(), op: OpCode(d.int32())}
	code := decodeRequest(r, d.b)
	var v Verdict
	if c.store.opt.Intercept != nil && r.op != OpPing && code == OK {
		v = c.store.intercept(r.question(c.who.session, c.peer))
		c.hold(v)
	}
	if v.Cut == CutBefore {
		c.shut("cut by a fault before %v %s", r.op, r.path)
		return "cut"
	}
	start := time.Now()
	reason = c.do(r, code, v)
	c.server.stats.latency(time.Since(start))
	if v.Cut == CutAfter {
		c.shut("cut by a fault after %v %s", r.op, r.path)
		return "cut"
	}
	return reason
}

// hold waits as a verdict demands, and keeps the session alive meanwhile: the
// silence is the server's.
func (c *conn) hold(v Verdict) {
	if v.Delay <= 0 && v.Hold == nil {
		return
	}
	s := c.store
	s.mu.Lock()
	own := s.sessions[c.who.session]
	if own != nil {
		own.held++
	}
	s.mu.Unlock()
	c.out.flush() // earlier replies are not held
	if v.Delay > 0 {
		t := time.NewTimer(v.Delay)
		select {
		case <-t.C:
		case <-c.done:
			t.Stop()
		}
	}
	if v.Hold != nil {
		select {
		case <-v.Hold:
		case <-c.done:
		}
	}
	s.mu.Lock()
	if own != nil {
		own.held--
		s.touch(own)
	}
	s.mu.Unlock()
}

// do performs a request in one critical section: the change, its events to all
// watchers, then the reply. So no client can read a change before its event.
func (c *conn) do(r *request, code Code, v Verdict) (reason string) {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.sessions[c.who.session]
	if own == nil || own.conn != c {
		return "its session ended or moved"
	}
	s.touch(own)
	c.serving, c.mute = true, v.DropReply || v.Cut == CutAfter
	defer func() { c.serving, c.mute = false, false }()

	if code == Unimplemented {
		c.reply(r.xid, -1, Unimplemented, nil)
		return fmt.Sprintf("unknown %v", r.op)
	}
	if code == MarshallingError && (r.op == OpAuth || r.op == OpSASL) {
		return fmt.Sprintf("malformed %v", r.op)
	}
	if code == OK && v.Code != OK && len(r.ops) == 0 {
		code = v.Code // a write's verdict goes with the write
	}
	if code != OK {
		zxid := s.zxid
		if r.op.costsZxid() && r.op != OpReconfig {
			zxid = s.refuse(c.who, r, code)
		}
		c.reply(r.xid, zxid, code, nil)
		return ""
	}
	switch r.op {
	case OpPing:
		c.reply(-2, s.zxid, OK, nil)
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpCheck:
		c.write(r, v)
	case OpMulti:
		c.multi(r, v)
	case OpReconfig:
		c.reply(r.xid, s.refuse(c.who, r, ReconfigDisabled), ReconfigDisabled, nil)
	case OpCloseSession:
		if !s.endSession(own.id, TxnCloseSession) {
			c.reply(r.xid, s.zxid, SystemError, nil)
			return ""
		}
		c.reply(r.xid, s.zxid, OK, nil)
		return "the client closed its session"
	case OpAuth:
		return c.auth(r)
	case OpSASL:
		c.reply(r.xid, 0, OK, func(b []byte) []byte { return putBuffer(b, nil) })
	case OpSetWatches, OpSetWatches2, OpAddWatch, OpCheckWatches, OpRemoveWatches:
		c.watchOp(r)
	default:
		c.readOp(r)
	}
	return ""
}

// refuse spends the zxid of a write that is not even tried.
func (s *Store) refuse(who *caller, r *request, code Code) int64 {
	s.begin()
	s.commit(&Txn{Kind: TxnRequest, Session: who.session, Op: r.op, Code: code, Ops: r.ops, Results: failAt(r.ops, 0, code)})
	return s.zxid
}

func (c *conn) write(r *request, v Verdict) {
	results, zxid := c.store.write(c.who, r.op, r.ops, v)
	res := &results[0]
	c.reply(r.xid, zxid, res.Code, func(b []byte) []byte { return putResult(b, r.op, res) })
}

// putResult is the body of one successful write.
func putResult(b []byte, kind OpCode, res *OpResult) []byte {
	switch kind {
	case OpCreate:
		return putText(b, res.Path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		return putStat(putText(b, res.Path), &res.Stat)
	case OpSetData, OpSetACL:
		return putStat(b, &res.Stat)
	}
	return b
}

// multi answers with header code OK in any case; a refusal is in the entries.
func (c *conn) multi(r *request, v Verdict) {
	results, zxid := c.store.write(c.who, r.op, r.ops, v)
	refused := slices.ContainsFunc(results, func(res OpResult) bool { return res.Code != OK })
	c.reply(r.xid, zxid, OK, func(b []byte) []byte {
		for i := range results {
			if refused {
				b = putMultiError(b, results[i].Code)
				continue
			}
			kind := r.ops[i].Kind
			if kind == OpCreateContainer || kind == OpCreateTTL {
				kind = OpCreate2
			}
			b = putResult(putMultiHeader(b, kind, false, OK), kind, &results[i])
		}
		return putMultiHeader(b, -1, true, -1)
	})
}

func putMultiError(b []byte, code Code) []byte {
	return putInt32(putMultiHeader(b, -1, false, code), int32(code))
}

func (c *conn) auth(r *request) (reason string) {
	if len(c.who.ids) >= maxIdentities || !c.store.authenticate(c.who, r.scheme, r.blob) {
		c.reply(r.xid, 0, AuthFailed, nil)
		return fmt.Sprintf("auth with scheme %q failed", r.scheme)
	}
	c.reply(r.xid, 0, OK, nil)
	return ""
}

func (c *conn) watchOp(r *request) {
	s := c.store
	var code Code
	var body func([]byte) []byte
	switch r.op {
	case OpAddWatch:
		bits := bitDataStay | bitChildStay
		if r.mode == 1 {
			bits |= bitRecursive
		}
		switch {
		case r.mode != 0 && r.mode != 1:
			code = MarshallingError
		default:
			code = s.arm(c, c.who, r.path, bits)
		}
		body = func(b []byte) []byte { return putInt32(b, 0) }
	case OpCheckWatches, OpRemoveWatches:
		code = s.disarm(c, r.path, r.mode, r.op == OpCheckWatches)
	default:
		code = s.rearm(c, c.who, r.since, r.rearm[0], r.rearm[1], r.rearm[2])
		for i, lists := 3, r.rearm; code == OK && i < len(lists); i++ {
			bits := bitDataStay | bitChildStay
			if i == 4 {
				bits |= bitRecursive
			}
			for _, path := range lists[i] {
				if code == OK {
					code = s.arm(c, c.who, path, bits)
				}
			}
		}
	}
	c.reply(r.xid, s.zxid, code, body)
}

// readOp answers the reads. A watch is armed in the same critical section, and
// only if the read succeeds or is an exists of a missing znode.
func (c *conn) readOp(r *request) {
	s := c.store
	fail := func(code Code) { c.reply(r.xid, s.zxid, code, nil) }
	ok := func(body func([]byte) []byte) { c.reply(r.xid, s.zxid, OK, body) }
	switch r.op {
	case OpMultiRead:
		body, code := c.multiRead(r.reads)
		c.reply(r.xid, s.zxid, code, func(b []byte) []byte { return append(b, body...) })
		return
	case OpWhoAmI:
		ok(c.whoAmI)
		return
	case OpGetEphemerals:
		paths := slices.DeleteFunc(s.sessions[c.who.session].owned(), func(p string) bool { return !strings.HasPrefix(p, r.path) })
		ok(func(b []byte) []byte { return putTexts(b, paths) })
		return
	case OpSync:
		ok(func(b []byte) []byte { return putText(b, r.path) })
		return
	case OpGetACL:
		c.getACL(r)
		return
	}
	n, code := s.read(c.who, r.path)
	if r.op == OpExists && hasNUL(r.path) {
		code = BadArguments
	}
	if r.watch && (code == OK || code == NoNode && r.op == OpExists) {
		bit := bitDataOnce
		if r.op == OpGetChildren || r.op == OpGetChildren2 {
			bit = bitChildOnce
		}
		if armed := s.arm(c, c.who, r.path, bit); armed != OK {
			code = armed
		}
	}
	if code != OK {
		fail(code)
		return
	}
	ok(func(b []byte) []byte { return putNode(b, r.op, n) })
}

// putNode is the body of a read.
func putNode(b []byte, op OpCode, n *node) []byte {
	stat := n.stat()
	switch op {
	case OpExists:
		return putStat(b, &stat)
	case OpGetData:
		return putStat(putBuffer(b, n.data), &stat)
	case OpGetChildren:
		return putTexts(b, n.kids.names())
	case OpGetChildren2:
		return putStat(putTexts(b, n.kids.names()), &stat)
	case OpCountChildren:
		return putInt32(b, int32(n.below()))
	}
	return b
}

// below counts the znodes under a node.
func (n *node) below() int {
	total := n.kids.count()
	if total == 0 {
		return 0
	}
	for _, kid := range n.kids.list {
		total += kid.below()
	}
	for _, kid := range n.kids.byName {
		total += kid.below()
	}
	return total
}

func (c *conn) getACL(r *request) {
	s := c.store
	n := s.find(r.path)
	switch {
	case n == nil:
		c.reply(r.xid, s.zxid, NoNode, nil)
	case !s.may(c.who, n.acl, PermRead|PermAdmin):
		c.reply(r.xid, s.zxid, NoAuth, nil)
	default:
		entries, stat := n.acl.entries, n.stat()
		if !s.may(c.who, n.acl, PermAdmin) {
			entries = masked(entries)
		}
		c.reply(r.xid, s.zxid, OK, func(b []byte) []byte { return putStat(putACL(b, entries), &stat) })
	}
}

// multiRead answers each op on its own, all at one version of the tree. Reading
// one large znode over and over could ask for any number of bytes: it is
// refused past MaxBacklog.
func (c *conn) multiRead(reads []readOp) ([]byte, Code) {
	var b []byte
	for _, read := range reads {
		n, code := c.store.read(c.who, read.path)
		if code != OK {
			b = putMultiError(b, code)
			continue
		}
		b = putNode(putMultiHeader(b, read.op, false, OK), read.op, n)
		if len(b) > c.server.opt.MaxBacklog {
			return nil, QuotaExceeded
		}
	}
	return putMultiHeader(b, -1, true, -1), OK
}

func (c *conn) whoAmI(b []byte) []byte {
	b = putInt32(b, int32(len(c.who.ids)))
	for _, id := range c.who.ids {
		user := id.id
		if id.scheme == "digest" {
			user, _, _ = strings.Cut(user, ":")
		}
		b = putText(putText(b, id.scheme), user)
	}
	return b
}
