package zkserver

import (
	"crypto/subtle"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"time"
)

const passwdLen = 16

// session is an identity with a timeout that outlives connections.
type session struct {
	id         int64
	passwd     [passwdLen]byte
	timeout    time.Duration // 0: ends only when told
	heard      time.Time     // the last frame
	deadline   time.Time
	ephemerals map[string]struct{} // paths; nil until there is one
	conn       *conn               // the connection that speaks for it, nil when none does
	held       int                 // requests held by an Intercept hook: the silence is ours
}

// firstSession is the number before the first session id: positive, top byte 0,
// beyond those of earlier processes unless a seeded source says otherwise.
func (s *Store) firstSession() int64 {
	if s.opt.Random != nil {
		var b [8]byte
		if _, err := io.ReadFull(s.opt.Random, b[:]); err == nil {
			return int64(binary.BigEndian.Uint64(b[:])&0x007f_ffff_ffff_0000 | 1<<32)
		}
	}
	return int64(s.clock().Sub(epochStart)/time.Millisecond) << 17 & 0x00ff_ffff_ffff_ffff
}

// CreateSession starts a session. With a timeout it ends after that much
// silence (Touch is a sign of life), as found by ExpireDue; with 0 only by
// CloseSession or Expire. It costs a zxid. id 0 means that the log refused.
func (s *Store) CreateSession(timeout time.Duration) (id int64, passwd []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.createSession(timeout)
	if own == nil {
		return 0, nil
	}
	return own.id, slices.Clone(own.passwd[:])
}

func (s *Store) createSession(timeout time.Duration) *session {
	s.begin()
	s.lastSession++
	own := &session{id: s.lastSession, timeout: timeout}
	if _, err := io.ReadFull(s.random(), own.passwd[:]); err != nil {
		binary.BigEndian.PutUint64(own.passwd[:], uint64(own.id)) // a spent seeded source
	}
	s.touch(own)
	s.sessions[own.id] = own
	if !s.commit(&Txn{Kind: TxnCreateSession, Session: own.id}) {
		delete(s.sessions, own.id)
		return nil
	}
	return own
}

// Sessions lists the ids of live sessions in order.
func (s *Store) Sessions() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.sessions))
}

// Ephemerals lists the paths that a session owns, in order.
func (s *Store) Ephemerals(id int64) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id].owned()
}

func (own *session) owned() []string {
	if own == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(own.ephemerals))
}

// Touch is a sign of life from a session; false when it has ended.
func (s *Store) Touch(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.sessions[id]
	if own == nil {
		return false
	}
	s.touch(own)
	return true
}

func (s *Store) touch(own *session) {
	own.heard = s.clock()
	own.deadline = own.heard.Add(own.timeout)
}

// CloseSession ends a session as its client's closeSession does: in one txn
// its ephemerals go and the watches on them fire. False when there is none.
func (s *Store) CloseSession(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endSession(id, TxnCloseSession)
}

// Expire ends a session now, as if it had been silent, and closes its
// connection. False when there is none.
func (s *Store) Expire(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endSession(id, TxnExpireSession)
}

// ExpireDue ends the sessions whose deadline has passed, in the order of their
// ids, and lists them.
func (s *Store) ExpireDue() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []int64
	now := s.clock()
	for id, own := range s.sessions {
		if own.timeout > 0 && own.held == 0 && !now.Before(own.deadline) {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	for _, id := range due {
		s.endSession(id, TxnExpireSession)
	}
	return due
}

// ExtendDeadlines gives every session that was not heard since a moment more
// time: the server itself was stopped for that long.
func (s *Store) ExtendDeadlines(since time.Time, gap time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.sessions {
		if !own.heard.After(since) {
			own.deadline = own.deadline.Add(gap)
		}
	}
}

// nextDeadline is the earliest deadline; ok is false when no session has one.
func (s *Store) nextDeadline() (at time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.sessions {
		if own.timeout > 0 && own.held == 0 && (!ok || own.deadline.Before(at)) {
			at, ok = own.deadline, true
		}
	}
	return at, ok
}

// endSession is the one txn that ends a session, its ephemerals in path order.
func (s *Store) endSession(id int64, kind TxnKind) bool {
	own := s.sessions[id]
	if own == nil {
		return false
	}
	s.begin()
	for _, path := range own.owned() {
		parentPath, name, _ := splitPath(path)
		parent := s.find(parentPath)
		s.removeNode(path, parent, parent.kids.get(name))
	}
	if !s.commit(&Txn{Kind: kind, Session: id, Op: OpCloseSession}) {
		return false
	}
	delete(s.sessions, id)
	if c := own.conn; c != nil && kind == TxnExpireSession {
		own.conn = nil
		c.shut("its session 0x%x expired", id)
	}
	return true
}

// admits tells whether passwd is that of the session.
func (own *session) admits(passwd []byte) bool {
	return subtle.ConstantTimeCompare(own.passwd[:], passwd) == 1
}
