package zkserver

import "slices"

// Watcher is told of events. Notify is called with the store's lock held, in
// the order of the changes, before the change can be seen by any read: it must
// return at once (put the event in a queue) and must not call the store. A
// Watcher must be comparable: a pointer.
type Watcher interface {
	Notify(Event)
}

// WatchKind says what a watch waits for.
type WatchKind uint8

// The kinds of watch. The first three fire once.
const (
	DataWatch       WatchKind = iota + 1 // data changed, deleted; the znode must exist
	ExistsWatch                          // created, data changed, deleted
	ChildWatch                           // children changed, deleted; the znode must exist
	PersistentWatch                      // all four on that path, until removed
	RecursiveWatch                       // created, data changed, deleted at or below the path, until removed
)

// A watcher's interest in one path. One-shot and lasting watches are kept side
// by side: ZooKeeper 3.8 lets the one replace the other (ZOOKEEPER-4466).
const (
	bitDataOnce uint8 = 1 << iota
	bitChildOnce
	bitDataStay
	bitChildStay
	bitRecursive // qualifies the two Stay bits
)

const (
	bitsData = bitDataOnce | bitDataStay
	bitsAll  = bitDataOnce | bitChildOnce | bitDataStay | bitChildStay
)

// watching is one Watcher's table of paths.
type watching struct {
	w     Watcher
	who   *caller
	paths map[string]uint8
	step  uint64 // the last event that it got, see Store.step
}

// Watch arms a watch for w. DataWatch and ChildWatch on a missing znode answer
// NoNode and arm nothing.
func (s *Store) Watch(w Watcher, path string, kind WatchKind) Code {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bits uint8
	switch kind {
	case DataWatch, ChildWatch:
		if _, code := s.read(inProcess, path); code != OK {
			return code
		}
		bits = bitDataOnce
		if kind == ChildWatch {
			bits = bitChildOnce
		}
	case ExistsWatch:
		bits = bitDataOnce
	case PersistentWatch:
		bits = bitDataStay | bitChildStay
	case RecursiveWatch:
		bits = bitDataStay | bitChildStay | bitRecursive
	default:
		return BadArguments
	}
	return s.arm(w, inProcess, path, bits)
}

// Unwatch removes every watch of w.
func (s *Store) Unwatch(w Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(w)
}

// arm adds bits to a watcher's interest in path. A nil w arms nothing. A
// persistent and a recursive watch on one path replace each other.
func (s *Store) arm(w Watcher, who *caller, path string, bits uint8) Code {
	if w == nil {
		return OK
	}
	wg := s.watching[w]
	if wg == nil {
		wg = &watching{w: w, who: who, paths: map[string]uint8{}}
		s.watching[w] = wg
	}
	old := wg.paths[path]
	if old == 0 {
		if len(wg.paths) >= s.opt.Limits.Watches {
			return QuotaExceeded
		}
		s.watches[path] = append(s.watches[path], wg)
	}
	if bits&bitDataStay != 0 {
		old &^= bitDataStay | bitChildStay | bitRecursive
	}
	s.setBits(wg, path, old|bits)
	return OK
}

// setBits stores a watcher's interest and drops the entry when none is left.
func (s *Store) setBits(wg *watching, path string, bits uint8) {
	if bits&bitsAll == 0 {
		bits = 0
	}
	old := wg.paths[path]
	if old&bitRecursive != 0 {
		s.recursive--
	}
	if bits&bitRecursive != 0 {
		s.recursive++
	}
	if bits != 0 {
		wg.paths[path] = bits
		return
	}
	delete(wg.paths, path)
	list := s.watches[path]
	if i := slices.Index(list, wg); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 {
		delete(s.watches, path)
	} else {
		s.watches[path] = list
	}
}

// forget removes a watcher with all its watches.
func (s *Store) forget(w Watcher) {
	wg := s.watching[w]
	if wg == nil {
		return
	}
	for path := range wg.paths {
		s.setBits(wg, path, 0)
	}
	delete(s.watching, w)
}

// publish fires the events of a committed txn, change by change.
func (s *Store) publish(changes []change) {
	if len(s.watches) == 0 {
		return
	}
	for i := range changes {
		c := &changes[i]
		switch c.kind {
		case changeCreate:
			s.fire(NodeCreated, c.path, c.node.acl)
		case changeDelete:
			s.fire(NodeDeleted, c.path, c.node.acl)
		case changeData:
			s.fire(NodeDataChanged, c.path, c.node.acl)
			continue
		default:
			continue
		}
		parent, _, _ := splitPath(c.path)
		s.fire(NodeChildrenChanged, parent, c.parent.acl)
	}
}

