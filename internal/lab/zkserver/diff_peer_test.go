package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// diffPeer is one of the two servers of the differential test, with the
// clients that a sequence has there. What its clients get is rendered as lines
// without what may differ: times, session ids, the order of children.
type diffPeer struct {
	name, addr string
	zxid       int64 // the largest seen
	control    *diffConn
	clients    [diffClients]*diffConn
	sessions   map[int64]string // names of the sessions of the sequence, for ephemeralOwner
	lines      []string         // what came in the step at hand
	dropped    bool             // the impostor's victim lost its connection
}

// diffConn is one connection, speaking frames.
type diffConn struct {
	nc      net.Conn
	id      int64
	passwd  []byte
	timeout int32
	xid     int32
}

func (p *diffPeer) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// dial connects and shakes hands; the password counts for a session id only.
// readOnly: with the optional last byte.
func (p *diffPeer) dial(id int64, passwd []byte, millis int32, readOnly bool) (*diffConn, error) {
	nc, err := net.Dial("tcp", p.addr)
	if err != nil {
		return nil, err
	}
	c := &diffConn{nc: nc}
	if passwd == nil {
		passwd = make([]byte, passwdLen)
	}
	hello := putBuffer(putInt64(putInt32(putInt64(putInt32(nil, 0), p.zxid), millis), id), passwd)
	if readOnly {
		hello = putBool(hello, false) // as Java does
	}
	if err := c.frame(hello); err != nil {
		return nil, err
	}
	b, err := c.read()
	if err != nil {
		return nil, err
	}
	d := &decoder{b: b}
	version, timeout := d.int32(), d.int32()
	c.id, c.passwd, c.timeout = d.int64(), d.buffer(), timeout
	p.say("handshake: version %d timeout %d session %v password of %d, %d bytes, bad %v", version, timeout, c.id != 0, len(c.passwd), len(b), d.bad)
	return c, nil
}

func (c *diffConn) frame(body []byte) error {
	c.nc.SetWriteDeadline(time.Now().Add(patience))
	_, err := c.nc.Write(append(putInt32(nil, int32(len(body))), body...))
	return err
}

func (c *diffConn) read() ([]byte, error) {
	c.nc.SetReadDeadline(time.Now().Add(patience))
	return readFrame(c.nc, nil, 0, 1<<30)
}

func (c *diffConn) send(op OpCode, body []byte) error {
	c.xid++
	return c.frame(append(putInt32(putInt32(nil, c.xid), int32(op)), body...))
}

// await takes frames until the reply to the last request or the pong that
// follows a request without one; then came is false.
func (p *diffPeer) await(c *diffConn, who string, op OpCode) (came bool, err error) {
	for {
		b, err := c.read()
		if err != nil {
			return false, err
		}
		d := &decoder{b: b}
		xid, zxid, code := d.int32(), d.int64(), Code(d.int32())
		p.zxid = max(p.zxid, zxid)
		switch {
		case d.bad:
			p.say("%s: a frame of %d bytes: %x", who, len(b), b)
		case xid == -1:
			p.say("%s: event %v state %d %q, zxid %d code %d%s", who, EventType(d.int32()), d.int32(), d.path(), zxid, code, rest(d))
		case xid == -2:
			if op != OpPing {
				return false, nil
			}
			p.say("%s: pong at %d, code %d%s", who, zxid, code, rest(d))
			return true, nil
		default:
			if xid != c.xid {
				p.say("%s: xid %d after request %d", who, xid, c.xid)
			}
			if code == OK {
				p.say("%s: %v at %d: %s", who, op, zxid, p.render(op, d)+rest(d))
			} else {
				p.say("%s: %v at %d: code %d%s", who, op, zxid, code, rest(d))
			}
			return true, nil
		}
	}
}

func rest(d *decoder) string {
	switch {
	case d.bad:
		return " SHORT"
	case len(d.b) > 0:
		return fmt.Sprintf(" and %x", d.b)
	}
	return ""
}

