package zkwatch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/model"
)

// hostile is a server whose frames a test writes byte by byte. The first
// connection gets them; later ones get sound answers, so that it shows whether
// the client lives.
type hostile struct {
	greeting []byte                     // the answer to the handshake; nil: a sound one
	reply    func(xid, op int32) []byte // raw bytes for a request; nil: a sound answer

	mu    sync.Mutex
	conns int
}

const hostileSession = 0x1234

func greeting(timeout int32, session int64, password int) []byte {
	e := &encoder{b: make([]byte, 4)}
	e.int32(0)
	e.int32(timeout)
	e.int64(session)
	e.bytes(make([]byte, password))
	return e.frame()
}

func replyFrame(xid int32, zxid int64, code model.Code, body func(*encoder)) []byte {
	e := &encoder{b: make([]byte, 4)}
	e.int32(xid)
	e.int64(zxid)
	e.int32(int32(code))
	if body != nil {
		body(e)
	}
	return e.frame()
}

func soundStat(e *encoder) { e.b = append(e.b, make([]byte, statSize)...) }

func soundReply(xid, op int32) []byte {
	return replyFrame(xid, 5, model.CodeOK, func(e *encoder) {
		switch op {
		case opGetData:
			e.bytes([]byte("sound"))
			soundStat(e)
		case opExists, opSetData:
			soundStat(e)
		case opGetChildren2:
			e.strs([]string{"b", "a"})
			soundStat(e)
		case opCreate:
			e.str("/x")
		case opMulti:
			for range 2 {
				e.int32(opCheck)
				e.bool(false)
				e.int32(0)
			}
			e.multiHeader(opError, true)
		case opMultiRead:
			e.int32(opGetData)
			e.bool(false)
			e.int32(0)
			e.bytes(nil)
			soundStat(e)
			e.multiHeader(opError, true)
		}
	})
}

func (h *hostile) dial(context.Context, string, string) (net.Conn, error) {
	h.mu.Lock()
	h.conns++
	first := h.conns == 1
	h.mu.Unlock()
	near, far := net.Pipe()
	go h.serve(far, first)
	return near, nil
}

