package model

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// TopicPartition names one partition of a topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// TP is shorthand for TopicPartition{topic, partition}.
func TP(topic string, partition int32) TopicPartition {
	return TopicPartition{Topic: topic, Partition: partition}
}

// String is topic-partition, as Kafka prints it.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Compare orders by topic, then by partition number.
func (tp TopicPartition) Compare(o TopicPartition) int {
	if c := strings.Compare(tp.Topic, o.Topic); c != 0 {
		return c
	}
	return cmp.Compare(tp.Partition, o.Partition)
}

// ParseTopicPartition reads topic-partition. The topic may itself contain
// dashes: the number is what follows the last one.
func ParseTopicPartition(s string) (TopicPartition, error) {
	i := strings.LastIndexByte(s, '-')
	if i <= 0 {
		return TopicPartition{}, fmt.Errorf("%q is not topic-partition", s)
	}
	n, err := strconv.ParseInt(s[i+1:], 10, 32)
	if err != nil || n < 0 || strings.HasPrefix(s[i+1:], "+") {
		return TopicPartition{}, fmt.Errorf("%q is not topic-partition: %q is not a partition number", s, s[i+1:])
	}
	return TP(s[:i], int32(n)), nil
}

// Replica names one replica: a partition on a broker.
// Kafka: PartitionAndReplica.
type Replica struct {
	TopicPartition
	Broker int32
}

// String is topic-partition@broker.
func (r Replica) String() string {
	return r.TopicPartition.String() + "@" + strconv.Itoa(int(r.Broker))
}

// Compare orders by topic, partition, broker.
func (r Replica) Compare(o Replica) int {
	if c := r.TopicPartition.Compare(o.TopicPartition); c != 0 {
		return c
	}
	return cmp.Compare(r.Broker, o.Broker)
}
