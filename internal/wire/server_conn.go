package wire

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/internal/handshake"
	"kstate/model"
)

// minRequestFrame is the shortest frame with a header: key, version and
// correlation id.
const minRequestFrame = 8

// serverConn is one connection of a broker or client. One goroutine reads and
// handles requests, one writes answers in the order of the requests.
type serverConn struct {
	server   *Server
	c        net.Conn
	listener string
	slots    chan chan reply // one for each request, in order
	room     chan struct{}   // holds one for each request without an answer
	once     sync.Once
	closing  chan struct{}
	up       *upstream // nil until something is handed on; of the reading goroutine
	relaying sync.WaitGroup
	identity identity // of the reading goroutine
}

// reply is what goes into a slot: a response, an answer of the controller that
// is yet to be made into one, or a broker's answer as it came.
type reply struct {
	raw      []byte
	call     *call
	response kmsg.Response
	question *question
	answer   model.Answer
	last     bool // the connection ends after it
}

// call is one request with what its handler needs to know.
type call struct {
	conn          *serverConn
	request       kmsg.Request
	correlationID int32
	clientID      string
	user          string   // who asks
	rules         *acl.Set // what who may do; nil: everybody everything
}

// from names the asker: client id and address. The client id is the client's
// own choice, so what does not belong on a screen is taken out.
func (c *call) from() string {
	if c.clientID == "" {
		return c.conn.peer()
	}
	id := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(c.clientID, "?"))
	if r := []rune(id); len(r) > shownClientID {
		id = string(r[:shownClientID]) + "..."
	}
	return id + "@" + c.conn.peer()
}

const shownClientID = 64

func newServerConn(s *Server, c net.Conn, listener string, how *handshake.Listener) *serverConn {
	if how != nil && how.TLS != nil {
		c = tls.Server(c, how.TLS)
	}
	return &serverConn{server: s, c: c, listener: listener, identity: identity{how: how}, slots: make(chan chan reply, s.opt.MaxUnanswered),
		room: make(chan struct{}, s.opt.MaxUnanswered), closing: make(chan struct{})}
}

func (sc *serverConn) peer() string { return sc.c.RemoteAddr().String() }

func (sc *serverConn) close() {
	sc.once.Do(func() {
		close(sc.closing)
		sc.c.Close()
	})
}

// run serves the connection until either side ends it.
func (sc *serverConn) run() {
	written := make(chan error, 1)
	go func() {
		err := sc.write()
		sc.close()
		written <- err
	}()
	err := sc.meet()
	if err == nil {
		err = sc.read()
	}
	sc.close()
	writeErr := <-written
	sc.relaying.Wait()
	for _, err := range []error{err, writeErr} {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			sc.server.failed(sc.peer(), err)
		}
	}
}

func (sc *serverConn) read() error {
	r := bufio.NewReaderSize(sc.c, 4<<10)
	for {
		if err := sc.awaitFrame(r); err != nil {
			return err
		}
		least, most := sc.bounds()
		frame, err := readFrame(r, least, most)
		switch {
		case err == nil:
		case sc.identity.pending() && late(err):
			return fmt.Errorf("nobody authenticated within %v", sc.server.opt.Handshake)
		case err == io.EOF: // between two frames
			return err
		default:
			return fmt.Errorf("reading a request: %w", err)
		}
		select { // waits while too many are unanswered
		case sc.room <- struct{}{}:
		case <-sc.closing:
			return net.ErrClosed
		}
		slot := make(chan reply, 1)
		sc.slots <- slot // has room, since the request has
		if err := sc.handle(frame, slot); err != nil {
			return err
		}
	}
}

// awaitFrame waits for the start of a frame: for ever while questions are
// unanswered, for the idle time otherwise.
func (sc *serverConn) awaitFrame(r *bufio.Reader) error {
	if until := sc.identity.until; !until.IsZero() {
		return sc.c.SetReadDeadline(until) // for the whole of it, however slowly it comes
	}
	for {
		if err := sc.c.SetReadDeadline(time.Now().Add(sc.server.opt.Idle)); err != nil {
			return err
		}
		_, err := r.Peek(1)
		if err == nil {
			return sc.c.SetReadDeadline(time.Now().Add(frameTimeout))
		}
		if !late(err) {
			return err
		}
		if len(sc.room) == 0 {
			return fmt.Errorf("nothing asked for %v", sc.server.opt.Idle)
		}
	}
}

