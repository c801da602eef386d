package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"

	"kstate/model"
)

// Kafka's keys of the control requests.
const (
	leaderAndIsrKey   int16 = 4
	stopReplicaKey    int16 = 5
	updateMetadataKey int16 = 6
)

// controlAPI says which versions of a control request exist, and from which one
// on they are flexible.
type controlAPI struct {
	key, max, flexible int16
}

var controlAPIs = map[model.RequestKind]controlAPI{
	model.LeaderAndIsrKind:   {key: leaderAndIsrKey, max: 7, flexible: 4},
	model.UpdateMetadataKind: {key: updateMetadataKey, max: 8, flexible: 6},
	model.StopReplicaKind:    {key: stopReplicaKey, max: 4, flexible: 2},
}

// payload is what a control request holds after its header, in parts that are
// written one after the other. The middle part may be shared with the requests
// to other brokers.
type payload struct {
	head, shared, tail []byte
}

func (p *payload) size() int { return len(p.head) + len(p.shared) + len(p.tail) }

// bytes joins the parts.
func (p *payload) bytes() []byte { return slices.Concat(p.head, p.shared, p.tail) }

// after lists the parts behind the frame's header, for writing. Empty ones are
// left out: on a TLS connection each would make a record.
func (p *payload) after(header []byte) net.Buffers {
	out := net.Buffers{header}
	for _, part := range [][]byte{p.head, p.shared, p.tail} {
		if len(part) > 0 {
			out = append(out, part)
		}
	}
	return out
}

// headerOf returns the header of a control request, its version included.
func headerOf(r model.ControlRequest) (model.RequestHeader, error) {
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		return r.RequestHeader, nil
	case *model.UpdateMetadataRequest:
		return r.RequestHeader, nil
	case *model.StopReplicaRequest:
		return r.RequestHeader, nil
	}
	return model.RequestHeader{}, fmt.Errorf("%T is not a control request", r)
}

// EncodeRequest returns the whole frame of a control request as Kafka's own
// controller sends it, length prefix included: client id is the controller's id
// as text, Type is 0 (unknown) and isKRaftController false. The error says why
// the request cannot be said in its version, for example an endpoint with a
// listener name of its own in UpdateMetadata below version 3.
// Kafka: AbstractControllerBrokerRequestBatch.
func EncodeRequest(r model.ControlRequest, correlationID int32) ([]byte, error) {
	p, err := encodePayload(r, nil)
	if err != nil {
		return nil, err
	}
	h, _ := headerOf(r)
	head, err := appendFrameHeader(nil, controlAPIs[r.Kind()], h, correlationID, p.size())
	if err != nil {
		return nil, err
	}
	return slices.Concat(p.after(head)...), nil
}

// appendFrameHeader appends length and request header of a frame whose payload
// has that size.
func appendFrameHeader(dst []byte, api controlAPI, h model.RequestHeader, correlationID int32, size int) ([]byte, error) {
	clientID := strconv.Itoa(int(h.ControllerID))
	n := 2 + 2 + 4 + 2 + len(clientID) + size
	flexible := h.Version >= api.flexible
	if flexible {
		n++
	}
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("a request of %d bytes is too long for one frame of Kafka's protocol", n)
	}
	w := writer{b: binary.BigEndian.AppendUint32(dst, uint32(n))}
	w.int16(api.key)
	w.int16(h.Version)
	w.int32(correlationID)
	w.string(clientID) // never compact, so that any broker can read it
	w.flexible = flexible
	w.endStruct()
	return w.b, w.err
}

// encodePayload encodes what follows the header. shared, when not nil, is where
// the part that is the same for all receivers of an UpdateMetadata is kept.
func encodePayload(r model.ControlRequest, shared *sharedTopics) (payload, error) {
	h, err := headerOf(r)
	if err != nil {
		return payload{}, err
	}
	api := controlAPIs[r.Kind()]
	if h.Version < 0 || h.Version > api.max {
		return payload{}, fmt.Errorf("%s has no version %d: 0 to %d exist", r.Kind(), h.Version, api.max)
	}
	w := writer{flexible: h.Version >= api.flexible}
	var p payload
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		w.leaderAndIsr(r)
		p.head = w.b
	case *model.StopReplicaRequest:
		w.stopReplica(r)
		p.head = w.b
	case *model.UpdateMetadataRequest:
		w.updateMetadataHead(r)
		p.head = w.b
		if shared == nil {
			shared = &sharedTopics{key: keyOf(r)}
		}
		if p.shared, err = shared.encode(); err != nil {
			w.fail(err)
		}
		w.b = nil
		w.liveBrokers(r)
		p.tail = w.b
	}
	if w.err != nil {
		return payload{}, fmt.Errorf("%s version %d cannot be encoded: %w", r.Kind(), h.Version, w.err)
	}
	return p, nil
}

