package zkwatch

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"kstate/model"
)

// Mark stands in a Change for what concerns the whole picture.
type Mark uint8

// Synced: what was delivered up to here is the whole picture, as of Zxid. Lost:
// changes are missed from now on; what was delivered grows old until the next
// Synced.
const (
	NoMark Mark = iota
	Synced
	Lost
)

// Change is one znode as it now is, or a mark.
type Change struct {
	Mark    Mark
	Path    string
	Data    []byte // nil: null data, or Deleted, or Err. The receiver's own
	Stat    model.Stat
	Deleted bool
	Err     error // it is there but can't be read (a *PathError); with Lost, why
	Zxid    int64 // the tree was looked at when this was its last transaction
}

// Znode is the znode of a change that is no mark.
func (c *Change) Znode() model.Znode {
	z := (&Znode{Path: c.Path, Data: c.Data, Stat: c.Stat, Err: c.Err}).Model()
	z.Missing = c.Deleted
	return z
}

// MirrorOptions says what to mirror.
type MirrorOptions struct {
	Paths []string // subtrees; nil means DefaultPaths
	// OnProgress is told of the first picture while it is read.
	OnProgress func(Progress)
}

// DefaultPaths are the subtrees that Kafka's controller watches or reads, and
// the cluster id.
func DefaultPaths() []string {
	return []string{model.ControllerPath, model.ControllerEpochPath, model.BrokersPath, model.AdminPath, model.ConfigTopicsPath,
		model.ConfigBrokersPath, model.IsrChangeNotificationPath, model.LogDirEventNotificationPath, model.FeaturePath, model.ClusterPath}
}

// Mirror follows subtrees of a cluster: the picture, then what changes in it.
//
// Where the server can (ZooKeeper 3.6), it arms a recursive watch on each
// subtree, then reads the subtrees by multiRead, then reads again what events
// tell of. Else it arms one-shot watches: on the data of what holds data, on the
// children of what has children. Stat then is that of the last read: a new child
// alone does not make a change of its parent.
//
// It keeps no payload: per znode about 250 bytes.
type Mirror struct {
	c     *Conn
	opt   MirrorOptions
	roots []string
	box   *inbox[mirrorNews]
	out   *delivery
	stop  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup

	// Of run's goroutine.
	known     map[string]seen
	gen       uint32
	sess      *session
	link      *link // nil while there is none
	recursive bool
	bulk      *bulk
	synced    bool
	first     bool // the first picture is not complete
	progress  Progress
}

// mirrorNews is what the connection tells a mirror, in its own order.
type mirrorNews struct {
	up   *link
	down error
	path string // of an event
	kind model.WatchKind
	seq  uint64
	zxid int64
}

// seen is what a mirror remembers of a path.
type seen struct {
	czxid, mzxid int64
	seq          uint64 // of the last look at it
	want         uint64 // of the last event that asks for another look
	gen          uint32 // the picture in which it was last visited
	code         model.Code
	reads        uint16 // reads of it that have not come back
	present      bool
}

// Mirror starts to follow subtrees. A Conn carries one Mirror, and none if it
// has an OnInput.
func (c *Conn) Mirror(opt MirrorOptions) (*Mirror, error) {
	if c.opt.OnInput != nil {
		return nil, errors.New("zkwatch: a mirror needs a connection without OnInput: its watches would take those of the controller away")
	}
	m := &Mirror{c: c, opt: opt, roots: slices.Clone(opt.Paths), box: newInbox[mirrorNews](), stop: make(chan struct{}), known: map[string]seen{}, first: true}
	if opt.Paths == nil {
		m.roots = DefaultPaths()
	}
	for _, path := range m.roots {
		if err := checkPath(path); err != nil {
			return nil, fmt.Errorf("zkwatch: mirror of %q: %w", path, err)
		}
	}
	m.out = newDelivery(m.stop)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.mirrors) > 0 {
		return nil, fmt.Errorf("zkwatch: mirror: the connection to %s has a mirror or is closed", c.address)
	}
	c.mirrors = append(c.mirrors, m)
	if l := c.sess.currentLink(); l != nil {
		m.box.post(mirrorNews{up: l})
	}
	m.wg.Add(2)
	go func() { defer m.wg.Done(); m.out.run() }()
	go func() { defer m.wg.Done(); m.run() }()
	return m, nil
}

