package zkserver

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// The twin is a deliberately dumb ZooKeeper: a map of paths and a list of
// watches, every rule spelled out where it applies, nothing kept that can be
// counted. Several clients send the same random ops to it and to a server;
// codes, zxids, stats, data and every event must be equal.

type twinNode struct {
	data                []byte
	czxid, mzxid, pzxid int64
	version, created    int32
	owner               int // client number + 1, 0 for none
}

type twinWatch struct {
	client int
	path   string
	kind   WatchKind // DataWatch stands for exists too
}

type twin struct {
	nodes   map[string]*twinNode
	watches []twinWatch
	zxid    int64
	events  map[int][]string // by client, not yet compared
}

func newTwin() *twin {
	return &twin{nodes: map[string]*twinNode{"/": {}}, events: map[int][]string{}}
}

func (m *twin) children(path string) []string {
	var out []string
	for p := range m.nodes {
		if parent, name, _ := splitPath(p); p != "/" && parent == path {
			out = append(out, name)
		}
	}
	if path == "/" {
		out = append(out, "zookeeper")
	}
	slices.Sort(out)
	return out
}

func (m *twin) clone() map[string]*twinNode {
	out := map[string]*twinNode{}
	for p, n := range m.nodes {
		c := *n
		out[p] = &c
	}
	return out
}

// write does ops as one txn and gives the code of each.
func (m *twin) write(client int, ops []Op) (codes []Code, paths []string) {
	m.zxid++
	before := m.clone()
	var events []Event
	for i, op := range ops {
		code, path, fired := m.one(client, op)
		codes, paths = append(codes, code), append(paths, path)
		events = append(events, fired...)
		if code != OK {
			m.nodes = before
			for j := range codes[:i] {
				codes[j] = OK
			}
			for range ops[i+1:] {
				codes = append(codes, RuntimeInconsistency)
			}
			return codes, nil
		}
	}
	for _, e := range events {
		m.fire(e)
	}
	return codes, paths
}

func (m *twin) one(client int, op Op) (Code, string, []Event) {
	parent, _, _ := splitPath(op.Path)
	n := m.nodes[op.Path]
	switch op.Kind {
	case OpCreate:
		up := m.nodes[parent]
		if up == nil {
			return NoNode, "", nil
		}
		path := op.Path
		if op.Flags&Sequential != 0 {
			path += fmt.Sprintf("%010d", up.created)
		}
		if m.nodes[path] != nil {
			return NodeExists, "", nil
		}
		if up.owner != 0 {
			return NoChildrenEphemerals, "", nil
		}
		up.created++
		up.pzxid = m.zxid
		made := &twinNode{data: op.Data, czxid: m.zxid, mzxid: m.zxid, pzxid: m.zxid}
		if op.Flags&Ephemeral != 0 {
			made.owner = client + 1
		}
		m.nodes[path] = made
		return OK, path, []Event{{Type: NodeCreated, Path: path}, {Type: NodeChildrenChanged, Path: parent}}
	case OpDelete:
		switch {
		case op.Path == "/":
			return BadArguments, "", nil
		case n == nil:
			return NoNode, "", nil
		case op.Version != -1 && op.Version != n.version:
			return BadVersion, "", nil
		case len(m.children(op.Path)) > 0:
			return NotEmpty, "", nil
		}
		delete(m.nodes, op.Path)
		m.nodes[parent].pzxid = m.zxid
		return OK, "", []Event{{Type: NodeDeleted, Path: op.Path}, {Type: NodeChildrenChanged, Path: parent}}
	}
	switch {
	case n == nil:
		return NoNode, "", nil
	case op.Version != -1 && op.Version != n.version:
		return BadVersion, "", nil
	case op.Kind == OpCheck:
		return OK, "", nil
	}
	n.data, n.mzxid = op.Data, m.zxid
	n.version++
	return OK, "", []Event{{Type: NodeDataChanged, Path: op.Path}}
}