// handle makes sure that the slot is filled now or by a Reply. An error closes
// the connection.
func (sc *serverConn) handle(frame []byte, slot chan reply) error {
	if sc.authenticates(frame) {
		return sc.authenticate(frame, slot)
	}
	if err := sc.identity.expired(); err != nil {
		return err
	}
	c, a, err := sc.parse(frame)
	if err != nil {
		return err
	}
	if a.key < 0 { // not served
		response, err := refuse(c)
		if err == nil {
			slot <- reply{call: c, response: response}
		}
		return err
	}
	if a.relay {
		return sc.relay(c, frame, slot)
	}
	if a.local != nil {
		response := a.local(c)
		if response == nil {
			return fmt.Errorf("%s that wants no answer: it cannot be served, and only the end of the connection says so", kmsg.NameForKey(a.key))
		}
		slot <- reply{call: c, response: response}
		return nil
	}
	ask, refusal := a.ask(c)
	if refusal != nil {
		slot <- reply{call: c, response: refusal}
		return nil
	}
	sc.server.ask(c, a, ask, slot)
	return nil
}

// parse reads header and body. For a request that is not served the api's key is
// -1, and the body is not read.
func (sc *serverConn) parse(frame []byte) (*call, api, error) {
	none := api{key: -1}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	c := &call{conn: sc, correlationID: int32(binary.BigEndian.Uint32(frame[4:])), request: kmsg.RequestForKey(key), user: sc.identity.user}
	if sc.server.opt.Rules != nil {
		c.rules = sc.server.opt.Rules()
	}
	if c.request == nil {
		return nil, none, fmt.Errorf("request with key %d, which is not one of Kafka's", key)
	}
	c.request.SetVersion(version)
	a, ok := sc.server.find(key)
	served := ok && version >= a.min && version <= a.max
	body := frame[minRequestFrame:]
	if !(key == controlledShutdownKey && version == 0) { // whose header has no client id
		var err error
		if body, err = c.readClientID(body); err != nil {
			return nil, none, fmt.Errorf("%s version %d: %w", kmsg.NameForKey(key), version, err)
		}
	}
	if !served {
		return c, none, nil
	}
	if c.request.IsFlexible() {
		var err error
		if body, err = skipTags(body); err != nil {
			return nil, none, fmt.Errorf("%s version %d: %w", kmsg.NameForKey(key), version, err)
		}
	}
	if err := c.request.ReadFrom(body); err != nil {
		return nil, none, fmt.Errorf("%s version %d (%d bytes) cannot be decoded: %w", kmsg.NameForKey(key), version, len(frame), err)
	}
	return c, a, nil
}

// readClientID takes the client id off; in all versions it has a two-byte
// length, -1 for null.
func (c *call) readClientID(b []byte) ([]byte, error) {
	if len(b) < 2 {
		return nil, errors.New("the header ends before the client id")
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	b = b[2:]
	if n > len(b) {
		return nil, fmt.Errorf("the client id is said to have %d bytes, %d are left", n, len(b))
	}
	if n > 0 {
		c.clientID = string(b[:n])
		b = b[n:]
	}
	return b, nil
}

// write answers in the order of the requests.
func (sc *serverConn) write() error {
	for {
		select {
		case slot := <-sc.slots:
			select {
			case r := <-slot:
				if err := sc.send(r); err != nil || r.last {
					return err
				}
				<-sc.room
			case <-sc.closing:
				return nil
			}
		case <-sc.closing:
			return nil
		}
	}
}

func (sc *serverConn) send(r reply) error {
	if r.raw != nil {
		return sc.put(slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(r.raw))), r.raw), "what was handed on")
	}
	c, response := r.call, r.response
	if r.question != nil {
		c = r.question.call
		var ok bool
		if response, ok = r.question.api.answer(c, r.answer); !ok {
			return fmt.Errorf("%s was answered with a %T", kmsg.NameForKey(c.request.Key()), r.answer)
		}
	}
	return sc.put(encodeResponse(response, c.correlationID), kmsg.NameForKey(response.Key()))
}

func (sc *serverConn) put(frame []byte, to string) error {
	if err := sc.c.SetWriteDeadline(time.Now().Add(frameTimeout)); err != nil {
		return err
	}
	if _, err := sc.c.Write(frame); err != nil {
		return fmt.Errorf("writing the answer to %s: %w", to, err)
	}
	return nil
}

// encodeResponse is the whole frame. The header of a flexible response has
// tagged fields, except that of ApiVersions, which any client must be able to read.
func encodeResponse(r kmsg.Response, correlationID int32) []byte {
	b := make([]byte, 4, 256)
	b = binary.BigEndian.AppendUint32(b, uint32(correlationID))
	if r.IsFlexible() && r.Key() != apiVersionsKey {
		b = append(b, 0)
	}
	b = r.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
