package shadow

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"kstate/model"
)

// phantomPath is a notification that only the engine sees: by it, it reads the
// state znodes of some partitions again.
const phantomPath = model.IsrChangeNotificationPath + "/isr_change_9999999999"

// refusal is how a write is answered that the controller did not do.
const refusal = model.CodeNoAuth

// divergencesTold of one call: they have one cause.
const divergencesTold = 20

// await is a call whose writes wait for the controller's.
type await struct {
	call    *model.Call
	results []model.OpResult
	left    map[string][]int // ops without a result, by path
	fresh   []string         // paths that changed since it was last looked
	since   int64            // when the last result came
	seen    bool             // a write came
}

// call answers reads at once, and writes when the controller has done them.
func (f *follower) call(c *model.Call) {
	f.note(c)
	results := make([]model.OpResult, len(c.Ops))
	if c.Atomic {
		f.settle(model.Result{Ops: f.elected(c, results)})
		return
	}
	if !c.Writes() {
		for i := range c.Ops {
			results[i] = f.read(&c.Ops[i])
		}
		f.settle(model.Result{Ops: results})
		return
	}
	if f.quiet {
		for i := range c.Ops {
			results[i] = f.assume(&c.Ops[i])
		}
		f.settle(model.Result{Ops: results})
		return
	}
	w := &await{call: c, results: results, since: f.now, left: map[string][]int{}}
	for i := range c.Ops {
		path := c.Ops[i].Path
		w.left[path] = append(w.left[path], i)
		if len(w.left[path]) == 1 {
			w.fresh = append(w.fresh, path)
		}
	}
	f.await = w
}

// elected gives the engine the role that the controller holds.
func (f *follower) elected(c *model.Call, results []model.OpResult) []model.OpResult {
	f.electing = false
	for i := range c.Ops {
		if z := f.tree.find(c.Ops[i].Path); z != nil {
			results[i].Stat = z.stat()
		}
	}
	return results
}

// read answers from the lagging tree and arms the watch.
func (f *follower) read(op *model.Op) model.OpResult {
	z := f.tree.find(op.Path)
	if f.electing && op.Path == model.ControllerPath {
		z = nil
	}
	if op.Path == phantomPath {
		if f.phantom == nil {
			return model.OpResult{Code: model.CodeNoNode}
		}
		return model.OpResult{Data: f.phantom}
	}
	if z == nil {
		if op.Watch && op.Kind == model.OpExists {
			f.nodeWatches[op.Path] = true
		}
		return model.OpResult{Code: model.CodeNoNode}
	}
	if z.code != model.CodeOK && op.Kind == model.OpGet {
		return model.OpResult{Code: z.code}
	}
	r := model.OpResult{Stat: z.stat()}
	switch op.Kind {
	case model.OpChildren:
		r.Children = z.children()
		if op.Path == model.IsrChangeNotificationPath && f.phantom != nil {
			r.Children = append(r.Children, phantomPath[len(model.IsrChangeNotificationPath)+1:])
		}
		if op.Watch {
			f.childWatches[op.Path] = true
		}
		return r
	case model.OpGet:
		r.Data = z.data
		if f.electing && op.Path == model.ControllerEpochPath {
			r.Data = model.EncodeControllerEpoch(f.term - 1)
			r.Stat.Version--
		}
	}
	if op.Watch {
		f.nodeWatches[op.Path] = true
	}
	return r
}

// assume answers a write of a takeover that happened long ago: the controller
// did it then, or has decided otherwise. Only a leader is not made up.
func (f *follower) assume(op *model.Op) model.OpResult {
	z := f.tree.find(op.Path)
	ref := model.ParsePath(op.Path)
	if ref.Kind == model.PartitionStateZnode && op.Kind != model.OpDelete {
		if z == nil {
			return model.OpResult{Code: refusal}
		}
		want, _, err := model.DecodePartitionState(op.Path, op.Data)
		have, _, badly := model.DecodePartitionState(op.Path, z.data)
		if err != nil || badly != nil || want.Leader >= 0 && want.Leader != have.Leader {
			return model.OpResult{Code: refusal}
		}
		f.reread = append(f.reread, ref.TopicPartition())
	}
	if op.Path == phantomPath {
		f.phantom = nil
	}
	if z == nil {
		return model.OpResult{}
	}
	return model.OpResult{Stat: z.stat()}
}

