package model

import (
	"math"
	"strconv"
	"strings"
)

// PartitionReassignment is one entry of /admin/reassign_partitions.
type PartitionReassignment struct {
	TopicPartition              // a topic that is missing or null is ""
	Replicas       []int32      // the target, in order
	Unusable       *DecodeError // set: Replicas are not all broker ids; Kafka fails when it uses them, which it does for a partition that exists and is not being deleted
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
	root, bad := parseFirstJSON(data, true)
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
	entries := b.entries()
	b.adopt(entries.late)
	if b.err != nil {
		return nil, b.err
	}
	return entries.list, nil
}

// boundReassignments are the entries of the znode: of entries for the same
// partition the last, in the place of the first.
type boundReassignments struct {
	list []PartitionReassignment
	at   map[TopicPartition]int
	late fieldReader // its error is one that Kafka meets after the binding
}

func (x *boundReassignments) add(e PartitionReassignment) {
	if k, ok := x.at[e.TopicPartition]; ok {
		x.list[k] = e
		return
	}
	x.at[e.TopicPartition] = len(x.list)
	x.list = append(x.list, e)
}

// binder reads fields as Jackson's data binding does: each occurrence of a field
// is bound, the last one stays.
type binder struct{ *fieldReader }

// refuse is an error of the binding, which Kafka's controller passes over.
func (b binder) refuse(field, value string, category DecodeCategory, reason string) {
	b.fail(field, value, category, reason).Ignored = true
}

func (b binder) entries() boundReassignments {
	none := boundReassignments{late: fieldReader{path: b.path}}
	none.late.fail("partitions", "", MissingField, "")
	out := none
	for i, key := range b.obj.keys {
		switch n := &b.obj.kids[i]; {
		case key == "version":
			b.boundInt32(key, n)
		case key != "partitions":
			b.refuse(key, n.raw, UnknownField, "known are version and partitions")
		case n.kind == jsonArray:
			out = b.entryList(n)
		case n.kind == jsonNull:
			out = none
		default:
			b.refuse(key, n.raw, WrongType, "it is "+n.kind.String()+", not an array")
		}
	}
	return out
}

func (b binder) entryList(n *jsonNode) boundReassignments {
	out := boundReassignments{at: make(map[TopicPartition]int, len(n.kids)), late: fieldReader{path: b.path}}
	for i := range n.kids {
		name, kid := "partitions"+index(i), &n.kids[i]
		switch kid.kind {
		case jsonObject:
			in := binder{&fieldReader{path: b.path, prefix: name + ".", obj: kid}}
			late := fieldReader{path: b.path, prefix: name + "."}
			out.add(in.entry(&late))
			b.adopt(*in.fieldReader)
			out.late.adopt(late)
		case jsonNull:
			out.late.fail(name, kid.raw, WrongType, "an entry is null")
		default:
			b.refuse(name, kid.raw, WrongType, "it is "+kid.kind.String()+", not an object")
		}
	}
	return out
}

// entry binds one entry. Replicas are bound as a list of anything; their types
// matter only when they are used. Their lack matters to every entry.
func (b binder) entry(late *fieldReader) (e PartitionReassignment) {
	var replicas *jsonNode
	for i, key := range b.obj.keys {
		switch n := &b.obj.kids[i]; key {
		case "topic":
			e.Topic = b.boundString(key, n)
		case "partition":
			e.Partition = b.boundInt32(key, n)
		case "replicas":
			replicas = n
			if n.kind != jsonArray && n.kind != jsonNull {
				b.refuse(key, n.raw, WrongType, "it is "+n.kind.String()+", not an array")
			}
		default:
			b.refuse(key, n.raw, UnknownField, "known are topic, partition and replicas")
		}
	}
	if replicas == nil || replicas.kind == jsonNull {
		late.fail("replicas", "", MissingField, "")
		return e
	}
	use := fieldReader{path: b.path, prefix: b.prefix}
	for i := range replicas.kids {
		kid := &replicas.kids[i]
		if kid.kind != jsonInt && kid.kind != jsonNull {
			use.wrongType("replicas"+index(i), kid, "an int")
		}
		e.Replicas = append(e.Replicas, int32(kid.num)) // null is 0
	}
	e.Unusable = use.err
	return e
}

func (b binder) boundString(field string, n *jsonNode) string {
	switch n.kind {
	case jsonString:
		return n.text
	case jsonArray, jsonObject:
		b.refuse(field, n.raw, WrongType, "it is "+n.kind.String()+", not a string")
	case jsonNull:
		return ""
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
