package wire

import (
	"fmt"
	"sync"
	"unsafe"

	"kstate/model"
)

// securityProtocols are Kafka's numbers. Kafka: SecurityProtocol.
var securityProtocols = map[string]int16{"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

// updateMetadataHead writes what differs from receiver to receiver.
func (w *writer) updateMetadataHead(r *model.UpdateMetadataRequest) {
	w.int32(r.ControllerID)
	if r.Version >= 8 {
		w.bool(false) // isKRaftController; Type is a tagged field, left at its default
	}
	w.int32(r.ControllerEpoch)
	if r.Version >= 5 {
		w.int64(r.BrokerEpoch)
	}
}

// topicsKey identifies the partition entries of an UpdateMetadata by where they
// lie, not by their content: the receivers of one batch share them.
type topicsKey struct {
	first   *model.UpdateMetadataEntry
	n       int
	version int16
}

func keyOf(r *model.UpdateMetadataRequest) topicsKey {
	return topicsKey{first: unsafe.SliceData(r.Entries), n: len(r.Entries), version: r.Version}
}

// sharedTopics is the encoded list of partitions of one or more UpdateMetadata
// requests. It is encoded once, by whoever needs it first, and lives as long as
// one of the requests does.
type sharedTopics struct {
	key  topicsKey
	once sync.Once
	b    []byte
	err  error
}

func (s *sharedTopics) encode() ([]byte, error) {
	s.once.Do(func() {
		w := writer{flexible: s.key.version >= controlAPIs[model.UpdateMetadataKind].flexible}
		w.updateMetadataTopics(s.key.version, unsafe.Slice(s.key.first, s.key.n))
		s.b, s.err = w.b, w.err
	})
	return s.b, s.err
}

func (w *writer) updateMetadataTopics(v int16, entries []model.UpdateMetadataEntry) {
	w.b = make([]byte, 0, 8+len(entries)*72)
	entries = inOrder(entries, func(e *model.UpdateMetadataEntry) *model.TopicPartition { return &e.TopicPartition })
	if v < 5 {
		w.arrayLen(len(entries))
		for i := range entries {
			w.string(entries[i].Topic)
			w.updateMetadataEntry(v, &entries[i])
		}
		return
	}
	topics(w, entries, func(e *model.UpdateMetadataEntry) string { return e.Topic }, func(of []model.UpdateMetadataEntry) {
		w.string(of[0].Topic)
		if v >= 7 {
			w.uuid(of[0].TopicID)
		}
		w.arrayLen(len(of))
		for i := range of {
			w.updateMetadataEntry(v, &of[i])
		}
		w.endStruct()
	})
}

func (w *writer) updateMetadataEntry(v int16, e *model.UpdateMetadataEntry) {
	l := e.Leadership
	if l == nil {
		w.fail(fmt.Errorf("%s has no leadership", e.TopicPartition))
		return
	}
	w.leadership(e.Partition, l)
	w.ids(e.Replicas)
	if v >= 4 {
		w.ids(e.Offline)
	}
	w.endStruct()
}

// liveBrokers writes the brokers and closes the request.
// Kafka: UpdateMetadataRequest.Builder.build.
func (w *writer) liveBrokers(r *model.UpdateMetadataRequest) {
	w.arrayLen(len(r.LiveBrokers))
	for i := range r.LiveBrokers {
		b := &r.LiveBrokers[i]
		w.int32(b.ID)
		if r.Version == 0 {
			// Kafka looks for the listener of that name, whatever its protocol.
			e, ok := b.Endpoint("PLAINTEXT")
			if !ok {
				w.fail(fmt.Errorf("broker %d has no PLAINTEXT endpoint, the only kind that version 0 knows", b.ID))
			}
			w.string(e.Host)
			w.int32(e.Port)
		} else {
			w.endpoints(r.Version, b)
		}
		if r.Version >= 2 {
			w.nullableString(b.Rack)
		}
		w.endStruct()
	}
	w.endStruct()
}

func (w *writer) endpoints(v int16, b *model.Broker) {
	w.arrayLen(len(b.Endpoints))
	for _, e := range b.Endpoints {
		protocol, ok := securityProtocols[e.Protocol]
		switch {
		case !ok:
			w.fail(fmt.Errorf("broker %d: %q is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", b.ID, e.Protocol))
		case v < 3 && e.Listener != e.Protocol:
			w.fail(fmt.Errorf("broker %d: the listener name %q differs from its protocol %s: versions below 3 cannot name it", b.ID, e.Listener, e.Protocol))
		}
		w.int32(e.Port)
		w.string(e.Host)
		if v >= 3 {
			w.string(e.Listener)
		}
		w.int16(protocol)
		w.endStruct()
	}
}