// answerAwaited looks whether the awaited writes have come.
func (f *follower) answerAwaited() bool {
	if f.roleAhead() {
		f.stop()
		return true
	}
	w := f.await
	fresh := w.fresh
	w.fresh = nil
	for _, path := range fresh {
		for list := w.left[path]; len(list) > 0; list = w.left[path] {
			r, ok := f.match(&w.call.Ops[list[0]])
			if !ok {
				break
			}
			w.results[list[0]], w.since, w.seen = r, f.now, true
			if w.left[path] = list[1:]; len(list) == 1 {
				delete(w.left, path)
			}
		}
	}
	if len(w.left) > 0 {
		limit := w.since + awaitMillis
		if f.suspect {
			limit = w.since + silentMillis
		}
		if f.now < limit {
			f.wake(limit)
			return false
		}
		f.abandon(w)
	}
	f.await = nil
	if w.seen && !f.event.abandoned {
		f.publish()
	}
	f.settle(model.Result{Ops: w.results})
	return true
}

// abandon refuses what did not come.
func (f *follower) abandon(w *await) {
	n := 0
	for i := range w.call.Ops {
		op := &w.call.Ops[i]
		if !slices.Contains(w.left[op.Path], i) {
			continue
		}
		w.results[i] = model.OpResult{Code: refusal}
		if n++; n <= divergencesTold {
			ref := model.ParsePath(op.Path)
			subject := op.Path
			if ref.Kind == model.PartitionStateZnode {
				subject = ref.TopicPartition().String()
			}
			f.diverge(ref.Topic, subject, "expected "+describe(op)+", which did not come")
		}
	}
	f.event.abandoned = true
	f.event.records = nil
}

// describe is a write in words.
func describe(op *model.Op) string {
	if model.ParsePath(op.Path).Kind == model.PartitionStateZnode && op.Data != nil {
		return content(op.Path, op.Data)
	}
	return op.Kind.String() + " " + op.Path
}

// content is what a state znode says.
func content(path string, data []byte) string {
	l, present, err := model.DecodePartitionState(path, data)
	if err != nil || !present {
		return "no leadership"
	}
	return fmt.Sprintf("leader %d, ISR %s, leader epoch %d", l.Leader, model.JoinIDs(l.ISR), l.LeaderEpoch)
}

// match finds the controller's own write of a proposed one.
func (f *follower) match(op *model.Op) (model.OpResult, bool) {
	if op.Path == phantomPath {
		f.phantom = nil
		return model.OpResult{}, true
	}
	z, p := f.tree.find(op.Path), f.changes.of(op.Path)
	switch op.Kind {
	case model.OpCreate:
		if z != nil {
			return model.OpResult{Code: model.CodeNodeExists}, true
		}
		return f.matchCreate(op, p)
	case model.OpSet:
		if z == nil {
			return model.OpResult{Code: model.CodeNoNode}, true
		}
		if op.Version != model.AnyVersion && op.Version != z.version {
			return model.OpResult{Code: model.CodeBadVersion}, true
		}
		return f.matchSet(op, z, p)
	case model.OpDelete:
		if z == nil {
			return model.OpResult{Code: model.CodeNoNode}, true
		}
		return f.matchDelete(op)
	}
	return model.OpResult{}, true
}

// matchCreate: a znode may have been changed again before it was read; what it
// was at first is then what was proposed.
func (f *follower) matchCreate(op *model.Op, p *pending) (model.OpResult, bool) {
	if p == nil {
		return model.OpResult{}, false
	}
	st := model.Stat{Czxid: p.Znode.Stat.Czxid, Mzxid: p.Znode.Stat.Czxid}
	switch {
	case p.Znode.Missing: // made and gone
		f.put(op.Path, op.Data, st)
		return model.OpResult{Stat: st}, true
	case same(op.Path, op.Data, p.Znode.Data):
		f.confirm(p)
		return model.OpResult{Stat: p.Znode.Stat}, true
	case p.Znode.Stat.Version > 0:
		f.put(op.Path, op.Data, st)
		return model.OpResult{Stat: st}, true
	}
	f.adoptFor(op, p)
	return model.OpResult{Stat: p.Znode.Stat}, true
}

func (f *follower) matchSet(op *model.Op, z *znode, p *pending) (model.OpResult, bool) {
	if p == nil {
		return model.OpResult{}, false
	}
	switch {
	case p.Znode.Missing: // it was written, and deleted before it was read
	case same(op.Path, op.Data, p.Znode.Data):
		f.confirm(p)
		return model.OpResult{Stat: p.Znode.Stat}, true
	case p.Znode.Stat.Version > z.version+1: // written again before it was read
	case byLeader(op.Path, z.data, p.Znode.Data): // a leader was faster: read again
		f.enter(p)
		return model.OpResult{Code: model.CodeBadVersion}, true
	default:
		f.adoptFor(op, p)
		return model.OpResult{Stat: p.Znode.Stat}, true
	}
	st := z.stat()
	st.Version++
	f.put(op.Path, op.Data, st)
	return model.OpResult{Stat: st}, true
}

