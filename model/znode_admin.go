package model

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// PartitionReassignment is one entry of /admin/reassign_partitions.
type PartitionReassignment struct {
	TopicPartition
	Replicas []int32 // the target, in order
}

// EncodeReassignPartitions writes /admin/reassign_partitions.
// Kafka: ReassignPartitionsZNode.encode.
func EncodeReassignPartitions(list []PartitionReassignment) []byte {
	var w jsonWriter
	w.open('{').int("version", 1).array("partitions")
	for _, e := range list {
		w.sep()
		w.open('{').str("topic", e.Topic).int("partition", int64(e.Partition)).ints("replicas", e.Replicas).close('}')
	}
	return w.close(']').close('}').b
}

// DecodeReassignPartitions reads /admin/reassign_partitions; of entries for the
// same partition the last counts. Kafka binds this znode to classes instead of
// reading a tree, so it is laxer in types (numbers may be quoted, fractions are
// cut off, a missing or null partition is 0) and stricter in names (an unknown
// field is an error). An error with Ignored set makes the controller warn and go
// on as if the znode held no entries; any other makes its event fail.
// Kafka: ReassignPartitionsZNode.decode, KafkaZkClient.getPartitionReassignment.
func DecodeReassignPartitions(path string, data []byte) ([]PartitionReassignment, error) {
	if data == nil {
		return nil, &DecodeError{Path: path, Category: NullPayload}
	}
	root, bad := parseJSON(data)
	if bad == nil && root.kind == jsonMissing {
		bad = &jsonSyntaxError{what: "there is no content"}
	}
	if bad != nil {
		e := notJSON(path, data, bad)
		e.Ignored = !bad.thrown
		return nil, e
	}
	b := binder{fieldReader: newFieldReader(path, &root)}
	if b.err != nil {
		b.err.Ignored = root.kind != jsonNull
		return nil, b.err
	}
	b.onlyFields("version", "partitions")
	if n := b.obj.get("version"); n != nil {
		b.boundInt32("version", n)
	}
	out := b.reassignments()
	if b.err != nil {
		return nil, b.err
	}
	return out, nil
}

// binder reads fields as Jackson's data binding does.
type binder struct{ *fieldReader }

// refuse is an error of the binding, which Kafka's controller passes over.
func (b binder) refuse(field, value string, category DecodeCategory, reason string) {
	b.fail(field, value, category, reason).Ignored = true
}

func (b binder) onlyFields(known ...string) {
	for i, key := range b.obj.keys {
		if !slices.Contains(known, key) {
			b.refuse(key, b.obj.kids[i].raw, UnknownField, "known are "+strings.Join(known, ", "))
		}
	}
}

func (b binder) reassignments() []PartitionReassignment {
	n := b.obj.get("partitions")
	if n != nil && n.kind != jsonArray && n.kind != jsonNull {
		b.refuse("partitions", n.raw, WrongType, "it is "+n.kind.String()+", not an array")
		return nil
	}
	var out []PartitionReassignment
	at := map[TopicPartition]int{}
	var late *DecodeError // what fails only after all is bound
	if n == nil || n.kind == jsonNull {
		late = &DecodeError{Path: b.path, Field: "partitions", Category: MissingField}
		n = &jsonNode{}
	}
	for i := range n.kids {
		e, missing := b.reassignment("partitions"+index(i), &n.kids[i])
		if late == nil {
			late = missing
		}
		if k, ok := at[e.TopicPartition]; ok {
			out[k] = e
			continue
		}
		at[e.TopicPartition] = len(out)
		out = append(out, e)
	}
	if b.err == nil {
		b.fieldReader.err = late
	}
	return out
}

// reassignment binds one entry; late is an error that Kafka meets after the
// binding.
func (b binder) reassignment(field string, n *jsonNode) (e PartitionReassignment, late *DecodeError) {
	if n.kind == jsonNull {
		return e, &DecodeError{Path: b.path, Field: field, Value: n.raw, Category: WrongType, Reason: "an entry is null"}
	}
	if n.kind != jsonObject {
		b.refuse(field, n.raw, WrongType, "it is "+n.kind.String()+", not an object")
		return e, nil
	}
	in := binder{&fieldReader{path: b.path, prefix: b.prefix + field + ".", obj: n}}
	in.onlyFields("topic", "partition", "replicas")
	late = &DecodeError{Path: b.path, Field: in.prefix + "topic", Category: MissingField}
	if t := in.optional("topic"); t != nil {
		e.Topic, late = in.boundString("topic", t), nil
	}
	if p := n.get("partition"); p != nil {
		e.Partition = in.boundInt32("partition", p)
	}
	replicas, missing := in.boundReplicas()
	if e.Replicas = replicas; late == nil {
		late = missing
	}
	b.adopt(in.fieldReader)
	return e, late
}

