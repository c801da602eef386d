package zkserver

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// rawClient speaks frames: it shows what is on the wire, in order, and can say
// what no real client would. It knows nothing of the server but its address, so
// the same script can run against any ZooKeeper.
type rawClient struct {
	t      testing.TB
	nc     net.Conn
	xid    int32
	id     int64
	passwd []byte
	millis int32
}

// patience bounds every wait of a test for something that must come.
const patience = 20 * time.Second

// serveStore starts a server for a store.
func serveStore(t testing.TB, store *Store, change ...func(*ServerOptions)) *Server {
	t.Helper()
	var o ServerOptions
	for _, f := range change {
		f(&o)
	}
	s := NewServer(store, o)
	t.Cleanup(func() { s.Close() })
	return s
}

// listening starts a server with its own store on a loopback port.
func listening(t testing.TB, change ...func(*Options)) (*Server, string) {
	t.Helper()
	store, _ := quietStore(t, change...)
	store.opt.Now = nil // expiry by the real clock
	s := serveStore(t, store)
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, addr.String()
}

func rawDial(t testing.TB, addr string) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &rawClient{t: t, nc: nc}
}

// connected is a client with a new session of 10 s.
func connected(t testing.TB, addr string) *rawClient {
	t.Helper()
	c := rawDial(t, addr)
	c.connect(0, 40_000, 0, nil)
	return c
}

func (c *rawClient) write(b []byte) {
	c.t.Helper()
	c.nc.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

func (c *rawClient) frame(body []byte) {
	c.t.Helper()
	c.write(append(putInt32(nil, int32(len(body))), body...))
}

// read is the next frame's body, or the error that ends the stream.
func (c *rawClient) read() ([]byte, error) {
	c.nc.SetReadDeadline(time.Now().Add(patience))
	b, err := readFrame(c.nc, nil, 0, 1<<30)
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		c.t.Helper()
		c.t.Fatalf("nothing came for %v", patience)
	}
	return b, err
}

// connect shakes hands and keeps what the server granted.
func (c *rawClient) connect(lastZxid int64, millis int32, id int64, passwd []byte) {
	c.t.Helper()
	if passwd == nil {
		passwd = make([]byte, 16)
	}
	b := putInt64(putInt32(nil, 0), lastZxid)
	c.frame(putBuffer(putInt64(putInt32(b, millis), id), passwd))
	b, err := c.read()
	if err != nil {
		c.t.Fatalf("handshake: %v", err)
	}
	d := &decoder{b: b}
	d.int32()
	c.millis, c.id, c.passwd = d.int32(), d.int64(), d.buffer()
	if d.bad || len(b) != 36 {
		c.t.Fatalf("handshake reply %x", b)
	}
}

// send writes one request and gives its xid.
func (c *rawClient) send(op OpCode, body []byte) int32 {
	c.t.Helper()
	c.xid++
	c.frame(append(putInt32(putInt32(nil, c.xid), int32(op)), body...))
	return c.xid
}

// answer is one frame from the server, taken apart.
type answer struct {
	xid  int32
	zxid int64
	code Code
	body []byte
}

func (c *rawClient) next() answer {
	c.t.Helper()
	b, err := c.read()
	if err != nil {
		c.t.Fatalf("no reply: %v", err)
	}
	if len(b) < 16 {
		c.t.Fatalf("frame of %d bytes after the handshake: %x", len(b), b)
	}
	d := &decoder{b: b}
	return answer{d.int32(), d.int64(), Code(d.int32()), d.b}
}

// call sends a request and takes its reply; events before it are an error.
func (c *rawClient) call(op OpCode, body []byte) answer {
	c.t.Helper()
	xid := c.send(op, body)
	a := c.next()
	if a.xid != xid && op != OpPing {
		c.t.Fatalf("%v: xid %d came instead of %d: %v", op, a.xid, xid, a)
	}
	if a.code != OK && len(a.body) > 0 {
		c.t.Errorf("%v: code %v with a body %x", op, a.code, a.body)
	}
	return a
}