func (s *session) currentLink() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// Changes delivers what is new, oldest first, without loss: while nobody
// receives, a newer change of a path takes the place of an older one. Whoever
// applies a slice as a whole never sees a Synced without what belongs to it. The
// channel is closed when the Mirror or its Conn is closed.
func (m *Mirror) Changes() <-chan []Change { return m.out.out }

// Close stops following. The recursive watches stay until the Conn is closed.
func (m *Mirror) Close() {
	m.once.Do(func() { close(m.stop) })
	m.wg.Wait()
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.mirrors = slices.DeleteFunc(m.c.mirrors, func(o *Mirror) bool { return o == m })
}

func (m *Mirror) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-m.box.bell:
		case <-timer.C:
		case <-m.stop:
			return
		}
		news, _ := m.box.take()
		for _, n := range news {
			m.hear(n)
		}
		m.land()
		if m.link != nil {
			if wait := m.bulk.pump(m.link); wait > 0 {
				timer.Reset(wait)
			}
		}
		m.checkSynced()
	}
}

func (m *Mirror) hear(n mirrorNews) {
	switch {
	case n.up != nil:
		m.linkUp(n.up)
	case n.down != nil:
		m.link = nil
		if m.synced {
			m.synced = false
			m.out.post(Change{Mark: Lost, Err: n.down, Zxid: m.sess.zxid()})
		}
	case m.recursive:
		m.event(n)
	case m.sess != nil:
		m.oneShotEvent(n)
	}
}

// linkUp begins a picture: the recursive watches first, so that nothing is
// missed between them and the reads. With one-shot watches in an old session
// the connection has re-armed them, and only what was lost is read again.
func (m *Mirror) linkUp(l *link) {
	if m.link == l {
		return
	}
	recursive := l.multiRead && l.s.oneShots() == 0
	m.link = l
	if m.sess == l.s && !m.recursive && !recursive {
		return
	}
	m.sess, m.recursive = l.s, recursive
	m.gen++
	m.progress = Progress{}
	m.bulk = newBulk(m.c, l.s)
	m.bulk.single = !recursive
	m.bulk.done.bell = m.box.bell
	for path, e := range m.known {
		if e.reads > 0 { // those were of the old one
			e.reads = 0
			m.known[path] = e
		}
	}
	if recursive {
		m.arm(l)
	}
	for _, root := range m.roots {
		m.visit(root, 0)
	}
}

func (s *session) oneShots() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches.oneShots()
}

// arm sets the recursive watches.
func (m *Mirror) arm(l *link) {
	full := make([]string, len(m.roots))
	for i, root := range m.roots {
		full[i] = model.JoinChroot(m.c.address.Chroot, root)
	}
	l.s.mu.Lock()
	l.s.watches.roots = full
	l.s.mu.Unlock()
	for _, path := range full {
		l.send(opAddWatch, func(e *encoder) {
			e.str(path)
			e.int32(recursiveMode)
		}, func(a answer) {
			if !a.lost && a.code != model.CodeOK {
				m.c.abilities.learn(l.server, answer{code: model.CodeUnimplemented})
				l.close(&PathError{Op: "addWatch", Path: path, Code: a.code})
			}
		})
	}
}

func (m *Mirror) full(path string) string { return model.JoinChroot(m.c.address.Chroot, path) }

func (m *Mirror) path(r read) string {
	path, _ := model.StripChroot(m.c.address.Chroot, r.path)
	return path
}

// visit asks for a znode, once in a picture. seq is when it was seen to be
// there: an answer from before that is not the last word.
func (m *Mirror) visit(path string, seq uint64) {
	if e := m.known[path]; e.gen == m.gen {
		if !e.present {
			e.want = max(e.want, seq)
			m.known[path] = e
		}
		return
	}
	if !m.recursive {
		m.visitOneShot(path)
		return
	}
	if g := guess(path); g != "" && m.known[g].gen != m.gen {
		m.ask(g)
	}
	m.ask(path)
}

// ask queues a read of a znode's data.
func (m *Mirror) ask(path string) {
	m.progress.Found++
	m.visited(path)
	m.add(path, read{})
}

func (m *Mirror) visited(path string) {
	e := m.known[path]
	e.gen = m.gen
	m.known[path] = e
}

// add queues a read, and remembers that its answer is due: until then a deleted
// znode is not forgotten, or an older answer would bring it back.
func (m *Mirror) add(path string, r read) {
	e := m.known[path]
	e.reads++
	m.known[path] = e
	r.path = m.full(path)
	m.bulk.add(r)
}