func (w *writer) leaderAndIsr(r *model.LeaderAndIsrRequest) {
	v := r.Version
	w.b = make([]byte, 0, 64+len(r.LiveLeaders)*40+len(r.Entries)*80)
	w.int32(r.ControllerID)
	if v >= 7 {
		w.bool(false) // isKRaftController
	}
	w.int32(r.ControllerEpoch)
	if v >= 2 {
		w.int64(r.BrokerEpoch)
	}
	if v >= 5 {
		w.int8(0) // Type: unknown
	}
	entries := inOrder(r.Entries, func(e *model.LeaderAndIsrEntry) *model.TopicPartition { return &e.TopicPartition })
	if v < 2 {
		w.arrayLen(len(entries))
		for i := range entries {
			w.string(entries[i].Topic)
			w.leaderAndIsrEntry(v, &entries[i])
		}
	} else {
		topics(w, entries, func(e *model.LeaderAndIsrEntry) string { return e.Topic }, func(of []model.LeaderAndIsrEntry) {
			w.string(of[0].Topic)
			if v >= 5 {
				w.uuid(of[0].TopicID)
			}
			w.arrayLen(len(of))
			for i := range of {
				w.leaderAndIsrEntry(v, &of[i])
			}
			w.endStruct()
		})
	}
	w.arrayLen(len(r.LiveLeaders))
	for _, l := range r.LiveLeaders {
		w.int32(l.ID)
		w.string(l.Host)
		w.int32(l.Port)
		w.endStruct()
	}
	w.endStruct()
}

// leadership is how an entry begins that tells who leads a partition.
func (w *writer) leadership(partition int32, l *model.LeaderIsrAndControllerEpoch) {
	w.int32(partition)
	w.int32(l.ControllerEpoch)
	w.int32(l.Leader)
	w.int32(l.LeaderEpoch)
	w.ids(l.ISR)
	w.int32(l.PartitionEpoch)
}

func (w *writer) leaderAndIsrEntry(v int16, e *model.LeaderAndIsrEntry) {
	l, a := e.Leadership, e.Assignment
	if l == nil || a == nil {
		w.fail(fmt.Errorf("%s has no leadership or no assignment", e.TopicPartition))
		return
	}
	w.leadership(e.Partition, l)
	w.ids(a.Replicas)
	if v >= 3 {
		w.ids(a.Adding)
		w.ids(a.Removing)
	}
	if v >= 1 {
		w.bool(e.IsNew)
	}
	if v >= 6 {
		w.int8(int8(e.Recovery))
	}
	w.endStruct()
}

func (w *writer) stopReplica(r *model.StopReplicaRequest) {
	v := r.Version
	w.b = make([]byte, 0, 64+len(r.Entries)*24)
	w.int32(r.ControllerID)
	if v >= 4 {
		// Before the epoch. kmsg 1.15 has the two the other way round.
		w.bool(false) // isKRaftController
	}
	w.int32(r.ControllerEpoch)
	if v >= 1 {
		w.int64(r.BrokerEpoch)
	}
	entries := inOrder(r.Entries, func(e *model.StopReplicaEntry) *model.TopicPartition { return &e.TopicPartition })
	if v < 3 {
		w.bool(w.oneDeleteFlag(entries))
	}
	if v == 0 {
		w.arrayLen(len(entries))
		for i := range entries {
			w.string(entries[i].Topic)
			w.int32(entries[i].Partition)
		}
		return
	}
	topics(w, entries, func(e *model.StopReplicaEntry) string { return e.Topic }, func(of []model.StopReplicaEntry) {
		w.string(of[0].Topic)
		w.arrayLen(len(of))
		for i := range of {
			w.int32(of[i].Partition)
			if v >= 3 {
				w.int32(of[i].LeaderEpoch)
				w.bool(of[i].Delete)
				w.endStruct()
			}
		}
		w.endStruct()
	})
	w.endStruct()
}

// oneDeleteFlag is the flag of the whole request, which versions below 3 have
// instead of one for each partition.
func (w *writer) oneDeleteFlag(entries []model.StopReplicaEntry) bool {
	for i := range entries {
		if entries[i].Delete != entries[0].Delete {
			w.fail(fmt.Errorf("%s is to be deleted and %s is not: versions below 3 take one flag for all", pick(entries, true), pick(entries, false)))
			return false
		}
	}
	return len(entries) > 0 && entries[0].Delete
}

func pick(entries []model.StopReplicaEntry, deleted bool) model.TopicPartition {
	i := slices.IndexFunc(entries, func(e model.StopReplicaEntry) bool { return e.Delete == deleted })
	return entries[i].TopicPartition
}

// topics writes an array of topics, each from the entries that it has. The
// entries of one topic stand together.
func topics[E any](w *writer, entries []E, topic func(*E) string, write func([]E)) {
	n := 0
	for i := range entries {
		if i == 0 || topic(&entries[i]) != topic(&entries[i-1]) {
			n++
		}
	}
	w.arrayLen(n)
	for len(entries) > 0 {
		end := 1
		for end < len(entries) && topic(&entries[end]) == topic(&entries[0]) {
			end++
		}
		write(entries[:end])
		entries = entries[end:]
	}
}

// inOrder returns the entries by topic and partition: as they are when they are
// in order already, which costs one pass.
func inOrder[E any](entries []E, tp func(*E) *model.TopicPartition) []E {
	compare := func(a, b E) int { return tp(&a).Compare(*tp(&b)) }
	for i := 1; i < len(entries); i++ {
		if tp(&entries[i-1]).Compare(*tp(&entries[i])) > 0 {
			entries = slices.Clone(entries)
			slices.SortStableFunc(entries, compare)
			break
		}
	}
	return entries
}
