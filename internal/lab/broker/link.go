package broker

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// link is a connection to the controller.
type link struct {
	conn        net.Conn
	in          *bufio.Reader
	correlation int32
	clientID    string
	alter       int16 // highest AlterPartition version of the controller; -1: none
}

const (
	controllerPause = 100 * time.Millisecond // between looks at the metadata cache
	resendPause     = 50 * time.Millisecond  // after a top-level error
	connectTimeout  = 10 * time.Second       // socket.connection.setup.timeout.ms
)

// connect opens a connection that ends with the process, or when the broker is
// cut off from the controller.
func (r *run) connect(to model.Endpoint) (*link, error) {
	cut := false
	r.b.c.look(func() { cut = r.b.behaviour.ControllerCut })
	if cut {
		return nil, r.cutOff()
	}
	dialer := net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(r.ctx, "tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		return nil, err
	}
	r.b.c.do(func() {
		if !r.alive() || r.b.behaviour.ControllerCut {
			conn.Close()
			err = r.cutOff()
			return
		}
		r.outgoing[conn] = struct{}{}
	})
	if err != nil {
		return nil, err
	}
	return &link{conn: conn, in: bufio.NewReader(conn), clientID: strconv.Itoa(int(r.b.id)), alter: -1}, nil
}

func (r *run) cutOff() error { return fmt.Errorf("broker %d is cut off from the controller", r.b.id) }

func (r *run) disconnect(l *link) {
	l.conn.Close()
	r.b.c.do(func() { delete(r.outgoing, l.conn) })
}

// exchange sends a request and waits for the frame of its response; a timeout of
// 0 is none.
func (l *link) exchange(req kmsg.Request, timeout time.Duration) ([]byte, error) {
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	if err := l.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	l.correlation++
	if _, err := l.conn.Write(appendRequest(nil, req, l.correlation, l.clientID)); err != nil {
		return nil, err
	}
	return readFrame(l.in, maxRequestBytes)
}

func (l *link) call(req kmsg.Request, timeout time.Duration) (kmsg.Response, error) {
	frame, err := l.exchange(req, timeout)
	if err != nil {
		return nil, err
	}
	return parseResponse(frame, req, l.correlation)
}

// negotiate asks for the controller's versions. One that does not know the
// version of the question says so in version 0 and is asked again in that.
// Kafka: NetworkClient.handleApiVersionsResponse.
func (l *link) negotiate() error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 3
	req.ClientSoftwareName, req.ClientSoftwareVersion = "apache-kafka-java", "3.9.0"
	for {
		frame, err := l.exchange(req, connectTimeout)
		if err != nil {
			return err
		}
		if len(frame) >= 6 && int16(binary.BigEndian.Uint16(frame[4:])) == codeUnsupportedVersion && req.Version > 0 {
			req.Version = 0
			continue
		}
		resp, err := parseResponse(frame, req, l.correlation)
		if err != nil {
			return err
		}
		x := resp.(*kmsg.ApiVersionsResponse)
		if x.ErrorCode != codeNone {
			return fmt.Errorf("ApiVersions is answered with error %d", x.ErrorCode)
		}
		for _, k := range x.ApiKeys {
			if k.ApiKey == keyAlterPartition {
				l.alter = k.MaxVersion
			}
		}
		return nil
	}
}

// controller is the controller's endpoint by the metadata cache.
// Kafka: MetadataCacheControllerNodeProvider.
func (r *run) controller() (e model.Endpoint, ok bool) {
	r.b.c.look(func() {
		m := r.replicas.cache
		e, ok = m.endpoint(m.controller, r.b.set.Listener)
	})
	return e, ok
}

// ask sends a request to the controller until it is answered by one that is the
// controller; it never gives up. build makes the request for the versions of
// the other side. An error means that the process has ended.
// Kafka: NodeToControllerRequestThread.
func (r *run) ask(build func(controllerMax int16) kmsg.Request) (kmsg.Request, kmsg.Response, error) {
	for r.ctx.Err() == nil {
		if r.link == nil {
			if to, ok := r.controller(); ok {
				r.link = r.reach(to)
			}
		}
		if r.link != nil {
			req := build(r.link.alter)
			if req == nil {
				return nil, nil, nil
			}
			r.note(Event{Kind: Sent, Request: req})
			resp, err := r.link.call(req, 0)
			r.note(Event{Kind: Returned, Request: req, Response: resp, Err: err})
			if err == nil && !saysNotController(resp) {
				return req, resp, nil
			}
			r.disconnect(r.link)
			r.link = nil
		}
		if !r.sleep(controllerPause) {
			break
		}
	}
	return nil, nil, context.Canceled
}

// reach connects and negotiates; nil when that fails.
func (r *run) reach(to model.Endpoint) *link {
	l, err := r.connect(to)
	if err != nil {
		return nil
	}
	if l.negotiate() != nil {
		r.disconnect(l)
		return nil
	}
	return l
}

// saysNotController: the code may stand anywhere in the answer.
func saysNotController(resp kmsg.Response) bool {
	x, ok := resp.(*kmsg.AlterPartitionResponse)
	if !ok {
		return false
	}
	return x.ErrorCode == codeNotController || slices.ContainsFunc(x.Topics, func(t kmsg.AlterPartitionResponseTopic) bool {
		return slices.ContainsFunc(t.Partitions, func(p kmsg.AlterPartitionResponseTopicPartition) bool {
			return p.ErrorCode == codeNotController
		})
	})
}