// event follows a recursive watch.
func (m *Mirror) event(n mirrorNews) {
	e := m.known[n.path]
	if n.seq <= e.seq {
		return // a later look has seen it
	}
	if n.kind == model.NodeDeleted {
		m.deleted(n.path, e, n.seq, n.zxid)
		return
	}
	e.want = n.seq
	m.known[n.path] = e
	if e.reads == 0 {
		m.ask(n.path)
	}
}

// deleted notes that a znode is gone. What was being read of it is older or, if
// it has come back, newer: its position in the stream will tell.
func (m *Mirror) deleted(path string, e seen, seq uint64, zxid int64) {
	m.keep(path, seen{seq: seq, reads: e.reads})
	m.out.post(Change{Path: path, Deleted: true, Zxid: zxid})
}

// keep stores what is known of a path, or forgets it.
func (m *Mirror) keep(path string, e seen) {
	if e.present || e.reads > 0 {
		m.known[path] = e
	} else {
		delete(m.known, path)
	}
}

// land takes what was read.
func (m *Mirror) land() {
	if m.bulk == nil {
		return
	}
	batches, _ := m.bulk.done.take()
	for _, b := range batches {
		m.bulk.flying--
		for i, r := range b.reads {
			v := &b.values[i]
			switch {
			case v.lost:
				m.bulk.add(r) // for one-shot watches; a new picture has its own bulk
			case m.recursive:
				m.landed(r, v)
			default:
				m.landedOneShot(r, v)
			}
		}
	}
	if m.first && len(batches) > 0 && m.opt.OnProgress != nil {
		m.opt.OnProgress(m.progress)
	}
}

func (m *Mirror) landed(r read, v *value) {
	path := m.path(r)
	e := m.known[path]
	e.reads--
	e.gen = m.gen
	if r.kind == readChildren {
		m.keep(path, e)
		m.visitAll(path, v)
		return
	}
	m.progress.Read++
	m.progress.Bytes += int64(len(v.data))
	if v.seq > e.seq {
		e = m.apply(path, e, v)
	}
	m.keep(path, e)
	switch g := guess(path); {
	case e.want > v.seq && e.reads == 0:
		m.ask(path)
	case m.synced || v.stat.NumChildren == 0 || v.code != model.CodeOK:
	case v.stat.NumChildren == 1 && g != "" && m.known[g].present && m.known[g].gen == m.gen:
	default:
		m.add(path, read{kind: readChildren})
	}
}

func (m *Mirror) visitAll(path string, v *value) {
	for _, name := range v.children {
		m.visit(childPath(path, name), v.seq)
	}
}

// apply takes a look at a znode into memory and delivers what is new in it.
func (m *Mirror) apply(path string, e seen, v *value) seen {
	was := e
	e.seq, e.code, e.czxid, e.mzxid = v.seq, v.code, v.stat.Czxid, v.stat.Mzxid
	e.present = v.code != model.CodeNoNode
	switch {
	case !e.present:
		if was.present {
			m.out.post(Change{Path: path, Deleted: true, Zxid: v.zxid})
		}
	case was.present && was.code == e.code && was.czxid == e.czxid && was.mzxid == e.mzxid:
	case v.code != model.CodeOK:
		m.out.post(Change{Path: path, Err: &PathError{Op: "get", Path: m.full(path), Code: v.code}, Zxid: v.zxid})
	default:
		m.out.post(Change{Path: path, Data: v.data, Stat: v.stat, Zxid: v.zxid})
	}
	return e
}

// checkSynced marks the picture as complete when nothing is being read. What
// was there before and was not visited in it is gone.
func (m *Mirror) checkSynced() {
	if m.synced || m.link == nil || m.bulk.busy() {
		return
	}
	zxid := m.sess.zxid()
	var gone []string
	for path, e := range m.known {
		if e.gen != m.gen {
			gone = append(gone, path)
		}
	}
	slices.Sort(gone)
	for _, path := range slices.Backward(gone) { // children before parents
		present := m.known[path].present
		delete(m.known, path)
		if present {
			m.out.post(Change{Path: path, Deleted: true, Zxid: zxid})
		}
	}
	m.synced, m.first = true, false
	m.out.post(Change{Mark: Synced, Zxid: zxid})
}
