package shadow

import (
	"slices"
	"strings"

	"kstate/model"
)

// znode is one node of the lagging tree. Clusters have 300,000 of them: of a
// Stat it keeps what a controller looks at.
type znode struct {
	name    string
	data    []byte
	kids    []*znode // by name
	czxid   int64
	mzxid   int64
	owner   int64
	version int32
	code    model.Code // why it can't be read; CodeOK when it can
}

// znodes is the tree as the engine sees it. The root is always there.
type znodes struct {
	root  znode
	names map[string]string // one copy of the names that come again and again
}

func newZnodes() *znodes { return &znodes{names: map[string]string{}} }

// kid finds the place of a child.
func (z *znode) kid(name string) (int, bool) {
	if n := len(z.kids); n > 0 && z.kids[n-1].name < name { // most come in order
		return n, false
	}
	return slices.BinarySearchFunc(z.kids, name, func(k *znode, name string) int { return strings.Compare(k.name, name) })
}

// find is the node of a path; nil when there is none.
func (t *znodes) find(path string) *znode {
	z := &t.root
	for rest := strings.TrimPrefix(path, "/"); rest != ""; {
		name, tail, _ := strings.Cut(rest, "/")
		i, ok := z.kid(name)
		if !ok {
			return nil
		}
		z, rest = z.kids[i], tail
	}
	return z
}

// make finds the node of a path, made with its parents if need be: a parent may
// be told of after its child.
func (t *znodes) make(path string) (z *znode, made bool) {
	z = &t.root
	for rest := strings.TrimPrefix(path, "/"); rest != ""; {
		name, tail, _ := strings.Cut(rest, "/")
		i, ok := z.kid(name)
		if !ok {
			z.kids = slices.Insert(z.kids, i, &znode{name: t.own(name)})
		}
		z, rest, made = z.kids[i], tail, !ok
	}
	return z, made
}

// own is a copy of a name that keeps no path alive.
func (t *znodes) own(name string) string {
	if len(name) > 10 {
		return strings.Clone(name)
	}
	s, ok := t.names[name]
	if !ok {
		s = strings.Clone(name)
		t.names[s] = s
	}
	return s
}

// remove takes a node away with all below it; false when it was not there.
func (t *znodes) remove(path string) bool {
	parent := t.find(model.ParentPath(path))
	if parent == nil {
		return false
	}
	i, ok := parent.kid(path[strings.LastIndexByte(path, '/')+1:])
	if !ok {
		return false
	}
	parent.kids = slices.Delete(parent.kids, i, i+1)
	return true
}

func (z *znode) stat() model.Stat {
	return model.Stat{Czxid: z.czxid, Mzxid: z.mzxid, Version: z.version, EphemeralOwner: z.owner, NumChildren: int32(len(z.kids))}
}

func (z *znode) children() []string {
	out := make([]string, len(z.kids))
	for i, k := range z.kids {
		out[i] = k.name
	}
	return out
}