// want calls and demands a code.
func (c *rawClient) want(code Code, op OpCode, body []byte) answer {
	c.t.Helper()
	a := c.call(op, body)
	if a.code != code {
		c.t.Fatalf("%v: %v, want %v", op, a.code, code)
	}
	return a
}

// event is the next frame, which has to be an event.
func (c *rawClient) event() string {
	c.t.Helper()
	a := c.next()
	d := &decoder{b: a.body}
	kind, state, path := EventType(d.int32()), d.int32(), d.path()
	if a.xid != -1 || a.zxid != -1 || a.code != OK || state != 3 || d.bad || len(d.b) > 0 {
		c.t.Fatalf("not an event: %+v", a)
	}
	return fmt.Sprint(kind, " ", path)
}

func (c *rawClient) wantEvents(want ...string) {
	c.t.Helper()
	for _, w := range want {
		if got := c.event(); got != w {
			c.t.Fatalf("event %q, want %q", got, w)
		}
	}
}

// wantClosed demands the end of the stream, without another frame.
func (c *rawClient) wantClosed() {
	c.t.Helper()
	if b, err := c.read(); err == nil {
		c.t.Fatalf("a frame instead of the end: %x", b)
	}
}

// quiet demands that nothing is on the way: a ping is answered next.
func (c *rawClient) quiet() {
	c.t.Helper()
	if a := c.call(OpPing, nil); a.xid != -2 {
		c.t.Fatalf("something came before the ping's answer: %+v", a)
	}
}

// Bodies of requests.

func createBody(path string, data []byte, flags int32) []byte {
	return putInt32(putACL(putBuffer(putText(nil, path), data), OpenACL), flags)
}

func createACLBody(path string, acl []ACL) []byte {
	return putInt32(putACL(putBuffer(putText(nil, path), nil), acl), 0)
}

func ttlBody(path string, flags int32, millis int64) []byte {
	return putInt64(createBody(path, nil, flags), millis)
}

func setBody(path string, data []byte, version int32) []byte {
	return putInt32(putBuffer(putText(nil, path), data), version)
}

func versionBody(path string, version int32) []byte { return putInt32(putText(nil, path), version) }
func watchBody(path string, watch bool) []byte      { return putBool(putText(nil, path), watch) }
func pathBody(path string) []byte                   { return putText(nil, path) }

func authBody(scheme, blob string) []byte {
	return putBuffer(putText(putInt32(nil, 0), scheme), []byte(blob))
}

func aclBody(path string, acl []ACL, version int32) []byte {
	return putInt32(putACL(putText(nil, path), acl), version)
}

func setWatchesBody(since int64, lists ...[]string) []byte {
	b := putInt64(nil, since)
	for _, l := range lists {
		b = putTexts(b, l)
	}
	return b
}

// part is one op of a multi with its body.
type part struct {
	op   OpCode
	body []byte
}

func multiBody(parts ...part) []byte {
	var b []byte
	for _, p := range parts {
		b = append(putMultiHeader(b, p.op, false, -1), p.body...)
	}
	return putMultiHeader(b, -1, true, -1)
}

// stat reads a Stat.
func (d *decoder) stat() Stat {
	return Stat{
		Czxid: d.int64(), Mzxid: d.int64(), Ctime: d.int64(), Mtime: d.int64(),
		Version: d.int32(), Cversion: d.int32(), Aversion: d.int32(), EphemeralOwner: d.int64(),
		DataLength: d.int32(), NumChildren: d.int32(), Pzxid: d.int64(),
	}
}

// unhex reads hex digits with blanks between them.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func wantBytes(t testing.TB, what string, got []byte, want string) {
	t.Helper()
	if !bytes.Equal(got, unhex(want)) {
		t.Errorf("%s\n got %x\nwant %x", what, got, unhex(want))
	}
}

// word sends a four-letter word and reads the answer to its end.
func word(t testing.TB, addr, w string) string {
	t.Helper()
	c := rawDial(t, addr)
	c.write([]byte(w))
	c.nc.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(c.nc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
