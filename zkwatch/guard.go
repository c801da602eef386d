package zkwatch

import (
	"encoding/binary"
	"fmt"

	"kstate/model"
)

// ProtocolError is a frame that no sound server sends. go-zookeeper would panic
// on some of them, or allocate until the process dies; so the connection is
// closed instead, and a server is looked for again.
type ProtocolError struct {
	Server string
	What   string
}

// Error names the server and what is wrong with its frame.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("ZooKeeper %s: broken frame: %s; connection closed", e.Server, e.What)
}

// Bounds of the server's first frame. go-zookeeper encodes the password into a
// buffer of 256 bytes when it reconnects.
const (
	minHandshake = 36
	maxHandshake = 1024
	maxPassword  = 200
)

// handshake is the server's answer to a connect request.
type handshake struct {
	timeoutMillis int32
	session       int64 // 0: the session that was asked for is over
}

func parseHandshake(body []byte) (handshake, error) {
	d := decoder{b: body}
	d.int32() // protocol version
	h := handshake{timeoutMillis: d.int32(), session: d.int64()}
	password := d.buffer()
	switch {
	case d.err != nil:
		return h, fmt.Errorf("the handshake holds %w", d.err)
	case len(password) > maxPassword:
		return h, fmt.Errorf("the handshake holds a password of %d bytes", len(password))
	case h.session != 0 && h.timeoutMillis <= 0:
		return h, fmt.Errorf("the handshake grants a session timeout of %d ms", h.timeoutMillis)
	}
	return h, nil
}

// checkReply finds what go-zookeeper could not decode in the body of a reply
// without an error code. For a multi it also returns the code of each entry.
func checkReply(op int32, body []byte) ([]model.Code, error) {
	d := decoder{b: body}
	var codes []model.Code
	switch op {
	case opGetData:
		d.buffer()
		d.stat()
	case opExists, opSetData:
		d.stat()
	case opGetChildren2:
		d.skipStrs()
		d.stat()
	case opCreate:
		d.raw()
	case opMulti:
		codes = checkMulti(&d)
	case opDelete, opClose:
	default:
		d.fail("an answer to operation %d, which is never sent", op)
	}
	if d.err != nil {
		return nil, errAnswer(op, d.err)
	}
	return codes, nil
}

func checkMulti(d *decoder) []model.Code {
	var codes []model.Code
	for d.err == nil {
		kind, done := d.int32(), d.bool()
		code := model.Code(d.int32())
		if done || d.err != nil {
			break
		}
		switch kind {
		case opError:
			code = model.Code(d.int32())
		case opCreate:
			d.raw()
		case opSetData:
			d.stat()
		case opCheck, opDelete:
		default:
			d.fail("an entry of type %d in a multi", kind)
		}
		codes = append(codes, code)
	}
	return codes
}

// event is what the server says of a watch.
type event struct {
	kind model.WatchKind // 0 for what is none of ours, as the end of a watch
	path string          // as the server has it: chroot included
}

func parseEvent(body []byte) (event, error) {
	d := decoder{b: body}
	kind := d.int32()
	d.int32() // state
	ev := event{path: d.str()}
	if d.err != nil {
		return ev, fmt.Errorf("a watch event holds %w", d.err)
	}
	if kind >= int32(model.NodeCreated) && kind <= int32(model.NodeChildrenChanged) {
		ev.kind = model.WatchKind(kind)
	}
	return ev, nil
}

// frameLength reads and checks the four bytes before a frame.
func frameLength(head []byte, first bool) (int, error) {
	n := int64(binary.BigEndian.Uint32(head))
	switch {
	case first && (n < minHandshake || n > maxHandshake):
		// Another kind of server may have said something readable.
		return 0, fmt.Errorf("a handshake of %d bytes, as which %q was read", n, head[:4])
	case n < replyHeaderSize:
		return 0, fmt.Errorf("%d bytes long, shorter than a header", n)
	case n > maxFrame:
		return 0, fmt.Errorf("%d bytes long, longer than %d", n, maxFrame)
	}
	return int(n), nil
}

var opNames = map[int32]string{
	opCreate: "create", opDelete: "delete", opExists: "exists", opGetData: "getData", opSetData: "setData", opGetACL: "getACL",
	opGetChildren: "getChildren", opSync: "sync", opPing: "ping", opGetChildren2: "getChildren2", opCheck: "check",
	opMulti: "multi", opMultiRead: "multiRead", opAuth: "auth", opSetWatches: "setWatches", opAddWatch: "addWatch", opClose: "closeSession",
}

func opName(op int32) string {
	if n, ok := opNames[op]; ok {
		return n
	}
	return fmt.Sprintf("operation %d", op)
}

func errAnswer(op int32, err error) error {
	return fmt.Errorf("the answer to %s holds %w", opName(op), err)
}
