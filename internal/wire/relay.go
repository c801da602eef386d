package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// Relay hands on to a registered broker what any broker may be asked and the
// controller does not answer itself. Both are called on connections' goroutines.
type Relay struct {
	// Versions are those that every registered broker takes, by api key.
	Versions func() map[int16]model.VersionRange
	// Dial connects to a registered broker's endpoint of that listener name.
	Dial func(ctx context.Context, listener string) (net.Conn, error)
}

// relayed are the keys that are handed on. FindCoordinator, InitProducerId; ACLs:
// describe, create, delete; configs, client quotas, SCRAM users: describe.
var relayed = []int16{10, 22, 29, 30, 31, 32, 48, 50}

const (
	relayTimeout = 30 * time.Second // to connect, and then for an answer
	relayDials   = 3
)

// relays makes the apis that are handed on now, in the versions that brokers take.
func (s *Server) relays() map[int16]api {
	out := map[int16]api{}
	if s.opt.Relay == nil {
		return out
	}
	versions := s.opt.Relay.Versions()
	for _, key := range relayed {
		if r, ok := versions[key]; ok { // no more than can be read here
			out[key] = api{key: key, min: r.Min, max: min(r.Max, kmsg.RequestForKey(key).MaxVersion()), relay: true}
		}
	}
	return out
}

// find is the api of a key.
func (s *Server) find(key int16) (api, bool) {
	if a, ok := s.apis[key]; ok {
		return a, true
	}
	if !slices.Contains(relayed, key) {
		return api{}, false
	}
	a, ok := s.relays()[key]
	return a, ok
}

// handOn is one request on its way to a broker.
type handOn struct {
	frame []byte
	slot  chan<- reply
	whole func(answer []byte) ([]byte, error) // makes the broker's answer the client's; nil: it is
}

// upstream is a client connection's own connection to a broker: correlation ids
// are the client's, and answers come in the order of the requests.
type upstream struct {
	sc   *serverConn
	todo chan handOn // has room for as many as may be unanswered
	r    *bufio.Reader

	mu    sync.Mutex
	conn  net.Conn
	ended bool
}

// relay answers what is asked about this process itself or is not allowed, and
// hands the rest on.
func (sc *serverConn) relay(c *call, frame []byte, slot chan<- reply) error {
	h := handOn{frame: frame, slot: slot}
	if c.rules != nil {
		refusal, merge := authorizeHandOn(c)
		if refusal != nil {
			slot <- reply{call: c, response: refusal}
			return nil
		}
		if merge != nil {
			h.frame = kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.clientID)).AppendRequest(nil, c.request, c.correlationID)[4:]
			h.whole = func(answer []byte) ([]byte, error) { return merged(c, answer, merge) }
		}
	}
	if own := ownConfigs(c); own != nil {
		slot <- reply{call: c, response: own}
		return nil
	}
	if sc.up == nil {
		sc.up = &upstream{sc: sc, todo: make(chan handOn, sc.server.opt.MaxUnanswered)}
		sc.relaying.Go(sc.up.run)
	}
	sc.up.todo <- h
	return nil
}

// merged is a broker's answer with what this process refuses itself.
func merged(c *call, answer []byte, merge func(kmsg.Response)) ([]byte, error) {
	response := c.request.ResponseKind()
	body := answer[4:]
	if response.IsFlexible() {
		var err error
		if body, err = skipTags(body); err != nil {
			return nil, err
		}
	}
	if err := response.ReadFrom(body); err != nil {
		return nil, err
	}
	merge(response)
	return encodeResponse(response, c.correlationID)[4:], nil
}

// run hands on until the client's connection closes. A request that could not be
// answered closes it: whether a broker took it is not known.
func (u *upstream) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer u.disconnect()
	u.sc.relaying.Go(func() {
		<-u.sc.closing
		cancel()
		u.end()
	})
	for {
		select {
		case <-u.sc.closing:
			return
		case h := <-u.todo:
			answer, err := u.exchange(ctx, h.frame)
			if err == nil && h.whole != nil {
				answer, err = h.whole(answer)
			}
			if err != nil {
				u.sc.server.failed(u.sc.peer(), fmt.Errorf("handing a request with key %d on to a broker: %w", int16(binary.BigEndian.Uint16(h.frame)), err))
				u.sc.close()
				return
			}
			h.slot <- reply{raw: answer}
		}
	}
}

func (u *upstream) exchange(ctx context.Context, frame []byte) ([]byte, error) {
	if err := u.connect(ctx); err != nil {
		return nil, err
	}
	if err := u.conn.SetDeadline(time.Now().Add(relayTimeout)); err != nil {
		return nil, err
	}
	whole := slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame)
	if _, err := u.conn.Write(whole); err != nil {
		return nil, err
	}
	answer, err := readFrame(u.r, 4, u.sc.server.opt.MaxFrame)
	if err != nil {
		return nil, err
	}
	if got, want := binary.BigEndian.Uint32(answer), binary.BigEndian.Uint32(frame[4:]); got != want {
		return nil, fmt.Errorf("the broker answered request %d instead of %d", got, want)
	}
	return answer, nil
}

// connect opens a connection unless there is one; brokers may have closed it
// while nothing was asked.
func (u *upstream) connect(ctx context.Context) error {
	if u.conn != nil && u.stale() {
		u.disconnect()
	}
	var err error
	for i := 0; u.conn == nil; i++ {
		if i == relayDials {
			return err
		}
		var c net.Conn
		dial, cancel := context.WithTimeout(ctx, relayTimeout)
		c, err = u.sc.server.opt.Relay.Dial(dial, u.sc.listener)
		cancel()
		if err == nil {
			err = u.use(c)
		}
	}
	return nil
}

func (u *upstream) use(c net.Conn) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		c.Close()
		return net.ErrClosed
	}
	u.conn, u.r = c, bufio.NewReader(c)
	return nil
}

// end breaks off whatever is being handed on.
func (u *upstream) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	if u.conn != nil {
		u.conn.Close()
	}
}

// stale tells whether the broker has closed the connection.
func (u *upstream) stale() bool {
	if err := u.conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	_, err := u.r.Peek(1)
	timeout, ok := errors.AsType[net.Error](err)
	return !ok || !timeout.Timeout()
}

func (u *upstream) disconnect() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil {
		u.conn.Close()
		u.conn = nil
	}
}
