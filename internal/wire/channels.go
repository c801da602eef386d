package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
	"weak"

	"kstate/model"
)

// Defaults of Options. Kafka: request.timeout.ms, controller.socket.timeout.ms,
// RequestSendThread.
const (
	DefaultRequestTimeout = 30 * time.Second
	DefaultRetryPause     = 100 * time.Millisecond
)

// Dialer opens a connection to a broker's endpoint: with TLS and SASL done where
// the endpoint's protocol asks for them.
type Dialer func(context.Context, model.Endpoint) (net.Conn, error)

// DialPlain is the Dialer for PLAINTEXT endpoints; it refuses others.
func DialPlain(ctx context.Context, e model.Endpoint) (net.Conn, error) {
	if e.Protocol != "PLAINTEXT" {
		return nil, fmt.Errorf("connecting to %s: the protocol %s needs a dialer that knows the keys", e, e.Protocol)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
}

// Options of Channels. OnInput and Listener are needed.
type Options struct {
	ControllerID   int32
	Listener       string                      // the listener name under which brokers are called
	Dialer         Dialer                      // default DialPlain
	OnInput        func(model.Stimulus)        // takes each *model.Responded
	Intercept      Interceptor                 // may be nil
	OnFailure      func(broker int32, _ error) // takes each failed attempt, for a log; may be nil
	RequestTimeout time.Duration               // to connect, and then for an answer; default 30 s
	RetryPause     time.Duration               // after a failed attempt; default 100 ms
	Now            func() int64                // ms since 1970; default the system's clock
}

// Interceptor may interfere with what goes to and comes from brokers: fault
// injection. Its methods are called on the channel's goroutine, once for each
// attempt.
type Interceptor interface {
	// Request is asked before a request is sent.
	Request(broker int32, r model.ControlRequest) Fault
	// Response is asked before an answer is passed on.
	Response(broker int32, r model.ControlRequest, answer *model.ControlResponse) Fault
}

// Fault says how to interfere; the zero value: not at all. First Delay passes,
// then Hold closes, if there is one; what is queued behind waits, too. Then with Drop the connection is lost, before the broker got the request or
// after it answered, so that the request is sent again. Else, with Answer, that
// takes the place of the broker's answer (which is not even asked for when the
// request was intercepted).
type Fault struct {
	Delay  time.Duration
	Hold   <-chan struct{}
	Drop   bool
	Answer *model.ControlResponse
}

var (
	errNoChannel = errors.New("there is no channel to it")
	errClosed    = errors.New("the channels are closed")
	errDropped   = errors.New("dropped by an injected fault")
)

// Channels are the controller's channels to the brokers: for each linked broker
// one unbounded queue, one connection, at most one request in flight, strictly
// in order. A request is tried again until it is answered or the broker is
// removed; nothing is merged, skipped or superseded.
// Kafka: ControllerChannelManager, RequestSendThread.
type Channels struct {
	opt Options

	mu     sync.Mutex
	links  map[int32]*link
	closed bool
	done   sync.WaitGroup

	sharedMu sync.Mutex
	shared   weak.Pointer[sharedTopics] // of the newest UpdateMetadata
}

// NewChannels has no channel yet.
func NewChannels(opt Options) *Channels {
	if opt.Dialer == nil {
		opt.Dialer = DialPlain
	}
	if opt.RequestTimeout <= 0 {
		opt.RequestTimeout = DefaultRequestTimeout
	}
	if opt.RetryPause <= 0 {
		opt.RetryPause = DefaultRetryPause
	}
	if opt.Now == nil {
		opt.Now = func() int64 { return time.Now().UnixMilli() }
	}
	return &Channels{opt: opt, links: map[int32]*link{}}
}

// Link opens or drops the channel to a broker. Opening one that is open changes
// nothing; a broker without an endpoint of the controller's listener is an error
// and gets no channel. Dropping discards what is queued, waits only for an
// OnInput call of this channel that is under way, and after it has returned no
// answer of the dropped channel comes any more.
func (c *Channels) Link(b model.Broker, up bool) error {
	if !up {
		c.mu.Lock()
		l := c.links[b.ID]
		delete(c.links, b.ID)
		c.mu.Unlock()
		if l != nil {
			l.drop()
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links[b.ID] != nil {
		return nil
	}
	if c.closed {
		return fmt.Errorf("opening the channel to broker %d: %w", b.ID, errClosed)
	}
	e, ok := b.Endpoint(c.opt.Listener)
	if !ok {
		return fmt.Errorf("opening the channel to broker %d: it has no endpoint for the listener %s; it has %v", b.ID, c.opt.Listener, b.Endpoints)
	}
	l := newLink(c.opt, b.ID, e)
	c.links[b.ID] = l
	c.done.Add(1)
	go func() {
		defer c.done.Done()
		l.run()
	}()
	return nil
}

// Send queues a request. Without a channel to the broker it is dropped, and the
// error says so. Kafka: ControllerChannelManager.sendRequest.
func (c *Channels) Send(broker int32, r model.ControlRequest) error {
	c.mu.Lock()
	l := c.links[broker]
	c.mu.Unlock()
	if l == nil {
		return fmt.Errorf("%s to broker %d was not sent: %w", r.Kind(), broker, errNoChannel)
	}
	q := queued{request: r}
	if um, ok := r.(*model.UpdateMetadataRequest); ok {
		q.shared = c.sharedTopics(um)
	}
	l.put(q)
	return nil
}

// sharedTopics finds the encoding that this request shares with the one before.
func (c *Channels) sharedTopics(r *model.UpdateMetadataRequest) *sharedTopics {
	c.sharedMu.Lock()
	defer c.sharedMu.Unlock()
	key := keyOf(r)
	if s := c.shared.Value(); s != nil && s.key == key {
		return s
	}
	s := &sharedTopics{key: key}
	c.shared = weak.Make(s)
	return s
}

// Snapshot is the state of all channels by broker id.
func (c *Channels) Snapshot() []model.Channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]model.Channel, 0, len(c.links))
	for _, id := range slices.Sorted(maps.Keys(c.links)) {
		out = append(out, c.links[id].snapshot())
	}
	return out
}

// Close drops all channels and waits until their goroutines have ended.
func (c *Channels) Close() {
	c.mu.Lock()
	c.closed = true
	links := c.links
	c.links = map[int32]*link{}
	c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(links)) {
		links[id].drop()
	}
	c.done.Wait()
}