// render is the body of a successful reply.
func (p *diffPeer) render(op OpCode, d *decoder) string {
	switch op {
	case OpCreate, OpSync:
		return fmt.Sprintf("%q", d.path())
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		return fmt.Sprintf("%q %s", d.path(), p.stat(d))
	case OpSetData, OpSetACL, OpExists:
		return p.stat(d)
	case OpGetData:
		data := d.buffer()
		return fmt.Sprintf("%q null %v %s", data, data == nil, p.stat(d))
	case OpGetACL:
		return fmt.Sprint(d.acl(), " ", p.stat(d))
	case OpGetChildren, OpGetEphemerals:
		return fmt.Sprintf("%q", slices.Sorted(slices.Values(d.texts())))
	case OpGetChildren2:
		return fmt.Sprintf("%q %s", slices.Sorted(slices.Values(d.texts())), p.stat(d))
	case OpCountChildren, OpAddWatch:
		return fmt.Sprint(d.int32())
	case OpSASL:
		return fmt.Sprintf("%q", d.buffer())
	case OpWhoAmI:
		var ids []string
		for range d.count(8) {
			ids = append(ids, d.path()+":"+d.path())
		}
		slices.Sort(ids)
		return fmt.Sprint(ids)
	case OpMulti, OpMultiRead:
		return p.entries(d)
	}
	return ""
}

func (p *diffPeer) entries(d *decoder) string {
	var out []string
	for !d.bad {
		op, done, code := OpCode(d.int32()), d.bool(), d.int32()
		if done {
			out = append(out, fmt.Sprintf("end %d %d", op, code))
			break
		}
		if op == -1 {
			out = append(out, fmt.Sprintf("%d %d", code, d.int32()))
		} else {
			out = append(out, fmt.Sprintf("%v %d %s", op, code, p.render(op, d)))
		}
	}
	return "[" + strings.Join(out, "; ") + "]"
}

// stat renders a Stat; of times only whether they are set.
func (p *diffPeer) stat(d *decoder) string {
	st := d.stat()
	owner := "0"
	if st.EphemeralOwner != 0 {
		owner = p.sessions[st.EphemeralOwner]
	}
	return fmt.Sprintf("{c%d m%d p%d v%d cv%d av%d owner %s length %d children %d times %v %v}", st.Czxid, st.Mzxid, st.Pzxid,
		st.Version, st.Cversion, st.Aversion, owner, st.DataLength, st.NumChildren, st.Ctime > 0, st.Mtime > 0)
}

// javaLike clients send the byte readOnly in their handshake.
func javaLike(client int) bool { return client == 1 }

// open starts a session for a client of the sequence.
func (p *diffPeer) open(client int, millis int32) error {
	c, err := p.dial(0, nil, millis, javaLike(client))
	if err != nil {
		return err
	}
	p.clients[client] = c
	p.sessions[c.id] = fmt.Sprintf("session-%d", len(p.sessions))
	return nil
}

// back attaches a client to its session again, by a new connection.
func (p *diffPeer) back(client int) error {
	old := p.clients[client]
	c, err := p.dial(old.id, old.passwd, old.timeout, javaLike(client))
	if err != nil {
		return err
	}
	if c.id != old.id {
		return fmt.Errorf("%s: session 0x%x is not taken back", p.name, old.id)
	}
	p.clients[client] = c
	return nil
}

// ended reads to the end of a connection's stream. A reset is an end too.
func (p *diffPeer) ended(c *diffConn, who string) error {
	b, err := c.read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s: the connection of %s stays open", p.name, who)
	}
	if err == nil {
		p.say("%s: %x instead of the end", who, b)
	}
	c.nc.Close()
	return nil
}

// do takes a step and then hears from the other clients.
func (p *diffPeer) do(s step, root string) (lines []string, err error) {
	p.lines, p.dropped = nil, false
	who := fmt.Sprintf("client %d", s.client)
	c := p.clients[s.client]
	switch s.kind {
	case stepCut:
		c.nc.Close()
		err = p.back(s.client)
	case stepMove:
		if err = p.back(s.client); err == nil {
			err = p.ended(c, who)
		}
	case stepImpostor:
		err = p.impostor(s.client)
	default:
		err = p.request(c, s, root, who)
	}
	if err != nil {
		return p.lines, err
	}
	if s.op == OpCloseSession { // the order of what one session's end deletes is free
		slices.Sort(p.lines)
	}
	for i, other := range p.clients {
		if err := other.frame(putInt32(putInt32(nil, -2), int32(OpPing))); err != nil {
			return p.lines, fmt.Errorf("%s: ping of client %d: %w", p.name, i, err)
		}
	}
	for i, other := range p.clients {
		before := len(p.lines)
		if _, err := p.await(other, fmt.Sprintf("client %d", i), OpPing); err != nil {
			return p.lines, fmt.Errorf("%s: pong of client %d: %w", p.name, i, err)
		}
		if s.op == OpCloseSession {
			slices.Sort(p.lines[before:])
		}
	}
	return p.lines, nil
}

