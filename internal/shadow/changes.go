package shadow

import (
	"bytes"
	"slices"

	"kstate/model"
)

// Mark stands in a Change for what concerns the whole tree.
type Mark uint8

// Synced: what was fed is the whole tree. Lost: changes are missed until the
// next Synced.
const (
	NoMark Mark = iota
	Synced
	Lost
)

// Change is one znode as it now is, or a mark. Missing: it was deleted. Zxid of a
// deletion may be unknown (0 or less).
type Change struct {
	Mark  Mark
	Znode model.Znode
	Zxid  int64
}

// pending is a change that the engine has not been told of.
type pending struct {
	Change
	ref   model.ZnodeRef
	key   int64 // its place in ZooKeeper's order, as far as that is known
	at    int64 // when it was seen
	taken bool  // by a write of the engine
	tried bool  // it was given to the engine as a request once, in vain
}

// changes are the pending ones in order. A deletion is told at once, another
// change only when it has been read: they are put in the order of their zxids.
type changes struct {
	list   []*pending
	byPath map[string][]*pending
	last   int64 // the highest key so far
}

func newChanges() *changes { return &changes{byPath: map[string][]*pending{}} }

// add queues a change. known is the czxid of the znode in the tree, 0 when it is
// not there.
func (q *changes) add(c Change, known, at int64) *pending {
	p := &pending{Change: c, ref: model.ParsePath(c.Znode.Path), at: at, key: c.Znode.Stat.Mzxid}
	before := q.byPath[c.Znode.Path]
	if n := len(before); n > 0 {
		known = before[n-1].Znode.Stat.Czxid
	}
	switch {
	case c.Znode.Missing:
		p.key = max(c.Zxid, q.last)
	case c.Znode.Stat.Czxid != known: // new: its creation is what others wait for
		p.key = c.Znode.Stat.Czxid
	}
	if n := len(before); n > 0 {
		p.key = max(p.key, before[n-1].key)
	}
	q.last = max(q.last, p.key)
	i := len(q.list)
	for i > 0 && q.list[i-1].key > p.key {
		i--
	}
	q.list = slices.Insert(q.list, i, p)
	q.byPath[c.Znode.Path] = append(before, p)
	return p
}

// head is the oldest change that was not taken; nil when there is none.
func (q *changes) head() *pending {
	for len(q.list) > 0 && q.list[0].taken {
		q.list = q.list[1:]
	}
	if len(q.list) == 0 {
		q.list = nil
		return nil
	}
	return q.list[0]
}

// of is the oldest pending change of a path; nil when there is none.
func (q *changes) of(path string) *pending {
	if l := q.byPath[path]; len(l) > 0 {
		return l[0]
	}
	return nil
}

// take removes a change, which is the oldest of its path.
func (q *changes) take(p *pending) {
	p.taken = true
	path := p.Znode.Path
	if l := q.byPath[path]; len(l) == 1 {
		delete(q.byPath, path)
	} else {
		q.byPath[path] = l[1:]
	}
}

// any finds a pending change of which the condition holds.
func (q *changes) any(holds func(*pending) bool) bool {
	return slices.ContainsFunc(q.list, func(p *pending) bool { return !p.taken && holds(p) })
}

// byController tells whether a change is one that the controller makes, given
// what the tree held before. All others are made by brokers, admins and tools.
func byController(p *pending, before *znode) bool {
	switch p.ref.Kind {
	case model.PartitionStateZnode, model.TopicPartitionZnode, model.TopicPartitionsZnode:
		return true
	case model.TopicZnode:
		return p.Znode.Missing || before != nil && !grows(p.Znode.Path, before.data, p.Znode.Data)
	case model.DeleteTopicZnode, model.IsrChangeZnode, model.LogDirEventZnode, model.PreferredReplicaElectionZnode:
		return p.Znode.Missing
	case model.ReassignPartitionsZnode:
		return p.Znode.Missing || before != nil
	case model.FeatureZnode:
		return true
	case model.ConfigEntityZnode:
		return p.Znode.Missing
	}
	return false
}

// grows: partitions were added to the topic, which tools do by themselves.
func grows(path string, before, after []byte) bool {
	if bytes.Equal(before, after) {
		return false
	}
	old, _, errOld := model.DecodeTopic(path, before)
	now, _, errNow := model.DecodeTopic(path, after)
	return errOld != nil || errNow != nil || len(now.Partitions) > len(old.Partitions)
}
