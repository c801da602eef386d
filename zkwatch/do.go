package zkwatch

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/model"
)

// maxRequest is the largest request that a server with default settings takes
// (jute.maxbuffer). It answers a larger one by closing the connection, which
// would be repeated for ever.
const maxRequest = 1048575

// unit is what travels as one request: an op, a fenced write, or a transaction.
type unit struct {
	lo, hi int // its ops in the call
	flight *flight
	tries  int
}

// Do performs a call and waits for all of its results; see model.Call. The ops
// go out in their order and are answered per op. A request whose answer a broken
// connection took away is sent again when the session has a connection again, as
// often as it takes; when the session has ended instead, its result is
// SESSIONEXPIRED, and nothing of it is sent in the next session. What the gate
// refuses has the result READONLYMODE and is not sent.
//
// A fenced write whose fence did not hold has the fence's code in Check; one that
// got no results of its own (SESSIONEXPIRED) has that code in Check and Code. The
// result of a create has in its Stat what follows from its zxid: the times are
// not known.
func (c *Conn) Do(call *model.Call) model.Result {
	d := &doing{c: c, call: call, sess: c.session(), results: make([]model.OpResult, len(call.Ops))}
	for lo := 0; lo < len(call.Ops); {
		hi := lo
		for hi < len(call.Ops) && d.bulky(hi) {
			hi++
		}
		if hi-lo > 1 {
			d.readMany(lo, hi)
			lo = hi
			continue
		}
		for hi = lo; hi < len(call.Ops) && !(d.bulky(hi) && hi+1 < len(call.Ops) && d.bulky(hi+1)); hi++ {
		}
		d.pipeline(d.units(lo, hi))
		lo = hi
	}
	return model.Result{At: time.Now().UnixMilli(), Ops: d.results}
}

// doing is one call at work.
type doing struct {
	c       *Conn
	call    *model.Call
	sess    *session // the whole call belongs to it
	results []model.OpResult
}

// watches tells whether an op arms a watch.
func (d *doing) watches(op *model.Op) bool { return op.Watch && d.c.opt.OnInput != nil }

// bulky tells whether an op may be read together with its neighbours.
func (d *doing) bulky(i int) bool {
	op := &d.call.Ops[i]
	return op.Kind == model.OpGet && !d.watches(op) && !d.call.Atomic
}

func (d *doing) fail(lo, hi int, code model.Code) {
	for i := lo; i < hi; i++ {
		d.results[i] = model.OpResult{Code: code}
		if d.fenced(i) {
			d.results[i].Check = code
		}
	}
}

func (d *doing) fenced(i int) bool {
	return d.call.Fenced && !d.call.Atomic && d.call.Ops[i].Kind.Writes()
}

// units cuts a stretch of ops into requests. What can't be sent is answered here.
func (d *doing) units(lo, hi int) []*unit {
	if d.call.Atomic {
		if lo == hi || !d.sendable(lo, hi) {
			return nil
		}
		return []*unit{{lo: lo, hi: hi}}
	}
	units := make([]*unit, 0, hi-lo)
	for i := lo; i < hi; i++ {
		if d.sendable(i, i+1) {
			units = append(units, &unit{lo: i, hi: i + 1})
		}
	}
	return units
}

func (d *doing) sendable(lo, hi int) bool {
	var writes []model.Op
	size := 64
	for _, op := range d.call.Ops[lo:hi] {
		if op.Kind.Writes() {
			writes = append(writes, op)
		} else if d.call.Atomic && op.Kind != model.OpCheck {
			d.c.opt.logf("call %s: %s cannot be part of a transaction", d.call.Purpose, op.String())
			d.fail(lo, hi, model.CodeBadArguments)
			return false
		}
		size += len(d.c.address.Chroot) + len(op.Path) + len(op.Data) + 128
	}
	if size > maxRequest {
		d.c.opt.logf("call %s: %s takes %d bytes, a ZooKeeper server takes %d: not sent", d.call.Purpose, describe(d.call.Ops[lo:hi]), size, maxRequest)
		d.fail(lo, hi, model.CodeMarshallingError)
		return false
	}
	if len(writes) == 0 {
		return true
	}
	if err := d.c.opt.Gate.Allow(writes...); err != nil {
		d.c.opt.logf("%v", err)
		d.refuse(lo, hi)
		return false
	}
	return true
}