func (p *diffPeer) request(c *diffConn, s step, root, who string) error {
	if err := c.send(s.op, s.body(root, p.zxid)); err != nil {
		return err
	}
	if s.op == OpCheck { // a success has no reply
		if err := c.frame(putInt32(putInt32(nil, -2), int32(OpPing))); err != nil {
			return err
		}
	}
	came, err := p.await(c, who, s.op)
	switch {
	case err == nil && !came:
		p.say("%s: no reply to %v", who, s.op)
	case err == nil && s.op == OpCheck:
		_, err = p.await(c, who, OpCheck) // the pong
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s: no answer to %v within %v", p.name, s, patience)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !isReset(err) {
		return err
	}
	switch {
	case err != nil:
		p.say("%s: closed", who)
		c.nc.Close()
		return p.back(s.client)
	case !s.ends():
		return nil
	}
	if err := p.ended(c, who); err != nil {
		return err
	}
	if s.op == OpCloseSession {
		return p.open(s.client, s.millis)
	}
	return p.back(s.client)
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// impostor tries a client's session with a wrong password, and sees what that
// does to the client.
func (p *diffPeer) impostor(client int) error {
	own := p.clients[client]
	wrong := slices.Clone(own.passwd)
	wrong[0]++
	c, err := p.dial(own.id, wrong, 10_000, javaLike(client))
	if err != nil {
		return err
	}
	if err := p.ended(c, "impostor"); err != nil {
		return err
	}
	err = own.frame(putInt32(putInt32(nil, -2), int32(OpPing)))
	if err == nil {
		_, err = own.read()
	}
	if p.dropped = err != nil; p.dropped && errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	own.nc.Close()
	return p.back(client)
}

// begin starts the clients of a sequence under a fresh root.
func (p *diffPeer) begin(root string) error {
	p.sessions = map[int64]string{}
	if err := p.order(OpCreate, createBody(root, nil, 0)); err != nil {
		return err
	}
	for i := range p.clients {
		if err := p.open(i, 10_000); err != nil {
			return err
		}
	}
	return nil
}

// finish closes the clients' sessions and deletes the root with all below it.
func (p *diffPeer) finish(root string) error {
	for i, c := range p.clients {
		if c == nil {
			continue
		}
		if err := c.send(OpCloseSession, nil); err == nil {
			_, err = p.await(c, fmt.Sprintf("client %d", i), OpCloseSession)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
		}
		c.nc.Close()
	}
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota"} { // may have been written to
		if err := p.order(OpSetACL, aclBody(path, OpenACL, AnyVersion)); err != nil {
			return err
		}
	}
	return p.deleteAll(root)
}

// deleteAll works against any ACL: the control connection is the super user.
func (p *diffPeer) deleteAll(path string) error {
	if err := p.control.send(OpGetChildren, watchBody(path, false)); err != nil {
		return err
	}
	b, err := p.control.read()
	if err != nil {
		return err
	}
	switch code := Code(binary.BigEndian.Uint32(b[12:])); {
	case code == NoNode: // the sequence has deleted it
		return nil
	case code != OK:
		return fmt.Errorf("%s: children of %q: %v", p.name, path, code)
	}
	for _, name := range slices.Sorted(slices.Values((&decoder{b: b[16:]}).texts())) {
		if err := p.deleteAll(join(path, name)); err != nil {
			return err
		}
	}
	return p.order(OpDelete, versionBody(path, AnyVersion))
}

// order is a request of the control connection that must succeed.
func (p *diffPeer) order(op OpCode, body []byte) error {
	p.lines = nil
	if err := p.control.send(op, body); err != nil {
		return err
	}
	b, err := p.control.read()
	if err != nil {
		return err
	}
	p.zxid = max(p.zxid, int64(binary.BigEndian.Uint64(b[4:])))
	if code := Code(binary.BigEndian.Uint32(b[12:])); code != OK {
		return fmt.Errorf("%s: %v of the test's own: %v", p.name, op, code)
	}
	return nil
}

// burn spends zxids until the last one is that, after a sequence in which the
// two servers differed.
func (p *diffPeer) burn(zxid int64) error {
	for p.zxid < zxid {
		if err := p.order(OpSetData, setBody("/burnt", nil, AnyVersion)); err != nil {
			return err
		}
	}
	return nil
}
