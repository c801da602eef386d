package zkwatch

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// meter counts the requests of a connection that have no answer yet.
type meter struct {
	window int
	full   chan struct{} // closed when as many as the window are unanswered

	mu            sync.Mutex
	unanswered    map[int32]bool
	most, written int
}

type metered struct {
	net.Conn
	m       *meter
	out, in frames
}

// frames cuts a stream; the first one of each side is the handshake.
type frames struct {
	buf   []byte
	shook bool
}

// take gives the xid of each frame that is complete.
func (f *frames) take(b []byte, each func(xid int32)) {
	f.buf = append(f.buf, b...)
	for len(f.buf) >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(f.buf))
		if len(f.buf) < n {
			return
		}
		if f.shook {
			each(int32(binary.BigEndian.Uint32(f.buf[4:])))
		}
		f.shook = true
		f.buf = f.buf[n:]
	}
}

func (c *metered) Write(b []byte) (int, error) {
	c.out.take(b, c.m.sent)
	return c.Conn.Write(b)
}

func (c *metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.take(b[:n], c.m.answered)
	return n, err
}

// sent counts go-zookeeper's own requests: those of the link have negative xids.
func (m *meter) sent(xid int32) {
	if xid <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unanswered[xid] = true
	m.written++
	m.most = max(m.most, len(m.unanswered))
	if len(m.unanswered) == m.window && m.full != nil {
		close(m.full)
		m.full = nil
	}
}

func (m *meter) answered(xid int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unanswered, xid)
}

// B9, 14.01: the requests of a call go out one behind the other, as many at a time
// as the window has places, and no more before one is answered. Kafka:
// zookeeper.max.in.flight.requests.
func TestAsManyRequestsAreInFlightAsTheWindowHas(t *testing.T) {
	for _, tc := range []struct {
		name string
		op   func(i int) model.Op
	}{
		{"fenced writes", func(i int) model.Op { return create(fmt.Sprintf("/brokers/topics/t%02d", i), "x") }},
		{"reads that arm watches", func(i int) model.Op { return watched(get(fmt.Sprintf("/brokers/topics/t%02d", i))) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const window, requests = 3, 40
			l := newLab(t)
			l.seed("/controller_epoch=1", "/brokers/topics")
			// Of its own, for long ticks: nothing passes while requests are held, pings neither.
			server := zkserver.NewServer(l.store, zkserver.ServerOptions{TickTime: limit})
			t.Cleanup(func() { server.Close() })
			address, err := server.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			full, goOn := make(chan struct{}), make(chan struct{})
			m := &meter{window: window, full: full, unanswered: map[int32]bool{}}
			c := l.connect(Options{Gate: Controller(), Window: window, SessionTimeout: 3 * limit, OnInput: func(model.Stimulus) {},
				Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
					conn, err := (&net.Dialer{}).DialContext(ctx, network, address.String())
					return &metered{Conn: conn, m: m}, err
				}})
			other := l.connect(Options{})
			holder := c.State().SessionID
			l.onRequest(func(r zkserver.Request) zkserver.Verdict {
				if r.Session == holder {
					return zkserver.Verdict{Hold: goOn} // and what comes behind it
				}
				return zkserver.Verdict{}
			})
			k := &model.Call{Purpose: "test", Fenced: true}
			for i := range requests {
				k.Ops = append(k.Ops, tc.op(i))
			}
			done := make(chan model.Result, 1)
			go func() { done <- c.Do(k) }()
			within(t, "filling the window", func() { <-full })
			for range 50 { // time enough for one more request to go out, if it could
				other.Do(call(exists("/brokers/topics")))
			}
			m.mu.Lock()
			written := m.written
			m.mu.Unlock()
			close(goOn)
			within(t, "the call", func() {
				if r := <-done; len(r.Ops) != requests {
					t.Errorf("%d results", len(r.Ops))
				}
			})
			m.mu.Lock()
			defer m.mu.Unlock()
			if written != window || m.most != window || m.written != requests {
				t.Errorf("unanswered %d, at most %d, in all %d: want %d, %d and %d", written, m.most, m.written, window, window, requests)
			}
		})
	}
}
