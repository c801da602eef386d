package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerers are brokers that take every request of a controller and answer it,
// each partition with success. They do nothing else, so that what is measured
// beside them is the controller.
type answerers struct {
	t     testing.TB
	ids   []int32
	ports map[int32]int32
	heard func(id int32, r kmsg.Request) // takes each request before it is answered; nil: see received

	mu    sync.Mutex
	terms map[int32]*term // by controller epoch
}

// term is what came of one controller epoch.
type term struct {
	from int32               // the controller's id
	got  map[int32]time.Time // by broker: when the last LeaderAndIsr was there, all of it
	all  chan struct{}       // closed when each broker has one
}

func startAnswerers(t testing.TB, heard func(int32, kmsg.Request), ids ...int32) *answerers {
	t.Helper()
	a := &answerers{t: t, ids: ids, heard: heard, ports: map[int32]int32{}, terms: map[int32]*term{}}
	for _, id := range ids {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		a.ports[id] = int32(l.Addr().(*net.TCPAddr).Port)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					if err := a.serve(id, c); err != nil && err != io.EOF {
						a.t.Logf("broker %d: %v", id, err)
					}
				}()
			}
		}()
	}
	return a
}

func (a *answerers) serve(id int32, c net.Conn) error {
	in := bufio.NewReaderSize(c, 64<<10)
	var size [4]byte
	for {
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return nil // the controller went
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, frame); err != nil {
			return nil
		}
		answer, err := a.answer(id, frame, time.Now())
		if err != nil {
			return err
		}
		if _, err := c.Write(answer); err != nil {
			return nil
		}
	}
}

// answer answers one request. Where nobody hears the requests, a LeaderAndIsr is
// answered when each broker has its own: a real one takes its time over 100,000
// partitions, and nobody's decoding shall compete with the controller until then.
func (a *answerers) answer(id int32, frame []byte, at time.Time) ([]byte, error) {
	b := kbin.Reader{Src: frame}
	key, version, correlation := b.Int16(), b.Int16(), b.Int32()
	b.NullableString()
	r := kmsg.RequestForKey(key)
	if r == nil || b.Complete() != nil {
		return nil, fmt.Errorf("a request of key %d", key)
	}
	r.SetVersion(version)
	if r.IsFlexible() {
		kmsg.SkipTags(&b)
	}
	if key == 4 && a.heard == nil {
		epoch, from := leadersHead(b.Src, version)
		a.received(id, epoch, from, at)
	}
	if err := r.ReadFrom(b.Src); err != nil {
		return nil, fmt.Errorf("%s version %d: %w", kmsg.NameForKey(key), version, err)
	}
	if a.heard != nil {
		a.heard(id, r)
	}
	response := r.ResponseKind()
	fill(r, response)
	out := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(correlation))
	if r.IsFlexible() && key != 18 {
		out = append(out, 0)
	}
	out = response.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}

// leadersHead reads the controller's epoch and id off a LeaderAndIsr request.
func leadersHead(body []byte, version int16) (epoch, id int32) {
	b := kbin.Reader{Src: body}
	id = b.Int32()
	if version >= 7 {
		b.Bool() // of KRaft
	}
	return b.Int32(), id
}

// received notes a LeaderAndIsr, and waits until each broker has one.
func (a *answerers) received(id, epoch, from int32, at time.Time) {
	a.mu.Lock()
	t := a.term(epoch)
	t.from = from
	t.got[id] = at
	if len(t.got) == len(a.ids) {
		select {
		case <-t.all:
		default:
			close(t.all)
		}
	}
	a.mu.Unlock()
	<-t.all
}

func (a *answerers) term(epoch int32) *term {
	t := a.terms[epoch]
	if t == nil {
		t = &term{got: map[int32]time.Time{}, all: make(chan struct{})}
		a.terms[epoch] = t
	}
	return t
}

// last waits until each broker has its LeaderAndIsr of an epoch, and gives the
// time of the last one.
func (a *answerers) last(epoch int32, limit time.Duration) time.Time {
	a.t.Helper()
	a.mu.Lock()
	t := a.term(epoch)
	a.mu.Unlock()
	select {
	case <-t.all:
	case <-time.After(limit):
		a.t.Fatalf("within %v not every broker got a LeaderAndIsr of epoch %d", limit, epoch)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var last time.Time
	for _, at := range t.got {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// fill makes the answer one of success, to each partition where the kind of
// answer has them.
func fill(r kmsg.Request, response kmsg.Response) {
	switch r := r.(type) {
	case *kmsg.LeaderAndISRRequest:
		out := response.(*kmsg.LeaderAndISRResponse)
		for _, t := range r.TopicStates {
			x := kmsg.NewLeaderAndISRResponseTopic()
			x.TopicID = t.TopicID
			for _, p := range t.PartitionStates {
				x.Partitions = append(x.Partitions, kmsg.LeaderAndISRResponseTopicPartition{Topic: t.Topic, Partition: p.Partition})
			}
			out.Topics = append(out.Topics, x)
			out.Partitions = append(out.Partitions, x.Partitions...)
		}
	case *kmsg.StopReplicaRequest:
		out := response.(*kmsg.StopReplicaResponse)
		for _, t := range r.Topics {
			for _, p := range t.PartitionStates {
				out.Partitions = append(out.Partitions, kmsg.StopReplicaResponsePartition{Topic: t.Topic, Partition: p.Partition})
			}
		}
	case *kmsg.ApiVersionsRequest:
		out := response.(*kmsg.ApiVersionsResponse)
		for key, newest := range map[int16]int16{4: 7, 5: 4, 6: 8, 18: 3, 56: 3} {
			out.ApiKeys = append(out.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: newest})
		}
	}
}
