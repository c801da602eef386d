package zkwatch

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// limit is how long a test waits for what must come. It is long: it ends only
// tests that fail.
const limit = 20 * time.Second

// lab is an embedded server with a hook that a test may change.
type lab struct {
	t      testing.TB
	store  *zkserver.Store
	server *zkserver.Server

	mu        sync.Mutex
	intercept func(zkserver.Request) zkserver.Verdict
	requests  []zkserver.Request
	txns      []zkserver.Txn
}

func newLab(t testing.TB) *lab {
	l := &lab{t: t}
	l.store = zkserver.NewStore(zkserver.Options{
		Intercept: func(r zkserver.Request) zkserver.Verdict {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.requests = append(l.requests, r)
			if l.intercept == nil {
				return zkserver.Verdict{}
			}
			return l.intercept(r)
		},
		OnTxn: func(x zkserver.Txn) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.txns = append(l.txns, x)
		},
	})
	l.server = zkserver.NewServer(l.store, zkserver.ServerOptions{TickTime: 100 * time.Millisecond})
	t.Cleanup(func() { l.server.Close() })
	return l
}

// onRequest sets the hook.
func (l *lab) onRequest(f func(zkserver.Request) zkserver.Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.intercept = f
}

// asked lists what a kind of request asked for, since the last call.
func (l *lab) asked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, r := range l.requests {
		line := r.Op.String()
		for _, p := range r.Paths {
			line += " " + p
		}
		for _, op := range r.Ops {
			line += fmt.Sprintf(" %s:%s", op.Kind, op.Path)
		}
		out = append(out, line)
	}
	l.requests = nil
	return out
}

func (l *lab) dial(_ context.Context, _, address string) (net.Conn, error) {
	return l.server.Dial(address)
}

// seed creates znodes with their parents: path, or path=data.
func (l *lab) seed(znodes ...string) {
	l.t.Helper()
	for _, z := range znodes {
		path, data, hasData := strings.Cut(z, "=")
		for i := 1; i < len(path); i++ {
			if path[i] == '/' {
				l.store.Apply(0, zkserver.Create(path[:i], nil, 0))
			}
		}
		var payload []byte
		if hasData {
			payload = []byte(data)
		}
		if r, _ := l.store.Apply(0, zkserver.Create(path, payload, 0)); r.Code != zkserver.OK {
			l.t.Fatalf("seed %s: %s", path, r.Code)
		}
	}
}

func (l *lab) set(path, data string) {
	l.t.Helper()
	if r, _ := l.store.Apply(0, zkserver.Set(path, []byte(data), -1)); r.Code != zkserver.OK {
		l.t.Fatalf("set %s: %s", path, r.Code)
	}
}

func (l *lab) remove(path string) {
	l.t.Helper()
	if r, _ := l.store.Apply(0, zkserver.Delete(path, -1)); r.Code != zkserver.OK {
		l.t.Fatalf("delete %s: %s", path, r.Code)
	}
}

// connect dials the lab. Options that are not set are those of a test.
func (l *lab) connect(opt Options) *Conn {
	l.t.Helper()
	if opt.Servers == "" {
		opt.Servers = "lab:2181"
	}
	if opt.Dialer == nil {
		opt.Dialer = l.dial
	}
	return dialTest(l.t, opt)
}

// dialTelling is dial, and tells of each.
func (l *lab) dialTelling(dials *stream[string]) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.put(address)
		return l.dial(ctx, network, address)
	}
}

func dialTest(t testing.TB, opt Options) *Conn {
	t.Helper()
	if opt.SessionTimeout == 0 {
		opt.SessionTimeout = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := Dial(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// stream collects what callbacks say, for a test to wait on.
type stream[T any] struct{ ch chan T }

func newStream[T any]() *stream[T] { return &stream[T]{ch: make(chan T, 10000)} }

func (s *stream[T]) put(v T) { s.ch <- v }

func (s *stream[T]) next(t testing.TB, what string) T {
	t.Helper()
	select {
	case v := <-s.ch:
		return v
	case <-time.After(limit):
		t.Fatalf("waited %v for %s", limit, what)
		panic("unreachable")
	}
}

// drained returns what has come so far.
func (s *stream[T]) drained() []T {
	var out []T
	for {
		select {
		case v := <-s.ch:
			out = append(out, v)
		default:
			return out
		}
	}
}

// within runs f and fails the test if it does not return.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s did not return within %v", what, limit)
	}
}

func call(ops ...model.Op) *model.Call { return &model.Call{Purpose: "test", Ops: ops} }

func get(path string) model.Op    { return model.Op{Kind: model.OpGet, Path: path} }
func exists(path string) model.Op { return model.Op{Kind: model.OpExists, Path: path} }
func children(path string) model.Op {
	return model.Op{Kind: model.OpChildren, Path: path}
}
func create(path, data string) model.Op {
	return model.Op{Kind: model.OpCreate, Path: path, Data: []byte(data)}
}
func set(path, data string, version int32) model.Op {
	return model.Op{Kind: model.OpSet, Path: path, Data: []byte(data), Version: version}
}
func remove(path string, version int32) model.Op {
	return model.Op{Kind: model.OpDelete, Path: path, Version: version}
}
func watched(op model.Op) model.Op { op.Watch = true; return op }

func codes(r model.Result) string {
	var parts []string
	for _, o := range r.Ops {
		part := o.Code.String()
		if o.Check != model.CodeOK {
			part = o.Check.String() + "/" + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func wantCodes(t testing.TB, r model.Result, want string) {
	t.Helper()
	if got := codes(r); got != want {
		t.Fatalf("codes %s, want %s", got, want)
	}
}

// cutOnce closes the connection at the next request of a kind, before or after
// it is done.
func cutOnce(l *lab, op string, after bool) {
	done := false
	l.onRequest(func(r zkserver.Request) zkserver.Verdict {
		if done || r.Op.String() != op {
			return zkserver.Verdict{}
		}
		done = true
		if after {
			return zkserver.Verdict{Cut: zkserver.CutAfter}
		}
		return zkserver.Verdict{Cut: zkserver.CutBefore}
	})
}

// endSession takes a session over on a connection of its own and closes it, as
// if it had expired.
func endSession(t testing.TB, address string, id int64, password []byte) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, limit)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(limit))
	hello := &encoder{b: make([]byte, 4)}
	hello.int32(0)
	hello.int64(0)
	hello.int32(6000)
	hello.int64(id)
	hello.bytes(password)
	bye := newFrame(1, opClose)
	if _, err := conn.Write(append(hello.frame(), bye.frame()...)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Logf("close of session 0x%x: %v", id, err)
	}
}

// tape is a dialer that keeps the last handshake of a server.
type tape struct {
	mu   sync.Mutex
	head []byte
}

type taped struct {
	net.Conn
	tape *tape
}

func (p *tape) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.head = nil
	return taped{conn, p}, err
}

func (c taped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.tape.mu.Lock()
	defer c.tape.mu.Unlock()
	if len(c.tape.head) < 40 {
		c.tape.head = append(c.tape.head, b[:n]...)
	}
	return n, err
}

// end ends the session of the last handshake.
func (p *tape) end(t testing.TB, address string) {
	t.Helper()
	p.mu.Lock()
	d := decoder{b: p.head}
	p.mu.Unlock()
	d.int64() // length and version
	d.int32() // timeout
	id, password := d.int64(), d.buffer()
	if d.err != nil {
		t.Fatal(d.err)
	}
	endSession(t, address, id, password)
}
