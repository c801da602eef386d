package zkserver

// request is one decoded frame of a client.
type request struct {
	xid    int32
	op     OpCode
	path   string
	watch  bool
	mode   int32      // addWatch; type of remove- and checkWatches
	ops    []Op       // writes
	reads  []readOp   // multiRead
	scheme string     // auth
	blob   []byte     // auth
	since  int64      // setWatches
	rearm  [][]string // setWatches: data, exist, child, persistent, recursive
}

type readOp struct {
	op   OpCode
	path string
}

// decodeRequest reads the body of an operation. Bytes left over are ignored.
// It answers Unimplemented for an unknown op and MarshallingError for a body
// that is short or malformed.
func decodeRequest(r *request, body []byte) Code {
	d := &decoder{b: body}
	switch r.op {
	case OpPing, OpWhoAmI, OpCloseSession:
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpCheck:
		r.ops = []Op{decodeOp(d, r.op)}
		r.path = r.ops[0].Path
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r.path, r.watch = d.path(), d.bool()
	case OpGetACL, OpSync, OpCountChildren:
		r.path = d.path()
	case OpGetEphemerals:
		r.path = d.text()
	case OpCheckWatches, OpRemoveWatches, OpAddWatch:
		r.path, r.mode = d.path(), d.int32()
	case OpMulti:
		decodeMulti(d, r)
	case OpMultiRead:
		decodeMultiRead(d, r)
	case OpReconfig:
		d.text()
		d.text()
		d.text()
		d.int64()
	case OpAuth:
		d.int32()
		r.scheme, r.blob = d.path(), d.buffer()
	case OpSetWatches, OpSetWatches2:
		r.since = d.int64()
		lists := 3
		if r.op == OpSetWatches2 {
			lists = 5
		}
		for range lists {
			r.rearm = append(r.rearm, d.texts())
		}
	case OpSASL:
		d.bad = d.buffer() == nil
	default:
		return Unimplemented
	}
	if d.bad {
		return MarshallingError
	}
	return OK
}

// decodeOp reads the body of a write.
func decodeOp(d *decoder, kind OpCode) Op {
	op := Op{Kind: kind, Path: d.path()}
	switch kind {
	case OpDelete, OpCheck:
		op.Version = d.int32()
	case OpSetData:
		op.Data, op.Version = d.buffer(), d.int32()
	case OpSetACL:
		op.ACL, op.Version = d.acl(), d.int32()
	default:
		op.Data, op.ACL, op.Flags = d.buffer(), d.acl(), d.int32()
		if kind == OpCreateTTL {
			op.TTLMillis = d.int64()
		}
	}
	return op
}

// multiHeader reads the header of a multi's next op; false at its end.
func (d *decoder) multiHeader() (OpCode, bool) {
	op, done := OpCode(d.int32()), d.bool()
	d.int32()
	return op, !done && !d.bad
}

func decodeMulti(d *decoder, r *request) {
	for {
		kind, more := d.multiHeader()
		if !more {
			return
		}
		switch kind {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
			r.ops = append(r.ops, decodeMultiOp(d, kind))
		default:
			d.bad = true
			return
		}
	}
}

// decodeMultiOp reads a write of a multi. Flags of containers and TTL znodes
// decide there what is created, whatever the op.
func decodeMultiOp(d *decoder, kind OpCode) Op {
	op := decodeOp(d, kind)
	switch kind {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		switch {
		case !knownFlags(op.Flags):
			d.bad = d.bad || kind != OpCreateTTL // createTTL is refused in its turn
		case op.Flags == Container:
			op.Kind = OpCreateContainer
		case op.Flags == PersistentTTL || op.Flags == SequentialTTL:
			op.Kind = OpCreateTTL
			d.bad = d.bad || kind != OpCreateTTL
		case kind == OpCreateTTL:
			op.Kind = OpCreate
		}
	}
	return op
}

func decodeMultiRead(d *decoder, r *request) {
	for {
		kind, more := d.multiHeader()
		if !more {
			return
		}
		if kind != OpGetData && kind != OpGetChildren {
			d.bad = true
			return
		}
		r.reads = append(r.reads, readOp{op: kind, path: d.path()})
		d.bool()
	}
}

// question is what an Intercept hook gets to see of the request.
func (r *request) question(session int64, peer string) Request {
	q := Request{Session: session, Peer: peer, Op: r.op, Ops: r.ops}
	if r.path != "" && r.ops == nil {
		q.Paths = []string{r.path}
	}
	for _, read := range r.reads {
		q.Paths = append(q.Paths, read.path)
	}
	return q
}