// refuse answers for the gate: the fence was not looked at, so it is no reason.
func (d *doing) refuse(lo, hi int) {
	for i := lo; i < hi; i++ {
		d.results[i] = model.OpResult{Code: model.CodeReadOnlyMode}
	}
}

// pipeline sends requests in order, many at a time, until each has an answer.
// Kafka: KafkaZkClient.retryRequestsUntilConnected.
func (d *doing) pipeline(units []*unit) {
	for len(units) > 0 {
		if d.sess.ready(context.Background()) == nil {
			for _, u := range units {
				d.fail(u.lo, u.hi, model.CodeSessionExpired)
			}
			return
		}
		units = d.sendAll(units)
	}
}

// sendAll sends requests until a link breaks, and returns what has no answer.
func (d *doing) sendAll(units []*unit) []*unit {
	var launched, again []*unit
	for i, u := range units {
		if d.sess.isDown() {
			again = units[i:]
			break
		}
		u.tries++
		if u.tries > 1 && d.c.opt.OnResend != nil {
			d.c.opt.OnResend(Resend{Purpose: d.call.Purpose, Ops: d.call.Ops[u.lo:u.hi], Attempt: u.tries})
		}
		u.flight = d.flight(u)
		d.sess.launchInWindow(u.flight)
		launched = append(launched, u)
	}
	var lost []*unit
	for _, u := range launched {
		<-u.flight.done
		switch {
		case !u.flight.lost:
			d.settle(u)
		case d.c.opt.Gate.mode == gateAdmin && d.call.Writes():
			d.fail(u.lo, u.hi, model.CodeConnectionLoss) // its permit is used up
		default:
			lost = append(lost, u)
		}
	}
	return append(lost, again...)
}

// isDown tells whether there is no usable link just now.
func (s *session) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link == nil
}

// flight makes the request of a unit.
func (d *doing) flight(u *unit) *flight {
	op := &d.call.Ops[u.lo]
	path := model.JoinChroot(d.c.address.Chroot, op.Path)
	switch {
	case d.call.Atomic:
		return multiFlight(d.requests(u, nil))
	case d.fenced(u.lo):
		fence := &zk.CheckVersionRequest{Path: model.JoinChroot(d.c.address.Chroot, model.ControllerEpochPath), Version: d.call.Epoch}
		return multiFlight(d.requests(u, []any{fence}))
	}
	switch op.Kind {
	case model.OpGet:
		return getFlight(path, d.watches(op))
	case model.OpExists:
		return existsFlight(path, d.watches(op))
	case model.OpChildren:
		return childrenFlight(path, d.watches(op))
	case model.OpCreate:
		return newFlight(opCreate, path, false, func(conn *zk.Conn, _ *flight) error {
			_, err := conn.Create(path, op.Data, createFlags(op), d.c.acl(op.Path))
			return err
		})
	case model.OpSet:
		return newFlight(opSetData, path, false, func(conn *zk.Conn, f *flight) error {
			st, err := conn.Set(path, op.Data, op.Version)
			f.setStat(st)
			return err
		})
	default:
		return newFlight(opDelete, path, false, func(conn *zk.Conn, _ *flight) error { return conn.Delete(path, op.Version) })
	}
}

func multiFlight(requests []any) *flight {
	return newFlight(opMulti, "", false, func(conn *zk.Conn, f *flight) error {
		entries, err := conn.Multi(requests...)
		for _, e := range entries {
			if e.Stat != nil {
				f.setStat(e.Stat)
			}
			f.stats = append(f.stats, f.stat)
		}
		return err
	})
}

// requests are the ops of a unit as go-zookeeper takes them in a multi.
func (d *doing) requests(u *unit, list []any) []any {
	for i := u.lo; i < u.hi; i++ {
		op := &d.call.Ops[i]
		path := model.JoinChroot(d.c.address.Chroot, op.Path)
		switch op.Kind {
		case model.OpCreate:
			list = append(list, &zk.CreateRequest{Path: path, Data: op.Data, Acl: d.c.acl(op.Path), Flags: createFlags(op)})
		case model.OpSet:
			list = append(list, &zk.SetDataRequest{Path: path, Data: op.Data, Version: op.Version})
		case model.OpDelete:
			list = append(list, &zk.DeleteRequest{Path: path, Version: op.Version})
		case model.OpCheck:
			list = append(list, &zk.CheckVersionRequest{Path: path, Version: op.Version})
		}
	}
	return list
}

