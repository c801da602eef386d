package zkserver

import (
	"fmt"
	"time"
)

// connectRequest is a client's first frame.
type connectRequest struct {
	lastZxid    int64
	timeout     time.Duration
	session     int64
	passwd      []byte
	hasReadOnly bool // clients before 3.4, and go-zookeeper, leave the byte out
}

func decodeConnect(frame []byte) (connectRequest, bool) {
	d := &decoder{b: frame}
	d.int32()
	r := connectRequest{lastZxid: d.int64(), timeout: time.Duration(d.int32()) * time.Millisecond, session: d.int64()}
	r.passwd = d.buffer()
	r.hasReadOnly = !d.bad && len(d.b) > 0
	return r, !d.bad
}

// handshake attaches the connection to a new or living session and queues the
// answer. A reason means that the connection has to go.
func (c *conn) handshake(frame []byte) (reason string) {
	r, ok := decodeConnect(frame)
	if !ok {
		return "malformed handshake"
	}
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lastZxid > s.zxid {
		return fmt.Sprintf("the client has seen zxid 0x%x, beyond the last one 0x%x", r.lastZxid, s.zxid)
	}
	if r.session != 0 && c.server.cutOff(r.session) {
		return fmt.Sprintf("session 0x%x is partitioned away", r.session)
	}
	var own *session
	if r.session == 0 {
		if own = s.createSession(c.server.clamp(r.timeout)); own == nil {
			return "the session could not be logged"
		}
	} else {
		own = s.sessions[r.session]
		if own == nil || !own.admits(r.passwd) {
			c.answerConnect(r, &session{})
			return fmt.Sprintf("session 0x%x is not alive or its password is wrong", r.session)
		}
		// 3.8.4 drops the old connection before it looks at the password.
		if old := own.conn; old != nil {
			s.forget(old)
			old.shut("session 0x%x moved to %s", own.id, c.peer)
		}
		own.timeout = c.server.clamp(r.timeout)
		s.touch(own)
	}
	own.conn = c
	c.who.session = own.id
	c.answerConnect(r, own)
	return ""
}

func (c *conn) answerConnect(r connectRequest, own *session) {
	b := putInt32(putInt32(nil, 0), int32(own.timeout/time.Millisecond))
	b = putBuffer(putInt64(b, own.id), own.passwd[:])
	if r.hasReadOnly {
		b = putBool(b, false)
	}
	c.enqueue(b, true)
}