// fire tells each watcher of one event, once, however many of its watches
// match. Those who may not read the znode lose their watch without a word.
func (s *Store) fire(t EventType, path string, acl *aclList) {
	s.step++
	var targets []*watching
	collect := func(wg *watching) {
		if wg.step != s.step {
			wg.step = s.step
			targets = append(targets, wg)
		}
	}
	once := bitDataOnce
	switch t {
	case NodeDeleted:
		once = bitDataOnce | bitChildOnce
	case NodeChildrenChanged:
		once = bitChildOnce
	}
	list := s.watches[path]
	for i := 0; i < len(list); {
		wg := list[i]
		bits := wg.paths[path]
		if fires(t, bits) {
			collect(wg)
		}
		if bits&once != 0 {
			s.setBits(wg, path, bits&^once)
			if list = s.watches[path]; i < len(list) && list[i] == wg {
				i++
			}
			continue
		}
		i++
	}
	if s.recursive > 0 && t != NodeChildrenChanged {
		for at := path; at != "/"; {
			at, _, _ = splitPath(at)
			for _, wg := range s.watches[at] {
				if recurses(t, wg.paths[at]) {
					collect(wg)
				}
			}
		}
	}
	for _, wg := range targets {
		if s.may(wg.who, acl, PermRead) {
			wg.w.Notify(Event{Type: t, Path: path, Zxid: s.zxid})
		}
	}
}

// recurses tells whether a watch on a path above that of an event matches it.
// removeWatches may have left one of its two halves, of which the child's hears
// of deletions alone.
func recurses(t EventType, bits uint8) bool {
	return bits&bitRecursive != 0 && (t == NodeDeleted || bits&bitDataStay != 0)
}

// fires tells whether a watch on the very path of an event matches it.
func fires(t EventType, bits uint8) bool {
	switch t {
	case NodeDeleted:
		return bits&bitsAll != 0
	case NodeChildrenChanged:
		return bits&bitChildOnce != 0 || bits&(bitChildStay|bitRecursive) == bitChildStay
	}
	return bits&bitsData != 0
}

// rearm is setWatches after a reconnect: for each path of a lost one-shot watch
// either the event that was missed since the zxid, or the watch again. As in
// ZooKeeper the znode's ACL is not asked here.
func (s *Store) rearm(w Watcher, who *caller, since int64, data, exist, child []string) Code {
	for _, path := range data {
		n := s.find(path)
		switch {
		case n == nil:
			s.notifyMissed(w, NodeDeleted, path)
		case n.mzxid > since:
			s.notifyMissed(w, NodeDataChanged, path)
		default:
			if code := s.arm(w, who, path, bitDataOnce); code != OK {
				return code
			}
		}
	}
	for _, path := range exist {
		if n := s.find(path); n == nil {
			if code := s.arm(w, who, path, bitDataOnce); code != OK {
				return code
			}
		} else {
			s.notifyMissed(w, NodeCreated, path)
		}
	}
	for _, path := range child {
		n := s.find(path)
		switch {
		case n == nil:
			s.notifyMissed(w, NodeDeleted, path)
		case n.pzxid > since:
			s.notifyMissed(w, NodeChildrenChanged, path)
		default:
			if code := s.arm(w, who, path, bitChildOnce); code != OK {
				return code
			}
		}
	}
	return OK
}

func (s *Store) notifyMissed(w Watcher, t EventType, path string) {
	w.Notify(Event{Type: t, Path: path, Zxid: s.zxid})
}

// disarm is removeWatches: type 1 child, 2 data, 3 both. With look it is
// checkWatches, which in ZooKeeper 3.8 asks about anybody's watches.
func (s *Store) disarm(w Watcher, path string, kind int32, look bool) Code {
	var mask uint8
	switch kind {
	case 1:
		mask = bitChildOnce | bitChildStay
	case 2:
		mask = bitsData
	case 3:
		mask = bitsAll
	default:
		return MarshallingError
	}
	if look {
		for _, any := range s.watches[path] {
			if any.paths[path]&mask != 0 {
				return OK
			}
		}
		if s.recursive > 0 && path != "" && path[0] != '/' {
			return MarshallingError // it looks at the paths above too, and fails at that
		}
		return NoWatcher
	}
	wg := s.watching[w]
	if wg == nil || wg.paths[path]&mask == 0 {
		return NoWatcher
	}
	s.setBits(wg, path, wg.paths[path]&^mask)
	return OK
}
