package zkserver

import (
	"slices"
	"strings"
)

// node is one znode. A tree may have 300,000 of them: what few need is kept
// elsewhere (kids, Store.timed), and paths are not stored but walked.
type node struct {
	name                string
	data                []byte
	kids                *kids // nil without children
	acl                 *aclList
	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	owner               int64
	version, aversion   int32
	created             int32 // children ever created here: numbers sequential ones
}

func (n *node) stat() Stat {
	num := int32(n.kids.count())
	return Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.created - num, Aversion: n.aversion,
		EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: num, Pzxid: n.pzxid,
	}
}

// weight is what the node at path adds to the bytes that Limits bounds.
func (n *node) weight(path string) int64 { return int64(len(path) + len(n.data) + n.acl.bytes) }

func (n *node) value() *Value { return &Value{Data: n.data, Stat: n.stat()} }

// fewKids is how many children stay in a sorted list before a map takes over:
// most parents have one child, and a map costs 250 bytes.
const fewKids = 16

// kids holds the children of one node, by name. A nil *kids is empty.
type kids struct {
	list   []*node // sorted by name, nil once byName is used
	byName map[string]*node
	sorted []string // names in order, cached while byName does not change
}

func (k *kids) count() int {
	if k == nil {
		return 0
	}
	return len(k.list) + len(k.byName)
}

func (k *kids) find(name string) (int, bool) {
	return slices.BinarySearchFunc(k.list, name, func(n *node, name string) int { return strings.Compare(n.name, name) })
}

func (k *kids) get(name string) *node {
	if k == nil {
		return nil
	}
	if k.byName != nil {
		return k.byName[name]
	}
	if i, ok := k.find(name); ok {
		return k.list[i]
	}
	return nil
}

// names lists the children in order. The caller must not change the slice.
func (k *kids) names() []string {
	if k == nil {
		return nil
	}
	if k.byName == nil {
		out := make([]string, len(k.list))
		for i, n := range k.list {
			out[i] = n.name
		}
		return out
	}
	if k.sorted == nil {
		k.sorted = make([]string, 0, len(k.byName))
		for name := range k.byName {
			k.sorted = append(k.sorted, name)
		}
		slices.Sort(k.sorted)
	}
	return k.sorted
}

func (n *node) attach(child *node) {
	if n.kids == nil {
		n.kids = &kids{}
	}
	k := n.kids
	if k.byName == nil && len(k.list) < fewKids {
		i, _ := k.find(child.name)
		k.list = slices.Insert(k.list, i, child)
		return
	}
	if k.byName == nil {
		k.byName = make(map[string]*node, 2*fewKids)
		for _, c := range k.list {
			k.byName[c.name] = c
		}
		k.list = nil
	}
	k.byName[child.name] = child
	k.sorted = nil
}

func (n *node) detach(name string) {
	k := n.kids
	if k == nil {
		return
	}
	if k.byName != nil {
		delete(k.byName, name)
		k.sorted = nil
	} else if i, ok := k.find(name); ok {
		k.list = slices.Delete(k.list, i, i+1)
	}
	if k.count() == 0 {
		n.kids = nil
	}
}

// find walks to the node at path; nil when there is none. Paths match as
// strings: "" and "/a/" are nowhere.
func (s *Store) find(path string) *node {
	if path == "/" {
		return s.root
	}
	if path == "" || path[0] != '/' {
		return nil
	}
	n, rest := s.root, path[1:]
	for {
		name, more, found := strings.Cut(rest, "/")
		if n = n.kids.get(name); n == nil || !found {
			return n
		}
		rest = more
	}
}

// join is the path of a child.
func join(parent, name string) string {
	if parent == "/" {
		return "/" + name
	}
	return parent + "/" + name
}

// walk visits n and everything below it, parents first, children in order.
func walk(path string, n *node, visit func(path string, n *node) bool) bool {
	if !visit(path, n) {
		return false
	}
	for _, name := range n.kids.names() {
		if !walk(join(path, name), n.kids.get(name), visit) {
			return false
		}
	}
	return true
}
