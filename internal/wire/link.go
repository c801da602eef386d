package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"kstate/model"
)

// queued is a request that waits for its turn.
type queued struct {
	request model.ControlRequest
	shared  *sharedTopics
	at      int64 // ms since 1970
}

// link is the channel to one broker. run is its goroutine; the connection
// belongs to it alone.
type link struct {
	opt      Options
	broker   int32
	endpoint model.Endpoint
	ctx      context.Context
	cancel   context.CancelFunc

	mu        sync.Mutex
	queue     []queued
	headSince int64
	sent      uint64
	wake      chan struct{}

	connected atomic.Bool

	// gate is held while an answer is passed on, and when the link is dropped.
	gate    sync.Mutex
	dropped bool

	conn        *brokerConn
	correlation int32
}

func newLink(opt Options, broker int32, e model.Endpoint) *link {
	l := &link{opt: opt, broker: broker, endpoint: e, wake: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *link) put(q queued) {
	l.mu.Lock()
	q.at = l.opt.Now()
	l.queue = append(l.queue, q)
	l.sent++
	if len(l.queue) == 1 {
		l.headSince = q.at
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// head waits for a request; false when the link was dropped.
func (l *link) head() (queued, bool) {
	for l.ctx.Err() == nil {
		l.mu.Lock()
		if len(l.queue) > 0 {
			q := l.queue[0]
			l.mu.Unlock()
			return q, true
		}
		l.mu.Unlock()
		select {
		case <-l.wake:
		case <-l.ctx.Done():
		}
	}
	return queued{}, false
}

// finish takes the head off the queue and passes its answer on, unless the link
// was dropped meanwhile.
func (l *link) finish(q queued, answer model.ControlResponse) {
	l.gate.Lock()
	defer l.gate.Unlock()
	if l.dropped {
		return
	}
	l.mu.Lock()
	l.queue[0] = queued{} // frees the request
	l.queue = l.queue[1:]
	l.headSince = l.opt.Now()
	l.mu.Unlock()
	l.opt.OnInput(&model.Responded{Broker: l.broker, Request: q.request, Response: answer})
}

// drop ends the link. After it has returned nothing is passed on.
func (l *link) drop() {
	l.cancel()
	l.gate.Lock()
	l.dropped = true
	l.gate.Unlock()
	l.mu.Lock()
	l.queue = nil
	l.mu.Unlock()
}

func (l *link) snapshot() model.Channel {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := model.Channel{Broker: l.broker, Connected: l.connected.Load(), Depth: len(l.queue), Sent: l.sent}
	if c.Depth > 0 {
		c.Head, c.HeadSince, c.Waited = l.queue[0].request.String(), l.headSince, l.headSince-l.queue[0].at
	}
	return c
}

// run sends the queued requests one after the other until the link is dropped.
func (l *link) run() {
	defer l.disconnect()
	for {
		q, ok := l.head()
		if !ok {
			return
		}
		for {
			answer, err := l.attempt(q)
			if err == nil {
				l.finish(q, answer)
				break
			}
			l.disconnect()
			if l.ctx.Err() != nil {
				return
			}
			if l.opt.OnFailure != nil {
				l.opt.OnFailure(l.broker, err)
			}
			if !l.pause(l.opt.RetryPause) {
				return
			}
		}
	}
}

// pause waits; false when the link was dropped.
func (l *link) pause(d time.Duration) bool {
	if d <= 0 {
		return l.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// held waits until hold closes; false when the link was dropped.
func (l *link) held(hold <-chan struct{}) bool {
	if hold == nil {
		return true
	}
	select {
	case <-hold:
		return l.ctx.Err() == nil
	case <-l.ctx.Done():
		return false
	}
}

// attempt sends a request once and waits for its answer.
func (l *link) attempt(q queued) (model.ControlResponse, error) {
	if answer, err := l.intercept(func(i Interceptor) Fault { return i.Request(l.broker, q.request) }); answer != nil || err != nil {
		return deref(answer), l.explain(q, "sending", err)
	}
	answer, err := l.exchange(q)
	if err != nil {
		return answer, l.explain(q, "sending", err)
	}
	instead, err := l.intercept(func(i Interceptor) Fault { return i.Response(l.broker, q.request, &answer) })
	if instead != nil {
		answer = *instead
	}
	return answer, l.explain(q, "receiving the answer to", err)
}

func deref(answer *model.ControlResponse) model.ControlResponse {
	if answer == nil {
		return model.ControlResponse{}
	}
	return *answer
}

func (l *link) explain(q queued, doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s, broker %d at %s: %w", doing, q.request.Kind(), l.broker, l.endpoint, err)
}

// intercept carries a fault out.
func (l *link) intercept(ask func(Interceptor) Fault) (*model.ControlResponse, error) {
	if l.opt.Intercept == nil {
		return nil, nil
	}
	f := ask(l.opt.Intercept)
	switch {
	case !l.pause(f.Delay) || !l.held(f.Hold):
		return nil, l.ctx.Err()
	case f.Drop:
		return nil, errDropped
	}
	return f.Answer, nil
}

// exchange connects if need be, writes the request and reads the answer.
func (l *link) exchange(q queued) (model.ControlResponse, error) {
	p, err := encodePayload(q.request, q.shared)
	if err != nil {
		return model.ControlResponse{}, err
	}
	if err := l.connect(); err != nil {
		return model.ControlResponse{}, err
	}
	h, err := headerOf(q.request)
	if err != nil {
		return model.ControlResponse{}, err
	}
	h.ControllerID = l.opt.ControllerID // the client id is that of the process
	l.correlation++
	id := l.correlation
	head, err := appendFrameHeader(nil, controlAPIs[q.request.Kind()], h, id, p.size())
	if err != nil {
		return model.ControlResponse{}, err
	}
	frame, err := l.conn.roundTrip(p.after(head), l.opt.RequestTimeout)
	if err != nil {
		return model.ControlResponse{}, err
	}
	return DecodeResponse(q.request, id, frame)
}

// connect opens a connection unless there is one that still stands.
func (l *link) connect() error {
	if l.conn != nil {
		select {
		case <-l.conn.ended:
			l.disconnect() // the broker closed it while nothing was asked
		default:
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.opt.RequestTimeout)
	defer cancel()
	c, err := l.opt.Dialer(ctx, l.endpoint)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	l.conn = newBrokerConn(l.ctx, c, &l.connected)
	return nil
}

func (l *link) disconnect() {
	if l.conn != nil {
		l.conn.close()
		l.conn = nil
	}
}

// brokerConn is a connection with a goroutine that reads its answers, so that
// its end is noticed also while nothing is asked.
type brokerConn struct {
	net.Conn
	stop    func() bool // no longer closes with the link
	answers chan []byte
	closing chan struct{} // closed by close
	ended   chan struct{} // closed when nothing more is read
	err     error         // why; set before ended is closed
}

func newBrokerConn(ctx context.Context, c net.Conn, connected *atomic.Bool) *brokerConn {
	b := &brokerConn{Conn: c, answers: make(chan []byte), closing: make(chan struct{}), ended: make(chan struct{})}
	b.stop = context.AfterFunc(ctx, func() { c.Close() })
	connected.Store(true)
	go func() {
		defer close(b.ended)
		b.err = b.read()
		connected.Store(false)
	}()
	return b
}

func (b *brokerConn) read() error {
	r := bufio.NewReaderSize(b.Conn, 16<<10)
	for {
		frame, err := readFrame(r, 4, MaxFrameSize)
		if err != nil {
			return err
		}
		select {
		case b.answers <- frame:
		case <-b.closing:
			return net.ErrClosed
		}
	}
}

// roundTrip writes a request and waits for the next answer.
func (b *brokerConn) roundTrip(request net.Buffers, timeout time.Duration) ([]byte, error) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	if err := b.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	if _, err := request.WriteTo(b.Conn); err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	select {
	case frame := <-b.answers:
		return frame, nil
	case <-b.ended:
		if errors.Is(b.err, io.EOF) {
			return nil, errors.New("the broker closed the connection before it answered")
		}
		return nil, fmt.Errorf("reading the answer: %w", b.err)
	case <-t.C:
		return nil, fmt.Errorf("no answer within %v", timeout)
	}
}

// close ends the connection and its goroutine.
func (b *brokerConn) close() {
	b.stop()
	close(b.closing)
	b.Conn.Close()
	<-b.ended
}