// fire gives an event once to each client that watches for it.
func (m *twin) fire(e Event) {
	told := map[int]bool{}
	var left []twinWatch
	for _, w := range m.watches {
		hit, keep := false, true
		switch here := w.path == e.Path; w.kind {
		case DataWatch:
			hit = here && e.Type != NodeChildrenChanged
			keep = !hit
		case ChildWatch:
			hit = here && (e.Type == NodeChildrenChanged || e.Type == NodeDeleted)
			keep = !hit
		case PersistentWatch:
			hit = here
		case RecursiveWatch:
			below := here || w.path == "/" || strings.HasPrefix(e.Path, w.path+"/")
			hit = below && e.Type != NodeChildrenChanged
		}
		if hit && !told[w.client] {
			told[w.client] = true
			m.events[w.client] = append(m.events[w.client], fmt.Sprint(e.Type, " ", e.Path))
		}
		if keep {
			left = append(left, w)
		}
	}
	m.watches = left
}

func (m *twin) watch(client int, path string, kind WatchKind) {
	lasting := func(k WatchKind) bool { return k == PersistentWatch || k == RecursiveWatch }
	m.watches = slices.DeleteFunc(m.watches, func(w twinWatch) bool {
		return w.client == client && w.path == path && (w.kind == kind || lasting(kind) && lasting(w.kind))
	})
	m.watches = append(m.watches, twinWatch{client, path, kind})
}

func (m *twin) disconnect(client int) {
	m.watches = slices.DeleteFunc(m.watches, func(w twinWatch) bool { return w.client == client })
}

// end deletes a client's ephemerals in one txn.
func (m *twin) end(client int) {
	m.zxid++
	for _, p := range slices.Sorted(maps.Keys(m.nodes)) {
		if m.nodes[p].owner != client+1 {
			continue
		}
		parent, _, _ := splitPath(p)
		delete(m.nodes, p)
		m.nodes[parent].pzxid = m.zxid
		m.fire(Event{Type: NodeDeleted, Path: p})
		m.fire(Event{Type: NodeChildrenChanged, Path: parent})
	}
}

// race is one run of the comparison.
type race struct {
	t       *testing.T
	rnd     *rand.Rand
	addr    string
	m       *twin
	clients []*rawClient
	step    int
}

// path is a path that may exist, or one that does. There are few, so that ops
// and watches meet.
func (r *race) path() string {
	if r.rnd.Intn(3) == 0 {
		all := slices.Sorted(maps.Keys(r.m.nodes))
		return all[r.rnd.Intn(len(all))]
	}
	p := ""
	for range 1 + r.rnd.Intn(3) {
		p += "/" + string(rune('a'+r.rnd.Intn(2)))
	}
	return p
}

func (r *race) op() Op {
	version := int32(r.rnd.Intn(4) - 1)
	data := []byte{byte(r.rnd.Intn(256))}
	if r.rnd.Intn(4) == 0 {
		data = nil
	}
	switch r.rnd.Intn(8) {
	case 0, 1, 2:
		return Create(r.path(), data, []int32{0, 0, 0, 0, 1, 1, 2, 3}[r.rnd.Intn(8)])
	case 3, 4, 5:
		return Delete(r.path(), version)
	case 6:
		return Set(r.path(), data, version)
	}
	return Check(r.path(), version)
}

func body(op Op) []byte {
	switch op.Kind {
	case OpCreate:
		return createBody(op.Path, op.Data, op.Flags)
	case OpSetData:
		return setBody(op.Path, op.Data, op.Version)
	}
	return versionBody(op.Path, op.Version)
}

// reply takes the reply with that xid; the events before it must be what the
// twin has for the client.
func (r *race) reply(client int, xid int32) answer {
	r.t.Helper()
	var got []string
	for {
		a := r.clients[client].next()
		if a.xid != -1 {
			want := r.m.events[client]
			delete(r.m.events, client)
			if !slices.Equal(got, want) {
				r.t.Fatalf("step %d client %d: events %q, want %q", r.step, client, got, want)
			}
			if a.xid != xid {
				r.t.Fatalf("step %d: xid %d, want %d", r.step, a.xid, xid)
			}
			return a
		}
		d := &decoder{b: a.body}
		kind, _, path := EventType(d.int32()), d.int32(), d.path()
		got = append(got, fmt.Sprint(kind, " ", path))
	}
}

func (r *race) check(what string, got, want any) {
	r.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("step %d: %s is %v, want %v", r.step, what, got, want)
	}
}

