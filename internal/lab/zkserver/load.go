package zkserver

import (
	"fmt"
	"strconv"
	"strings"
)

// Load plants znodes as they are, in one txn without events: for a tree file,
// before clients come. Missing parents are made with null data. An owner
// that is no session becomes one that ends only when told. Later zxids are
// beyond every Czxid given. A wrong path or a path given twice is an error;
// then the tree is partly loaded and of no use.
func (s *Store) Load(znodes []Znode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	given := make(map[string]struct{}, len(znodes))
	top := s.zxid
	for i := range znodes {
		z := &znodes[i]
		if !validPath(z.Path) {
			return fmt.Errorf("load znode %q: not a valid path", z.Path)
		}
		if _, twice := given[z.Path]; twice {
			return fmt.Errorf("load znode %s: given twice", z.Path)
		}
		given[z.Path] = struct{}{}
		if err := s.loadOne(z); err != nil {
			return err
		}
		top = max(top, z.Czxid)
	}
	s.zxid = top
	return s.logLoad(znodes)
}

func (s *Store) loadOne(z *Znode) error {
	acl := s.acceptACL(inProcess, z.ACL)
	if acl == nil {
		return fmt.Errorf("load znode %s: its ACL is empty or malformed", z.Path)
	}
	n := s.find(z.Path)
	if n == nil {
		n = s.loadPath(z.Path, z.Czxid)
	}
	if n.owner != 0 {
		delete(s.sessions[n.owner].ephemerals, z.Path)
	}
	s.bytes += int64(len(z.Data) - len(n.data) + acl.bytes - n.acl.bytes)
	n.data, n.acl, n.version, n.owner = z.Data, acl, z.Version, z.Owner
	if z.Czxid != 0 {
		n.czxid, n.mzxid, n.pzxid = z.Czxid, z.Czxid, max(z.Czxid, n.pzxid)
	}
	if z.Owner != 0 {
		own := s.sessions[z.Owner]
		if own == nil {
			own = &session{id: z.Owner}
			s.sessions[z.Owner] = own
			s.lastSession = max(s.lastSession, z.Owner)
		}
		if own.ephemerals == nil {
			own.ephemerals = map[string]struct{}{}
		}
		own.ephemerals[z.Path] = struct{}{}
	}
	return nil
}

// loadPath makes the node at path and its missing parents, with null data. A
// parent's next sequence number is beyond those that its children show.
func (s *Store) loadPath(path string, czxid int64) *node {
	parentPath, name, _ := splitPath(path)
	parent := s.find(parentPath)
	if parent == nil {
		parent = s.loadPath(parentPath, czxid)
	}
	if czxid == 0 {
		czxid = s.zxid
	}
	millis := s.now.UnixMilli()
	n := &node{name: strings.Clone(name), acl: s.internACL(OpenACL), czxid: czxid, mzxid: czxid, pzxid: czxid, ctime: millis, mtime: millis}
	parent.attach(n)
	parent.created++
	if number, ok := sequenceOf(name); ok && number >= parent.created {
		parent.created = number + 1
	}
	parent.pzxid = max(parent.pzxid, czxid)
	s.count++
	s.bytes += int64(len(path))
	return n
}

// sequenceOf reads the ten digits at the end of a sequential znode's name.
func sequenceOf(name string) (int32, bool) {
	if len(name) < 10 {
		return 0, false
	}
	digits := name[len(name)-10:]
	for i := range digits {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil
}
