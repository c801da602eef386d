package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// DecodeResponse reads a broker's answer to a control request: the frame without
// its length prefix. Partitions come back sorted. From LeaderAndIsr version 5 on
// an answer names topics by id; they are named by the request's own entries, and
// ids that it does not have are skipped, the zero id too.
// Kafka: LeaderAndIsrResponse.partitionErrors.
func DecodeResponse(r model.ControlRequest, correlationID int32, frame []byte) (model.ControlResponse, error) {
	body, err := responseBody(r, correlationID, frame)
	if err != nil {
		return model.ControlResponse{}, err
	}
	h, err := headerOf(r)
	if err != nil {
		return model.ControlResponse{}, err
	}
	var out model.ControlResponse
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		out, err = decodeLeaderAndIsr(r, body)
	case *model.UpdateMetadataRequest:
		answer := kmsg.NewUpdateMetadataResponse()
		answer.Version = h.Version
		err = answer.ReadFrom(body)
		out.Error = model.KafkaError(answer.ErrorCode)
	case *model.StopReplicaRequest:
		answer := kmsg.NewStopReplicaResponse()
		answer.Version = h.Version
		err = answer.ReadFrom(body)
		out.Error = model.KafkaError(answer.ErrorCode)
		for _, p := range answer.Partitions {
			out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: model.TP(p.Topic, p.Partition), Error: model.KafkaError(p.ErrorCode)})
		}
	}
	if err != nil {
		return model.ControlResponse{}, fmt.Errorf("answer to %s version %d (%d bytes) cannot be decoded: %w", r.Kind(), h.Version, len(frame), err)
	}
	slices.SortStableFunc(out.Partitions, func(a, b model.PartitionError) int { return a.Compare(b.TopicPartition) })
	return out, nil
}

// responseBody takes the response header off.
func responseBody(r model.ControlRequest, correlationID int32, frame []byte) ([]byte, error) {
	if len(frame) < 4 {
		return nil, fmt.Errorf("answer to %s has %d bytes: not even a header", r.Kind(), len(frame))
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlationID {
		return nil, fmt.Errorf("answer has correlation id %d, the request to which it should belong %d", got, correlationID)
	}
	h, err := headerOf(r)
	if err != nil {
		return nil, err
	}
	frame = frame[4:]
	if h.Version >= controlAPIs[r.Kind()].flexible {
		return skipTags(frame)
	}
	return frame, nil
}

// skipTags takes the tagged fields off that end a flexible header.
func skipTags(b []byte) ([]byte, error) {
	uvarint := func() (uint64, error) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, fmt.Errorf("header ends within its tagged fields")
		}
		b = b[n:]
		return v, nil
	}
	count, err := uvarint()
	for ; err == nil && count > 0; count-- {
		if _, err = uvarint(); err != nil {
			break
		}
		var size uint64
		if size, err = uvarint(); err == nil && size > uint64(len(b)) {
			err = fmt.Errorf("tagged field of %d bytes in a header of which %d are left", size, len(b))
		}
		if err == nil {
			b = b[size:]
		}
	}
	return b, err
}

func decodeLeaderAndIsr(r *model.LeaderAndIsrRequest, body []byte) (model.ControlResponse, error) {
	answer := kmsg.NewLeaderAndISRResponse()
	answer.Version = r.Version
	if err := answer.ReadFrom(body); err != nil {
		return model.ControlResponse{}, err
	}
	out := model.ControlResponse{Error: model.KafkaError(answer.ErrorCode)}
	add := func(topic string, p *kmsg.LeaderAndISRResponseTopicPartition) {
		out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: model.TP(topic, p.Partition), Error: model.KafkaError(p.ErrorCode)})
	}
	for i := range answer.Partitions {
		add(answer.Partitions[i].Topic, &answer.Partitions[i])
	}
	names := make(map[model.Uuid]string, len(answer.Topics))
	if len(answer.Topics) > 0 {
		for i := range r.Entries {
			if e := &r.Entries[i]; !e.TopicID.IsZero() && (i == 0 || e.Topic != r.Entries[i-1].Topic) {
				names[e.TopicID] = e.Topic
			}
		}
	}
	for i := range answer.Topics {
		t := &answer.Topics[i]
		name, ok := names[t.TopicID]
		if !ok {
			continue
		}
		for j := range t.Partitions {
			add(name, &t.Partitions[j])
		}
	}
	return out, nil
}
