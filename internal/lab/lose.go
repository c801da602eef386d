package lab

import (
	"slices"
	"sync"
	"sync/atomic"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// losses are requests of clients that shall cost their connection, each once.
type losses struct {
	armed atomic.Int32 // how many there are, for a quick no
	mu    sync.Mutex
	list  []loss
}

type loss struct {
	session int64
	op      model.Op
	after   bool
}

var opCodes = map[model.OpKind][]zkserver.OpCode{
	model.OpGet:      {zkserver.OpGetData, zkserver.OpMultiRead},
	model.OpExists:   {zkserver.OpExists},
	model.OpChildren: {zkserver.OpGetChildren, zkserver.OpGetChildren2, zkserver.OpMultiRead},
	model.OpCreate:   {zkserver.OpCreate, zkserver.OpCreate2},
	model.OpSet:      {zkserver.OpSetData},
	model.OpDelete:   {zkserver.OpDelete},
	model.OpCheck:    {zkserver.OpCheck},
}

// is tells whether a request holds the operation.
func (x *loss) is(r *zkserver.Request) bool {
	codes := opCodes[x.op.Kind]
	switch {
	case r.Session != x.session:
		return false
	case x.op.Kind >= model.OpCreate:
		return slices.ContainsFunc(r.Ops, func(op zkserver.Op) bool { return op.Path == x.op.Path && slices.Contains(codes, op.Kind) })
	}
	return slices.Contains(codes, r.Op) && slices.Contains(r.Paths, x.op.Path)
}

// Lose has the connection of a session break at its next request with that
// operation: before it is done, or after it and without an answer.
func (l *Lab) Lose(session int64, op model.Op, after bool) {
	l.losses.mu.Lock()
	defer l.losses.mu.Unlock()
	l.losses.list = append(l.losses.list, loss{session, op, after})
	l.losses.armed.Add(1)
}

// intercept is zkserver's hook.
func (l *Lab) intercept(r zkserver.Request) zkserver.Verdict {
	if l.losses.armed.Load() == 0 {
		return zkserver.Verdict{}
	}
	l.losses.mu.Lock()
	defer l.losses.mu.Unlock()
	i := slices.IndexFunc(l.losses.list, func(x loss) bool { return x.is(&r) })
	if i < 0 {
		return zkserver.Verdict{}
	}
	cut := zkserver.CutBefore
	if l.losses.list[i].after {
		cut = zkserver.CutAfter
	}
	l.losses.list = slices.Delete(l.losses.list, i, i+1)
	l.losses.armed.Add(-1)
	return zkserver.Verdict{Cut: cut}
}
