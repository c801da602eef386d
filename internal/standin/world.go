package standin

import (
	"encoding/binary"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// Options of a World. Store is required.
type Options struct {
	Store  *zkserver.Store
	Chroot string
	// Respond answers a request to a broker; false: no answer comes (yet).
	Respond func(broker int32, r model.ControlRequest) (model.ControlResponse, bool)
	// Fault may answer a call in ZooKeeper's place; nil result: not now. An op
	// that it answers with CONNECTIONLOSS is performed after it.
	Fault func(c *model.Call) *model.Result
}

// Sent is one request that was queued for a broker.
type Sent struct {
	Broker  int32
	Request model.ControlRequest
}

// World answers a controller's steps.
type World struct {
	Options
	Session  int64  // of the controller
	Now      int64  // ms since 1970; rises by one with each step
	Sent     []Sent // requests, oldest first
	Replies  []*model.Reply
	Alarms   map[string]int64 // when each rings, on Now's scale
	Links    map[int32]bool
	Repeated []int // the ops of the last call that lost answers

	inputs []model.Input
	drawn  uint64
}

// New makes a world with a fresh session.
func New(o Options) *World {
	w := &World{Options: o, Now: 1, Alarms: map[string]int64{}, Links: map[int32]bool{}}
	w.Session, _ = o.Store.CreateSession(time.Hour)
	return w
}

// Push queues an input.
func (w *World) Push(s model.Stimulus) { w.inputs = append(w.inputs, model.Input{At: w.Now, Of: s}) }

// Next is the oldest input not taken yet.
func (w *World) Next() (model.Input, bool) {
	if len(w.inputs) == 0 {
		return model.Input{}, false
	}
	in := w.inputs[0]
	w.inputs = w.inputs[1:]
	return in, true
}

// Notify makes an input of a fired watch. It implements zkserver.Watcher.
func (w *World) Notify(e zkserver.Event) {
	path, ok := model.StripChroot(w.Chroot, e.Path)
	if !ok {
		return
	}
	kinds := map[zkserver.EventType]model.WatchKind{zkserver.NodeCreated: model.NodeCreated, zkserver.NodeDeleted: model.NodeDeleted,
		zkserver.NodeDataChanged: model.NodeDataChanged, zkserver.NodeChildrenChanged: model.NodeChildrenChanged}
	w.Push(&model.WatchFired{Path: path, Kind: kinds[e.Type]})
}

// Expire ends the controller's session; Renew begins the next one.
func (w *World) Expire() {
	w.Store.Unwatch(w)
	w.Store.Expire(w.Session)
	w.Push(&model.SessionExpired{})
}

// Renew opens a new session after Expire.
func (w *World) Renew() {
	w.Session, _ = w.Store.CreateSession(time.Hour)
	w.Push(&model.SessionRenewed{Session: w.Session})
}

// Perform answers a step.
func (w *World) Perform(s model.Step) model.Result {
	w.Now++
	r := model.Result{At: w.Now}
	switch s := s.(type) {
	case *model.Call:
		if w.Fault != nil {
			if f := w.Fault(s); f != nil {
				w.repeat(s, f)
				f.At = w.Now
				return *f
			}
		}
		r.Ops = w.call(s)
	case *model.Send:
		w.send(s)
	case *model.Link:
		w.Links[s.Broker.ID] = s.Up
	case *model.Reply:
		w.Replies = append(w.Replies, s)
	case *model.Alarm:
		if s.Cancel {
			delete(w.Alarms, s.Name)
		} else {
			w.Alarms[s.Name] = w.Now + s.AfterMillis
		}
	case *model.Draw:
		w.drawn++
		binary.BigEndian.PutUint64(r.ID[8:], w.drawn)
	}
	return r
}

// repeat performs the ops whose answers were lost, as Kafka's client does after
// the connection is back.
func (w *World) repeat(c *model.Call, f *model.Result) {
	var lost []int
	again := *c
	again.Ops = nil
	for i, r := range f.Ops {
		if r.Code == model.CodeConnectionLoss {
			lost = append(lost, i)
			again.Ops = append(again.Ops, c.Ops[i])
		}
	}
	if lost == nil {
		return
	}
	w.Repeated = lost
	for i, r := range w.call(&again) {
		f.Ops[lost[i]] = r
	}
}

func (w *World) send(s *model.Send) {
	w.Sent = append(w.Sent, Sent{s.Broker, s.Request})
	if w.Respond == nil {
		return
	}
	if answer, ok := w.Respond(s.Broker, s.Request); ok {
		w.Push(&model.Responded{Broker: s.Broker, Request: s.Request, Response: answer})
	}
}

func (w *World) call(c *model.Call) []model.OpResult {
	if c.Atomic {
		return w.atomic(c)
	}
	out := make([]model.OpResult, len(c.Ops))
	for i := range c.Ops {
		op := &c.Ops[i]
		switch {
		case !op.Kind.Writes():
			out[i] = w.read(op)
		case c.Fenced:
			rs, _ := w.Store.Multi(w.Session, []zkserver.Op{zkserver.Check(w.path(model.ControllerEpochPath), c.Epoch), w.write(op)})
			if rs[0].Code != zkserver.OK {
				out[i] = model.OpResult{Code: model.CodeRuntimeInconsistency, Check: model.Code(rs[0].Code)}
			} else {
				out[i] = written(rs[1])
			}
		default:
			r, _ := w.Store.Apply(w.Session, w.write(op))
			out[i] = written(r)
		}
	}
	return out
}

func (w *World) atomic(c *model.Call) []model.OpResult {
	ops := make([]zkserver.Op, len(c.Ops))
	for i := range c.Ops {
		ops[i] = w.write(&c.Ops[i])
	}
	rs, _ := w.Store.Multi(w.Session, ops)
	out := make([]model.OpResult, len(rs))
	for i, r := range rs {
		out[i] = written(r)
	}
	return out
}

func (w *World) path(p string) string { return model.JoinChroot(w.Chroot, p) }

func (w *World) write(op *model.Op) zkserver.Op {
	path := w.path(op.Path)
	switch op.Kind {
	case model.OpCreate:
		var flags int32
		switch {
		case op.Ephemeral:
			flags = zkserver.Ephemeral
		case op.Sequential:
			flags = zkserver.Sequential
		}
		return zkserver.Create(path, op.Data, flags)
	case model.OpSet:
		return zkserver.Set(path, op.Data, op.Version)
	case model.OpCheck:
		return zkserver.Check(path, op.Version)
	}
	return zkserver.Delete(path, op.Version)
}

func written(r zkserver.OpResult) model.OpResult {
	return model.OpResult{Code: model.Code(r.Code), Stat: Stat(r.Stat)}
}

func (w *World) read(op *model.Op) model.OpResult {
	var watcher zkserver.Watcher
	if op.Watch {
		watcher = w
	}
	path := w.path(op.Path)
	var r model.OpResult
	var stat zkserver.Stat
	var code zkserver.Code
	switch op.Kind {
	case model.OpGet:
		r.Data, stat, code = w.Store.GetW(watcher, path)
	case model.OpExists:
		stat, code = w.Store.ExistsW(watcher, path)
	default:
		r.Children, stat, code = w.Store.ChildrenW(watcher, path)
	}
	r.Code, r.Stat = model.Code(code), Stat(stat)
	return r
}

// Stat converts the server's Stat.
func Stat(s zkserver.Stat) model.Stat {
	return model.Stat{Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: s.Ctime, Mtime: s.Mtime,
		Version: s.Version, CVersion: s.Cversion, AVersion: s.Aversion, EphemeralOwner: s.EphemeralOwner, NumChildren: s.NumChildren}
}