func (h *hostile) serve(c net.Conn, first bool) {
	defer c.Close()
	readFrame := func() []byte {
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return nil
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(c, body); err != nil {
			return nil
		}
		return body
	}
	if readFrame() == nil {
		return
	}
	hello := greeting(2000, hostileSession, 16)
	if first && h.greeting != nil {
		hello = h.greeting
	}
	if _, err := c.Write(hello); err != nil {
		return
	}
	for {
		body := readFrame()
		if body == nil {
			return
		}
		d := decoder{b: body}
		xid, op := d.int32(), d.int32()
		out := soundReply(xid, op)
		if first && h.reply != nil {
			if bad := h.reply(xid, op); bad != nil {
				out = bad
			}
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func raw(n uint32, rest ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, n), rest...)
}

// Each of these kills a process that leaves it to go-zookeeper, or hangs it.
func TestHostileAnswers(t *testing.T) {
	header := func(xid int32) []byte { return replyFrame(xid, 1, 0, nil)[4:] }
	withBody := func(op int32, body func(*encoder)) func(xid, op int32) []byte {
		return func(xid, got int32) []byte {
			if got != op {
				return nil
			}
			return replyFrame(xid, 1, 0, body)
		}
	}
	event := func(body func(*encoder)) func(xid, op int32) []byte {
		return func(xid, op int32) []byte {
			if op != opGetData {
				return nil
			}
			return append(replyFrame(xidEvent, -1, 0, body), soundReply(xid, op)...)
		}
	}
	all := call(get("/a"))
	kids := call(children("/a"))
	stat := call(exists("/a"))
	fenced := call(set("/controller_epoch", "x", 0))
	fenced.Fenced = true
	for name, tc := range map[string]struct {
		call  *model.Call
		reply func(xid, op int32) []byte
		want  string
	}{
		"frame of 8 bytes":        {all, func(xid, op int32) []byte { return raw(8, header(xid)[:8]...) }, "8 bytes long"},
		"frame of 0 bytes":        {all, func(xid, op int32) []byte { return raw(0) }, "0 bytes long"},
		"frame of 4 GiB":          {all, func(xid, op int32) []byte { return raw(0xffffffff) }, "4294967295 bytes long"},
		"frame of 2 GiB":          {all, func(xid, op int32) []byte { return raw(0x7fffffff) }, "2147483647 bytes long"},
		"null vector":             {kids, withBody(opGetChildren2, func(e *encoder) { e.int32(-1); soundStat(e) }), "a null vector"},
		"huge vector":             {kids, withBody(opGetChildren2, func(e *encoder) { e.int32(1 << 30); soundStat(e) }), "a vector of 1073741824"},
		"negative vector":         {kids, withBody(opGetChildren2, func(e *encoder) { e.int32(-5); soundStat(e) }), "a vector of -5"},
		"null name":               {kids, withBody(opGetChildren2, func(e *encoder) { e.int32(1); e.int32(-1); soundStat(e) }), "a null string"},
		"short Stat":              {stat, withBody(opExists, func(e *encoder) { e.int64(0) }), "a Stat of 68 bytes where 8 are left"},
		"no body":                 {all, withBody(opGetData, nil), "where 0 are left"},
		"buffer beyond the end":   {all, withBody(opGetData, func(e *encoder) { e.int32(1 << 30); soundStat(e) }), "a buffer of 1073741824"},
		"negative buffer":         {all, withBody(opGetData, func(e *encoder) { e.int32(-9); soundStat(e) }), "a buffer of -9"},
		"multi cut in a header":   {fenced, withBody(opMulti, func(e *encoder) { e.int32(opCheck) }), "a boolean of 1 bytes where 0 are left"},
		"multi without an end":    {fenced, withBody(opMulti, func(e *encoder) { e.int32(opCheck); e.bool(false); e.int32(0) }), "an int of 4 bytes where 0 are left"},
		"multi with a foreign op": {fenced, withBody(opMulti, func(e *encoder) { e.int32(99); e.bool(false); e.int32(0) }), "an entry of type 99"},
		"unknown xid":             {all, func(xid, op int32) []byte { return replyFrame(xid+77, 1, 0, nil) }, "which is not awaited"},
		"event without a path":    {all, event(func(e *encoder) { e.int32(1); e.int32(3); e.int32(-1) }), "a watch event holds a null string"},
		"event cut short":         {all, event(func(e *encoder) { e.int32(1) }), "a watch event holds"},
		"multiRead of nonsense":   {all, withBody(opMultiRead, func(e *encoder) { e.int32(opGetData); e.bool(false); e.int32(0); e.int32(1 << 30) }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hostile{}
			var mu sync.Mutex
			hurt := false
			h.reply = func(xid, op int32) []byte {
				mu.Lock()
				defer mu.Unlock()
				if hurt || op == opMultiRead && tc.want != "" {
					return nil // once, and not before the session is up
				}
				bad := tc.reply(xid, op)
				hurt = bad != nil
				return bad
			}
			log := newStream[string]()
			c := dialTest(t, Options{Servers: "bad", Dialer: h.dial, Gate: Controller(), Log: log.put})
			within(t, "the call", func() {
				if r := c.Do(tc.call); r.Ops[0].Code != model.CodeOK {
					t.Errorf("result %+v", r)
				}
			})
			var lines []string
			for _, line := range log.drained() {
				lines = append(lines, line)
				if strings.Contains(line, tc.want) && strings.Contains(line, "bad:2181") {
					return
				}
			}
			if tc.want != "" {
				t.Errorf("nothing says %q:\n%s", tc.want, strings.Join(lines, "\n"))
			}
		})
	}
}

func TestHostileMultiRead(t *testing.T) {
	for name, body := range map[string]func(*encoder){
		"too few": func(e *encoder) { e.multiHeader(opError, true) },
		"too many": func(e *encoder) {
			for range 9 {
				e.int32(opError)
				e.bool(false)
				e.int32(-101)
				e.int32(-101)
			}
			e.multiHeader(opError, true)
		},
		"wrong kind": func(e *encoder) { e.int32(opGetChildren); e.bool(false); e.int32(0); e.int32(-1) },
		"cut":        func(e *encoder) { e.int32(opGetData); e.bool(false); e.int32(0); e.int32(1 << 30) },
	} {
		t.Run(name, func(t *testing.T) {
			values := make([]value, 2)
			e := &encoder{}
			body(e)
			err := decodeMultiRead(answer{body: e.b}, make([]read, 2), values)
			if err == nil || !strings.Contains(err.Error(), "multiRead") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestHostileHandshakes(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes []byte
		want  string
	}{
		"short":             {raw(10, make([]byte, 10)...), "a handshake of 10 bytes"},
		"huge":              {raw(0xfffffff0), "a handshake of 4294967280 bytes"},
		"another protocol":  {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), `as which "HTTP" was read`},
		"long":              {raw(5000, make([]byte, 5000)...), "a handshake of 5000 bytes"},
		"timeout 0":         {greeting(0, hostileSession, 16), "a session timeout of 0 ms"},
		"timeout negative":  {greeting(-5, hostileSession, 16), "a session timeout of -5 ms"},
		"long password":     {greeting(2000, hostileSession, 300), "a password of 300 bytes"},
		"password too long": {append(raw(36), append(make([]byte, 16), raw(0x7fffffff, make([]byte, 16)...)...)...), "a buffer of 2147483647"},
		"no session":        {greeting(0, 0, 16), "refuses to open a session"},
	} {
		t.Run(name, func(t *testing.T) {
			log := newStream[string]()
			h := &hostile{greeting: tc.bytes}
			c := dialTest(t, Options{Servers: "bad", Dialer: h.dial, Log: log.put})
			wantCodes(t, c.Do(call(get("/a"))), "OK")
			if lines := log.drained(); !strings.Contains(strings.Join(lines, "\n"), tc.want) {
				t.Errorf("log %q, want %s", lines, tc.want)
			}
		})
	}
}

// A server must not answer for another session than the one that was asked for.
func TestSessionIsNotSwapped(t *testing.T) {
	h := &hostile{greeting: greeting(2000, 99, 16)}
	h.reply = func(xid, op int32) []byte {
		if op == opGetData {
			return raw(0)
		}
		return nil
	}
	c := dialTest(t, Options{Servers: "bad", Dialer: h.dial})
	done := make(chan model.Result, 1)
	go func() { done <- c.Do(call(get("/a"))) }()
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		var pe *ProtocolError
		if err := c.State().Err; errors.As(err, &pe) && strings.Contains(pe.What, "answers for session 0x1234") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := c.State().Err; err == nil || !strings.Contains(err.Error(), "0x63") {
		t.Errorf("error %v", err)
	}
	c.Close()
	within(t, "the call", func() { wantCodes(t, <-done, "SESSIONEXPIRED") })
}

func TestRefusedCredentials(t *testing.T) {
	h := &hostile{reply: func(xid, op int32) []byte {
		if op == opAuth {
			return replyFrame(xid, 0, model.CodeAuthFailed, nil)
		}
		return nil
	}}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := Dial(ctx, Options{Servers: "bad", Dialer: h.dial, Digest: "u:p", SessionTimeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "refuses the digest credentials") {
		t.Errorf("error %v", err)
	}
}

func FuzzReplies(f *testing.F) {
	for _, op := range []int32{opGetData, opExists, opGetChildren2, opMulti, opCreate, opMultiRead} {
		f.Add(op, soundReply(1, op)[4+replyHeaderSize:])
	}
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		_, _ = checkReply(op, body)
		_, _ = parseEvent(body)
		_, _ = parseHandshake(body)
		_ = decodeMultiRead(answer{body: body}, make([]read, 3), make([]value, 3))
		for _, g := range []*Gate{ReadOnly(), Controller(), Admin()} {
			_ = g.admit(op, body, "/k")
		}
	})
}

func TestProtocolErrorNamesTheServer(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", &ProtocolError{Server: "a:1", What: "x"})
	if !strings.Contains(err.Error(), "ZooKeeper a:1: broken frame: x") {
		t.Error(err)
	}
}
