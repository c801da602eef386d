package wire

import (
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/model"
)

// deadline is how long a test waits for something that is bound to happen.
const deadline = 20 * time.Second

// take waits for the next value.
func take[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(deadline):
		t.Fatalf("no %s within %v\n%s", what, deadline, stacks())
		panic("unreachable")
	}
}

// until waits for a condition that another goroutine brings about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v\n%s", what, deadline, stacks())
		}
	}
}

func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

// ownGoroutines counts the goroutines that run this package's code.
func ownGoroutines() int {
	n := 0
	for _, g := range strings.Split(stacks(), "\n\n") {
		if strings.Contains(g, "wire.(*link)") || strings.Contains(g, "wire.newBrokerConn") || strings.Contains(g, "wire.(*Server)") || strings.Contains(g, "wire.(*serverConn)") {
			n++
		}
	}
	return n
}

// noGoroutinesLeft fails if code of this package still runs after Close. A
// goroutine that has said that it is done gets the moment that it needs to end.
func noGoroutinesLeft(t *testing.T) {
	t.Helper()
	until(t, "no goroutine is left after Close", func() bool { return ownGoroutines() == 0 })
}

// fakeBroker is the far end of a channel, moved by the test. Connections are
// synchronous pipes: what is written is in the reader's hands.
type fakeBroker struct {
	t      *testing.T
	conns  chan *fakeConn // each connection that was opened
	refuse chan error     // errors for the next attempts to connect
}

type fakeConn struct {
	t      *testing.T
	c      net.Conn
	frames chan fakeFrame // closed when the controller ended the connection
}

type fakeFrame struct {
	key, version  int16
	correlationID int32
	payload       []byte // what follows the header
}

func newFakeBroker(t *testing.T) *fakeBroker {
	return &fakeBroker{t: t, conns: make(chan *fakeConn, 100), refuse: make(chan error, 100)}
}

// dial is the channel's Dialer.
func (b *fakeBroker) dial(ctx context.Context, _ model.Endpoint) (net.Conn, error) {
	select {
	case err := <-b.refuse:
		return nil, err
	default:
	}
	near, far := net.Pipe()
	fc := &fakeConn{t: b.t, c: far, frames: make(chan fakeFrame, 100)}
	go fc.read()
	b.conns <- fc
	return near, nil
}

func (fc *fakeConn) read() {
	defer close(fc.frames)
	for {
		f, err := readFrame(fc.c, 8, MaxFrameSize)
		if err != nil {
			return
		}
		h := fakeFrame{key: int16(binary.BigEndian.Uint16(f)), version: int16(binary.BigEndian.Uint16(f[2:])), correlationID: int32(binary.BigEndian.Uint32(f[4:]))}
		h.payload = f[8+2+int(binary.BigEndian.Uint16(f[8:])):]
		fc.frames <- h
	}
}

// frame waits for the next request.
func (fc *fakeConn) frame() fakeFrame {
	fc.t.Helper()
	f := take(fc.t, fc.frames, "request")
	if f.payload == nil {
		fc.t.Fatal("the connection was closed")
	}
	return f
}

// ended waits until the controller has closed the connection.
func (fc *fakeConn) ended() {
	fc.t.Helper()
	if f := take(fc.t, fc.frames, "end of the connection"); f.payload != nil {
		fc.t.Fatalf("a request came: %+v", f)
	}
}

// answer answers a StopReplica of version 3 with a top-level error. It tells
// whether the controller still took it.
func (fc *fakeConn) answer(f fakeFrame, e model.KafkaError) bool {
	body := binary.BigEndian.AppendUint32(nil, uint32(f.correlationID))
	body = append(body, 0)
	body = binary.BigEndian.AppendUint16(body, uint16(e))
	return fc.raw(append(body, 1, 0))
}

func (fc *fakeConn) raw(frame []byte) bool {
	_, err := fc.c.Write(slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame))
	return err == nil
}

// request makes a StopReplica that can be told from others by its number.
func numbered(n int32) *model.StopReplicaRequest {
	return &model.StopReplicaRequest{RequestHeader: header(3), Entries: []model.StopReplicaEntry{{TopicPartition: model.TP("t", n), LeaderEpoch: n}}}
}

// number finds it again.
func (f fakeFrame) number(t *testing.T) int32 {
	t.Helper()
	for n := int32(0); n < 1000; n++ {
		if p, err := encodePayload(numbered(n), nil); err == nil && slices.Equal(p.bytes(), f.payload[1:]) {
			return n
		}
	}
	t.Fatalf("not a request of this test: %x", f.payload)
	return -1
}

func brokerWith(id int32) model.Broker {
	return model.Broker{ID: id, Endpoints: []model.Endpoint{{Listener: "INTERNAL", Protocol: "PLAINTEXT", Host: "b", Port: 9092}}}
}