func (r *race) write(client int) {
	ops := []Op{r.op()}
	multi := r.rnd.Intn(3) == 0
	if multi {
		for range r.rnd.Intn(4) {
			ops = append(ops, r.op())
		}
	}
	codes, paths := r.m.write(client, ops)
	c := r.clients[client]
	if !multi {
		a := r.reply(client, c.send(ops[0].Kind, body(ops[0])))
		r.check(fmt.Sprintf("code of %v", ops), a.code.String(), codes[0].String())
		r.check("zxid", a.zxid, r.m.zxid)
		if ops[0].Kind == OpCreate && codes[0] == OK {
			r.check("created path", (&decoder{b: a.body}).path(), paths[0])
		}
		return
	}
	var parts []part
	for _, op := range ops {
		parts = append(parts, part{op.Kind, body(op)})
	}
	a := r.reply(client, c.send(OpMulti, multiBody(parts...)))
	r.check("zxid of a multi", a.zxid, r.m.zxid)
	d := &decoder{b: a.body}
	for i, op := range ops {
		kind, more := d.multiHeader()
		r.check("entry", more, true)
		switch {
		case paths == nil:
			r.check(fmt.Sprintf("code %d of %v", i, ops), Code(d.int32()).String(), codes[i].String())
		case kind == OpCreate:
			r.check("path", d.path(), paths[i])
		case kind == OpSetData:
			d.stat()
		default:
			r.check("kind", kind, op.Kind)
		}
	}
}

func (r *race) read(client int) {
	path, watch := r.path(), r.rnd.Intn(4) > 0
	op := []OpCode{OpExists, OpGetData, OpGetChildren2}[r.rnd.Intn(3)]
	n := r.m.nodes[path]
	a := r.reply(client, r.clients[client].send(op, watchBody(path, watch)))
	if watch && (n != nil || op == OpExists) {
		kind := DataWatch
		if op == OpGetChildren2 {
			kind = ChildWatch
		}
		r.m.watch(client, path, kind)
	}
	r.check("zxid of a read", a.zxid, r.m.zxid)
	if n == nil {
		r.check("code of "+path, a.code, NoNode)
		return
	}
	r.check("code of "+path, a.code.String(), OK.String())
	d := &decoder{b: a.body}
	kids := r.m.children(path)
	switch op {
	case OpGetData:
		data := d.buffer()
		if path != "/" {
			r.check("null", data == nil, n.data == nil)
			r.check("data", data, n.data)
		}
	case OpGetChildren2:
		r.check("children", d.texts(), kids)
	}
	st := d.stat()
	want := Stat{Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Version: n.version, Cversion: 2*n.created - int32(len(kids)),
		NumChildren: int32(len(kids)), DataLength: int32(len(n.data)), Ctime: st.Ctime, Mtime: st.Mtime}
	if n.owner != 0 {
		want.EphemeralOwner = r.clients[n.owner-1].id
	}
	r.check("stat of "+path, st, want)
}

func (r *race) play(steps int) {
	for r.step = range steps {
		client := r.rnd.Intn(len(r.clients))
		c := r.clients[client]
		switch n := r.rnd.Intn(100); {
		case n < 45:
			r.write(client)
		case n < 90:
			r.read(client)
		case n < 96:
			path, mode := r.path(), r.rnd.Intn(2)
			r.m.watch(client, path, PersistentWatch+WatchKind(mode))
			r.reply(client, c.send(OpAddWatch, versionBody(path, int32(mode))))
		case n < 98:
			r.m.disconnect(client)
			r.clients[client] = c.reconnected(r.addr)
		default:
			r.m.end(client)
			r.reply(client, c.send(OpCloseSession, nil))
			c.wantClosed()
			r.m.disconnect(client)
			r.clients[client] = connected(r.t, r.addr)
			r.m.zxid++
		}
		for i, other := range r.clients { // everybody has exactly what the twin says
			other.send(OpPing, nil)
			r.reply(i, -2)
		}
	}
}

func TestServerEqualsItsDumbTwin(t *testing.T) {
	steps, seeds := 1500, 4
	if testing.Short() {
		steps, seeds = 500, 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s, addr := listening(t)
			r := &race{t: t, rnd: rand.New(rand.NewSource(int64(seed))), addr: addr, m: newTwin()}
			for range 3 {
				r.clients = append(r.clients, connected(t, addr))
				r.m.zxid++
			}
			r.play(steps)
			if got := s.Store().Len(); got != len(r.m.nodes)+3 {
				t.Errorf("%d znodes, the twin has %d", got, len(r.m.nodes)+3)
			}
		})
	}
}
