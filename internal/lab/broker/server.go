package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// serverConn is an accepted connection. Requests on it are handled one after the
// other: the next waits until the answer to the one before has gone out.
type serverConn struct {
	r          *run
	conn       net.Conn
	ctx        context.Context // ends with the connection
	controller bool            // a controller's request came on it
}

// heldAnswer waits for Release.
type heldAnswer struct {
	api  int16
	free chan struct{}
}

// accept takes connections until the listener closes.
func (r *run) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			if r.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			if !r.sleep(redialPause) { // out of descriptors, most likely
				return
			}
			continue
		}
		r.b.c.do(func() {
			if !r.alive() || r.b.behaviour.Refusing {
				conn.Close()
				return
			}
			ctx, cancel := context.WithCancel(r.ctx)
			s := &serverConn{r: r, conn: conn, ctx: ctx}
			r.conns[s] = struct{}{}
			r.b.c.spawn(func() { s.serve(cancel) })
		})
	}
}

// serve reads frames on one goroutine and handles them on another, so that a
// connection that closes is noticed while an answer is due.
func (s *serverConn) serve(cancel context.CancelFunc) {
	frames := make(chan []byte)
	s.r.b.c.spawn(func() {
		defer cancel()
		in := bufio.NewReader(s.conn)
		for {
			frame, err := readFrame(in, maxRequestBytes)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && s.ctx.Err() == nil {
					s.bad(err)
				}
				return
			}
			select {
			case frames <- frame:
			case <-s.ctx.Done():
				return
			}
		}
	})
	for open := true; open; {
		select {
		case frame := <-frames:
			open = s.handle(frame)
		case <-s.ctx.Done():
			open = false
		}
	}
	s.conn.Close()
	s.r.b.c.do(func() { delete(s.r.conns, s) })
}

func (s *serverConn) bad(err error) {
	s.r.note(Event{Kind: BadFrame, Err: fmt.Errorf("connection from %s: %w", s.conn.RemoteAddr(), err)})
}

// handle takes one frame to its answer; false closes the connection.
func (s *serverConn) handle(frame []byte) bool {
	h, body, err := parseHeader(frame)
	if err != nil {
		s.bad(err)
		return false
	}
	if limit, ok := maxVersion(s.r.b.set.Release, h.key); !ok || h.version < 0 || h.version > limit {
		if ok && h.key == keyApiVersions {
			return s.write(unsupportedApiVersions(limit), h.correlation)
		}
		s.bad(fmt.Errorf("request key %d version %d: %w", h.key, h.version, errVersion))
		return false
	}
	req, err := parseBody(h, body)
	if err != nil {
		s.bad(err)
		return false
	}
	t, resp := s.carryOut(h, req)
	if t.crash || t.drop || !t.silent && resp == nil {
		return false
	}
	if !s.wait(t, req.Key()) || !s.write(resp, h.correlation) {
		s.r.note(Event{Kind: Unanswered, Request: req, ClientID: h.clientID, Correlation: h.correlation})
		return false
	}
	s.r.note(Event{Kind: Answered, Request: req, Response: resp, ClientID: h.clientID, Correlation: h.correlation})
	return true
}

// unsupportedApiVersions is the answer in version 0 that tells a client with
// which version to ask. Kafka: KafkaApis.handleApiVersionsRequest.
func unsupportedApiVersions(limit int16) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = codeUnsupportedVersion
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MaxVersion = keyApiVersions, limit
	resp.ApiKeys = append(resp.ApiKeys, k)
	return resp
}

// carryOut lets the request work on the broker's state, as far as the rules
// permit. No response means none is due.
func (s *serverConn) carryOut(h header, req kmsg.Request) (t treatment, resp kmsg.Response) {
	r, b := s.r, s.r.b
	e := Event{Request: req, ClientID: h.clientID, Correlation: h.correlation}
	at := func(kind Kind) Event { e.Kind = kind; return e }
	b.c.do(func() {
		switch {
		case !r.alive():
			t.drop = true
			return
		case fromController(req.Key()) && b.behaviour.ControllerCut:
			t.drop = true // never arrived
			return
		case r.stopping && !r.up:
			t.silent = true // handlers have stopped, the socket server has not
			return
		}
		s.controller = s.controller || fromController(req.Key())
		b.note(at(Received))
		t = b.treat(req)
		switch {
		case t.code != codeNone:
			resp = wholly(req, t.code)
		case !t.undone:
			resp = b.answer(req, t.wrong)
		default:
			resp = wholly(req, codeUnknownServerError)
		}
		switch {
		case t.crash:
			b.note(at(Unanswered))
			b.die(Killed, fmt.Errorf("crash rule: %s", kmsg.NameForKey(req.Key())))
		case t.drop, resp == nil:
			b.note(at(Unanswered))
		case t.silent:
			resp = nil
		}
	})
	return t, resp
}

// wait holds the answer back as the rules say; false when it never goes out.
func (s *serverConn) wait(t treatment, api int16) bool {
	if t.silent {
		<-s.ctx.Done()
		return false
	}
	if t.hold {
		held := &heldAnswer{api: api, free: make(chan struct{})}
		s.r.b.c.do(func() { s.r.held = append(s.r.held, held) })
		select {
		case <-held.free:
		case <-s.ctx.Done():
			s.r.b.c.do(func() {
				s.r.held = slices.DeleteFunc(s.r.held, func(x *heldAnswer) bool { return x == held })
			})
			return false
		}
	}
	if t.delay > 0 {
		return s.sleep(t.delay)
	}
	return true
}

// sleep waits on the cluster's clock; false when the connection has ended.
func (s *serverConn) sleep(d time.Duration) bool {
	rung := make(chan struct{})
	stop := s.r.b.c.clock.After(d, func() { close(rung) })
	select {
	case <-rung:
		return true
	case <-s.ctx.Done():
		stop()
		return false
	}
}

// write sends an answer.
func (s *serverConn) write(resp kmsg.Response, correlation int32) bool {
	_, err := s.conn.Write(appendResponse(nil, resp, correlation))
	return err == nil
}

// Held counts the answers that wait for Release, of one API or AnyAPI.
func (b *Broker) Held(api int16) (n int) {
	b.c.look(func() {
		if b.run == nil {
			return
		}
		for _, h := range b.run.held {
			if api == AnyAPI || api == h.api {
				n++
			}
		}
	})
	return n
}

// Release lets held answers go, the oldest first: up to n of one API, or of
// AnyAPI; n below 0 means all. It returns how many there were.
func (b *Broker) Release(api int16, n int) (freed int) {
	b.c.do(func() {
		if b.run == nil {
			return
		}
		b.run.held = slices.DeleteFunc(b.run.held, func(h *heldAnswer) bool {
			if freed == n || api != AnyAPI && api != h.api {
				return false
			}
			freed++
			close(h.free)
			return true
		})
	})
	return freed
}