// boundReplicas: the list is bound, its elements are looked at only when they
// are used.
func (b binder) boundReplicas() (ids []int32, late *DecodeError) {
	n := b.optional("replicas")
	if n == nil {
		return nil, &DecodeError{Path: b.path, Field: b.prefix + "replicas", Category: MissingField}
	}
	if n.kind != jsonArray {
		b.refuse("replicas", n.raw, WrongType, "it is "+n.kind.String()+", not an array")
		return nil, nil
	}
	for i, kid := range n.kids {
		if kid.kind != jsonInt && kid.kind != jsonNull && late == nil {
			late = &DecodeError{Path: b.path, Field: b.prefix + "replicas" + index(i), Value: shorten(kid.raw), Category: WrongType,
				Reason: "it is " + kid.kind.String() + ", not an int"}
		}
		ids = append(ids, int32(kid.num)) // null is 0
	}
	return ids, late
}

func (b binder) boundString(field string, n *jsonNode) string {
	switch n.kind {
	case jsonString:
		return n.text
	case jsonArray, jsonObject:
		b.refuse(field, n.raw, WrongType, "it is "+n.kind.String()+", not a string")
	}
	return n.raw
}

// boundInt32 takes numbers, cutting off fractions, numbers in quotes, and null
// or an empty string for 0.
func (b binder) boundInt32(field string, n *jsonNode) int32 {
	switch n.kind {
	case jsonInt:
		return int32(n.num)
	case jsonNull:
		return 0
	case jsonDouble:
		if f, err := strconv.ParseFloat(n.raw, 64); err == nil && f > math.MinInt32-1 && f < math.MaxInt32+1 {
			return int32(f)
		}
		b.refuse(field, n.raw, OutOfRange, "it does not fit 32 bits")
	case jsonLong, jsonBig:
		b.refuse(field, n.raw, OutOfRange, "it does not fit 32 bits")
	case jsonString:
		text := strings.TrimFunc(n.text, func(c rune) bool { return c <= ' ' })
		if text == "" || text == "null" {
			return 0
		}
		v, bad := parseJavaInt(text, 32)
		if bad != "" {
			b.refuse(field, n.raw, bad, "the text is not a number of 32 bits")
		}
		return int32(v)
	default:
		b.refuse(field, n.raw, WrongType, "it is "+n.kind.String()+", not a number")
	}
	return 0
}

// EncodePreferredReplicaElection writes /admin/preferred_replica_election.
// Kafka: PreferredReplicaElectionZNode.encode.
func EncodePreferredReplicaElection(list []TopicPartition) []byte { return encodePartitionList(list) }

// DecodePreferredReplicaElection reads /admin/preferred_replica_election:
// each partition once, in order of appearance. Bad JSON reads as an empty list.
// Kafka: PreferredReplicaElectionZNode.decode.
func DecodePreferredReplicaElection(path string, data []byte) ([]TopicPartition, error) {
	return decodePartitionList(path, data)
}

func encodePartitionList(list []TopicPartition) []byte {
	var w jsonWriter
	w.open('{').int("version", 1).array("partitions")
	for _, tp := range list {
		w.sep()
		w.open('{').str("topic", tp.Topic).int("partition", int64(tp.Partition)).close('}')
	}
	return w.close(']').close('}').b
}

func decodePartitionList(path string, data []byte) ([]TopicPartition, error) {
	root, ok, bad := readLenientJSON(path, data)
	if bad != nil {
		return nil, bad
	}
	if !ok {
		return nil, nil
	}
	r := newFieldReader(path, &root)
	n := r.need("partitions")
	if n == nil {
		return nil, r.err
	}
	if n.kind != jsonArray {
		return nil, r.wrongType("partitions", n, "an array")
	}
	var out []TopicPartition
	seen := make(map[TopicPartition]bool, len(n.kids))
	for i := range n.kids {
		in := r.within("partitions"+index(i), &n.kids[i])
		tp := TP(in.str("topic"), in.int32("partition"))
		if in.err != nil {
			return nil, in.err
		}
		if !seen[tp] {
			seen[tp] = true
			out = append(out, tp)
		}
	}
	return out, nil
}