func createFlags(op *model.Op) int32 {
	switch {
	case op.Ephemeral:
		return flagEphemeral
	case op.Sequential:
		return flagSequential
	}
	return 0
}

// acl is the access control list of what is created at a path (chroot taken
// off). Kafka: ZkData.defaultAcls.
func (c *Conn) acl(path string) []zk.ACL {
	if !c.opt.SetACL || path == model.ConsumersPath {
		return zk.WorldACL(zk.PermAll)
	}
	acl := zk.AuthACL(zk.PermAll) // digest user or TLS certificate, whichever it is
	if !model.IsSensitivePath(path) {
		acl = append(acl, zk.WorldACL(zk.PermRead)...)
	}
	return acl
}

// settle turns the answer to a unit into the results of its ops.
func (d *doing) settle(u *unit) {
	f := u.flight
	o := f.outcome.Load()
	if o != nil && o.code == model.CodeReadOnlyMode {
		d.refuse(u.lo, u.hi)
		return
	}
	if f.op != opMulti {
		d.results[u.lo] = model.OpResult{Code: f.code, Data: f.data, Stat: f.stat, Children: f.children}
		if f.code != model.CodeOK {
			d.results[u.lo] = model.OpResult{Code: f.code}
		} else if f.op == opCreate {
			d.results[u.lo].Stat = d.createdStat(u.lo, o.zxid)
		}
		return
	}
	fences := 0
	if d.fenced(u.lo) {
		fences = 1
	}
	if len(o.entries) != fences+u.hi-u.lo {
		code := o.code
		if code == model.CodeOK {
			code = model.CodeRuntimeInconsistency
			d.c.opt.logf("ZooKeeper %s: a transaction of %d operations was answered with %d results", d.c.address, fences+u.hi-u.lo, len(o.entries))
		}
		d.fail(u.lo, u.hi, code)
		return
	}
	for i := u.lo; i < u.hi; i++ {
		at := fences + i - u.lo
		r := model.OpResult{Code: o.entries[at]}
		if fences == 1 {
			r.Check = o.entries[0]
		}
		if r.Code == model.CodeOK && at < len(f.stats) {
			switch d.call.Ops[i].Kind {
			case model.OpSet:
				r.Stat = f.stats[at]
			case model.OpCreate:
				r.Stat = d.createdStat(i, o.zxid)
			}
		}
		d.results[i] = r
	}
}

// createdStat is what follows of a new znode's Stat from the transaction.
func (d *doing) createdStat(i int, zxid int64) model.Stat {
	st := model.Stat{Czxid: zxid, Mzxid: zxid, Pzxid: zxid}
	if d.call.Ops[i].Ephemeral {
		d.sess.mu.Lock()
		st.EphemeralOwner = d.sess.id
		d.sess.mu.Unlock()
	}
	return st
}

// readMany reads a stretch of znodes by multiRead where the server has it.
func (d *doing) readMany(lo, hi int) {
	missing := make([]read, 0, hi-lo)
	for i := lo; i < hi; i++ {
		missing = append(missing, read{path: model.JoinChroot(d.c.address.Chroot, d.call.Ops[i].Path), index: i})
	}
	for attempt := 1; len(missing) > 0; attempt++ {
		l := d.sess.ready(context.Background())
		if l == nil {
			for _, r := range missing {
				d.fail(r.index, r.index+1, model.CodeSessionExpired)
			}
			return
		}
		if attempt > 1 && d.c.opt.OnResend != nil {
			d.c.opt.OnResend(Resend{Purpose: fmt.Sprintf("%s (%d reads)", d.call.Purpose, len(missing)), Ops: []model.Op{d.call.Ops[missing[0].index]}, Attempt: attempt})
		}
		missing = d.readOnce(l, missing)
	}
}

// readOnce reads through one link and returns what it did not answer.
func (d *doing) readOnce(l *link, reads []read) (lost []read) {
	b := newBulk(d.c, d.sess)
	b.queue = reads
	for b.busy() {
		b.pumpWait(l)
		batches, _ := b.done.wait()
		for _, batch := range batches {
			b.landed(batch)
			for i, r := range batch.reads {
				v := &batch.values[i]
				if v.lost {
					lost = append(lost, r)
					continue
				}
				d.results[r.index] = model.OpResult{Code: v.code, Data: v.data, Stat: v.stat}
			}
		}
		if len(lost) > 0 && d.sess.isDown() {
			lost = append(lost, b.abandon()...)
		}
	}
	return lost
}
