package model

// EncodeIsrChange writes an ISR change notification.
// Kafka: IsrChangeNotificationSequenceZNode.encode.
func EncodeIsrChange(list []TopicPartition) []byte { return encodePartitionList(list) }

// DecodeIsrChange reads an ISR change notification: each partition once, in
// order of appearance. Bad JSON reads as an empty list.
// Kafka: IsrChangeNotificationSequenceZNode.decode.
func DecodeIsrChange(path string, data []byte) ([]TopicPartition, error) {
	return decodePartitionList(path, data)
}

// EncodeLogDirEvent writes the notice of a broker with a failed log directory
// (event 1, the only one).
// Kafka: LogDirEventNotificationSequenceZNode.encode.
func EncodeLogDirEvent(broker int32) []byte {
	var w jsonWriter
	return w.open('{').int("version", 1).int("broker", int64(broker)).int("event", 1).close('}').b
}

// DecodeLogDirEvent reads which broker has a failed log directory; the kind of
// event does not matter. Bad JSON reads as no notice: present is false.
// Kafka: LogDirEventNotificationSequenceZNode.decode.
func DecodeLogDirEvent(path string, data []byte) (broker int32, present bool, err error) {
	return decodeBrokerID(path, data, "broker")
}