// matchDelete takes the deletion and what came before it.
func (f *follower) matchDelete(op *model.Op) (model.OpResult, bool) {
	list := f.changes.byPath[op.Path]
	gone := slices.IndexFunc(list, func(p *pending) bool { return p.Znode.Missing })
	if gone < 0 {
		return model.OpResult{}, false
	}
	for _, p := range slices.Clone(list[:gone+1]) {
		f.enter(p)
	}
	return model.OpResult{}, true
}

// put is a write that was not seen itself, but followed by another.
func (f *follower) put(path string, data []byte, st model.Stat) {
	f.apply(Change{Znode: model.Znode{Path: path, Data: data, Stat: st}})
}

// confirm lets in a change that was proposed.
func (f *follower) confirm(p *pending) {
	f.enter(p)
	f.event.confirmed[p.Znode.Path] = true
	if p.ref.Kind == model.PartitionStateZnode {
		delete(f.diverged, p.ref.TopicPartition().String())
	}
}

// adoptFor lets in a change in place of the proposed one.
func (f *follower) adoptFor(op *model.Op, p *pending) {
	f.enter(p)
	if p.ref.Kind != model.PartitionStateZnode {
		f.diverge(p.ref.Topic, p.Znode.Path, "expected another content")
		f.planRestart()
		return
	}
	tp := p.ref.TopicPartition()
	f.diverge(tp.Topic, tp.String(), "expected "+content(op.Path, op.Data)+", and there came "+content(op.Path, p.Znode.Data))
	f.reread = append(f.reread, tp)
}

// same tells whether two contents of a znode mean the same: the order of an ISR,
// fields of other releases and drawn topic ids do not count.
func same(path string, want, have []byte) bool {
	if bytes.Equal(want, have) {
		return true
	}
	switch model.ParsePath(path).Kind {
	case model.PartitionStateZnode:
		a, okA, errA := model.DecodePartitionState(path, want)
		b, okB, errB := model.DecodePartitionState(path, have)
		return errA == nil && errB == nil && okA && okB && a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch &&
			a.ControllerEpoch == b.ControllerEpoch && sameIDs(a.ISR, b.ISR)
	case model.TopicZnode:
		a, okA, errA := model.DecodeTopic(path, want)
		b, okB, errB := model.DecodeTopic(path, have)
		return errA == nil && errB == nil && okA && okB && slices.EqualFunc(a.Partitions, b.Partitions, func(x, y model.PartitionAssignment) bool {
			return x.Partition == y.Partition && x.Equal(y.ReplicaAssignment)
		})
	case model.ReassignPartitionsZnode:
		a, errA := model.DecodeReassignPartitions(path, want)
		b, errB := model.DecodeReassignPartitions(path, have)
		return errA == nil && errB == nil && len(a) == len(b)
	}
	return len(want) == 0 && len(have) == 0
}

func sameIDs(a, b []int32) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id int32) bool { return !slices.Contains(b, id) })
}

// byLeader: a state znode was changed as a leader asks for by AlterPartition.
func byLeader(path string, before, after []byte) bool {
	if !strings.HasSuffix(path, "/state") {
		return false
	}
	a, okA, errA := model.DecodePartitionState(path, before)
	b, okB, errB := model.DecodePartitionState(path, after)
	return errA == nil && errB == nil && okA && okB && a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch
}

// apply changes the lagging tree and fires the engine's watches.
func (f *follower) apply(c Change) {
	path := c.Znode.Path
	if c.Znode.Missing {
		if f.tree.remove(path) {
			f.fire(path, model.NodeDeleted)
			f.fireChildren(model.ParentPath(path))
		}
		return
	}
	z, made := f.tree.make(path)
	anew := !made && z.czxid != 0 && z.czxid != c.Znode.Stat.Czxid
	if anew { // it went and came back
		z.kids = nil
		f.fire(path, model.NodeDeleted)
	}
	changed := !made && !anew && z.czxid != 0
	z.data, z.czxid, z.mzxid, z.owner, z.version = c.Znode.Data, c.Znode.Stat.Czxid, c.Znode.Stat.Mzxid, c.Znode.Stat.EphemeralOwner, c.Znode.Stat.Version
	z.code = model.CodeOK
	if c.Znode.Err != "" {
		z.code = model.CodeNoAuth
	}
	if changed {
		f.fire(path, model.NodeDataChanged)
		return
	}
	f.fire(path, model.NodeCreated)
	f.fireChildren(model.ParentPath(path))
}

func (f *follower) fire(path string, kind model.WatchKind) {
	if f.eng != nil && f.nodeWatches[path] {
		delete(f.nodeWatches, path)
		f.eng.Accept(model.Input{At: f.now, Of: &model.WatchFired{Path: path, Kind: kind}})
	}
}

func (f *follower) fireChildren(path string) {
	if f.eng != nil && f.childWatches[path] {
		delete(f.childWatches, path)
		f.eng.Accept(model.Input{At: f.now, Of: &model.WatchFired{Path: path, Kind: model.NodeChildrenChanged}})
	}
}
