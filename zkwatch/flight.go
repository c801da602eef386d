package zkwatch

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"kstate/model"
)

// flight is one request that go-zookeeper performs.
type flight struct {
	op    int32
	path  string // in the ensemble; empty for a multi
	watch bool
	call  func(*zk.Conn, *flight) error

	sent     chan struct{}
	sentOnce sync.Once
	done     chan struct{}
	outcome  atomic.Pointer[outcome] // nil until an answer is there

	// Valid after done, if the answer was no error.
	lost       bool // unanswered: it may have been done
	code       model.Code
	data       []byte
	stat       model.Stat
	dataLength int32
	children   []string
	stats      []model.Stat // of a multi: as of each entry
}

// outcome is what the link read in an answer before go-zookeeper decoded it.
type outcome struct {
	code    model.Code
	zxid    int64
	seq     uint64
	entries []model.Code // of a multi
}

func newFlight(op int32, path string, watch bool, call func(*zk.Conn, *flight) error) *flight {
	return &flight{op: op, path: path, watch: watch, call: call, sent: make(chan struct{}), done: make(chan struct{})}
}

func (f *flight) wasSent() { f.sentOnce.Do(func() { close(f.sent) }) }

// fly performs the call and notes what came of it. go-zookeeper's errors lose
// the code where they do not know it, so the code is the link's.
func (f *flight) fly(conn *zk.Conn) {
	defer close(f.done)
	err := f.call(conn, f)
	o := f.outcome.Load()
	switch {
	case errors.Is(err, zk.ErrInvalidPath):
		f.code = model.CodeBadArguments
		if f.op == opGetData || f.op == opExists || f.op == opGetChildren2 {
			f.code = model.CodeNoNode
		}
	case o == nil || errors.Is(err, zk.ErrConnectionClosed):
		f.lost, f.code = true, model.CodeConnectionLoss
	default:
		f.code = o.code
	}
}

// matches tells whether an outgoing frame is this flight's.
func (f *flight) matches(op int32, body []byte) bool {
	if op != f.op {
		return false
	}
	if op == opMulti {
		return true
	}
	d := decoder{b: body}
	return bytes.Equal(d.raw(), []byte(f.path))
}

func (f *flight) setStat(st *zk.Stat) {
	if st == nil {
		return
	}
	f.dataLength = st.DataLength
	f.stat = model.Stat{Czxid: st.Czxid, Mzxid: st.Mzxid, Pzxid: st.Pzxid, Ctime: st.Ctime, Mtime: st.Mtime, Version: st.Version,
		CVersion: st.Cversion, AVersion: st.Aversion, EphemeralOwner: st.EphemeralOwner, NumChildren: st.NumChildren}
}

// The reads that may arm a watch: the link sets the flag, see armed.

func getFlight(path string, watch bool) *flight {
	return newFlight(opGetData, path, watch, func(conn *zk.Conn, f *flight) error {
		data, st, err := conn.Get(path)
		f.data = data
		f.setStat(st)
		return err
	})
}

func existsFlight(path string, watch bool) *flight {
	return newFlight(opExists, path, watch, func(conn *zk.Conn, f *flight) error {
		_, st, err := conn.Exists(path)
		f.setStat(st)
		return err
	})
}

func childrenFlight(path string, watch bool) *flight {
	return newFlight(opGetChildren2, path, watch, func(conn *zk.Conn, f *flight) error {
		names, st, err := conn.Children(path)
		slices.Sort(names)
		f.children = names
		f.setStat(st)
		return err
	})
}
