package model

import (
	"cmp"
	"slices"
	"strconv"
)

// PartitionAssignment is the assignment of one partition of a topic.
type PartitionAssignment struct {
	Partition int32
	ReplicaAssignment
}

// TopicAssignment is the content of a topic znode.
// Kafka: TopicZNode.TopicIdReplicaAssignment.
type TopicAssignment struct {
	Version    int32                 // 1 (up to 2.3), 2 (up to 2.7), 3; 0 when it is not there. Kafka does not read it
	ID         Uuid                  // zero when the topic has none
	Partitions []PartitionAssignment // ascending, each number once
}

// Assignment finds the assignment of a partition.
func (t *TopicAssignment) Assignment(partition int32) (ReplicaAssignment, bool) {
	i, ok := slices.BinarySearchFunc(t.Partitions, partition, func(p PartitionAssignment, n int32) int { return cmp.Compare(p.Partition, n) })
	if !ok {
		return ReplicaAssignment{}, false
	}
	return t.Partitions[i].ReplicaAssignment, true
}

// EncodeTopic writes a topic znode in version 3, as a controller of Kafka 2.8
// and newer does whatever it found before and whatever the inter-broker
// protocol; the id is left out when it is zero. Partitions come in the order of
// Kafka's hash map. Kafka: TopicZNode.encode.
func EncodeTopic(t TopicAssignment) []byte {
	w := topicWriter(t)
	w.open('{')
	order := hashMapOrder(t.Partitions)
	writeReplicas(w, "partitions", order, replicasOf)
	if !t.ID.IsZero() {
		w.str("topic_id", t.ID.String())
	}
	writeReplicas(w, "adding_replicas", hashMapOrder(withAny(t.Partitions, addingOf)), addingOf)
	writeReplicas(w, "removing_replicas", hashMapOrder(withAny(t.Partitions, removingOf)), removingOf)
	return w.int("version", 3).close('}').b
}

// EncodeTopicV1 writes what Kafka up to 2.3 wrote: replicas only. Partitions
// ascend.
func EncodeTopicV1(t TopicAssignment) []byte {
	w := topicWriter(t)
	w.open('{').int("version", 1)
	writeReplicas(w, "partitions", t.Partitions, replicasOf)
	return w.close('}').b
}

// EncodeTopicV2 writes what Kafka 2.4 to 2.7 wrote: no topic id. Partitions
// ascend.
func EncodeTopicV2(t TopicAssignment) []byte {
	w := topicWriter(t)
	w.open('{').int("version", 2)
	writeReplicas(w, "partitions", t.Partitions, replicasOf)
	writeReplicas(w, "adding_replicas", withAny(t.Partitions, addingOf), addingOf)
	writeReplicas(w, "removing_replicas", withAny(t.Partitions, removingOf), removingOf)
	return w.close('}').b
}

func topicWriter(t TopicAssignment) *jsonWriter {
	return &jsonWriter{b: make([]byte, 0, 128+24*len(t.Partitions))}
}

func replicasOf(p *PartitionAssignment) []int32 { return p.Replicas }
func addingOf(p *PartitionAssignment) []int32   { return p.Adding }
func removingOf(p *PartitionAssignment) []int32 { return p.Removing }

// withAny keeps the partitions whose list is not empty.
func withAny(partitions []PartitionAssignment, list func(*PartitionAssignment) []int32) []PartitionAssignment {
	var out []PartitionAssignment
	for i := range partitions {
		if len(list(&partitions[i])) > 0 {
			out = append(out, partitions[i])
		}
	}
	return out
}

func writeReplicas(w *jsonWriter, name string, partitions []PartitionAssignment, list func(*PartitionAssignment) []int32) {
	w.object(name)
	var number [11]byte
	for i := range partitions {
		w.intsByNumber(strconv.AppendInt(number[:0], int64(partitions[i].Partition), 10), list(&partitions[i]))
	}
	w.close('}')
}

// hashMapOrder is the order in which a Scala 2.13 hash map with default
// settings holds the partition numbers as strings: by bucket, then by hash. The
// table doubles when it is to become three quarters full.
func hashMapOrder(partitions []PartitionAssignment) []PartitionAssignment {
	buckets := uint32(16)
	for uint32(len(partitions)) >= buckets/4*3 {
		buckets *= 2
	}
	place := func(p *PartitionAssignment) uint64 {
		h := numberHash(p.Partition)
		return uint64(h&(buckets-1))<<32 | uint64(h^1<<31) // hashes compare as signed
	}
	type placed struct {
		at uint64
		i  int32
	}
	order := make([]placed, len(partitions))
	sorted := true
	for i := range partitions {
		order[i] = placed{place(&partitions[i]), int32(i)}
		sorted = sorted && (i == 0 || order[i-1].at < order[i].at)
	}
	if sorted {
		return partitions
	}
	slices.SortStableFunc(order, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	out := make([]PartitionAssignment, len(partitions))
	for i, o := range order {
		out[i] = partitions[o.i]
	}
	return out
}

// numberHash is Java's hash of the decimal text, spread as Scala does.
func numberHash(n int32) uint32 {
	var buf [11]byte
	h := uint32(0)
	for _, c := range strconv.AppendInt(buf[:0], int64(n), 10) {
		h = 31*h + uint32(c)
	}
	return h ^ h>>16
}

// DecodeTopic reads a topic znode of any version. Bad JSON reads as no id and no
// partitions: present is false then. adding_replicas and removing_replicas count
// only for partitions that are listed. Kafka: TopicZNode.decode.
func DecodeTopic(path string, data []byte) (t TopicAssignment, present bool, err error) {
	if scanTopic(data, &t) {
		return t, true, nil
	}
	return decodeTopic(path, data)
}

func decodeTopic(path string, data []byte) (TopicAssignment, bool, error) {
	root, ok, bad := readLenientJSON(path, data)
	if bad != nil {
		return TopicAssignment{}, false, bad
	}
	if !ok {
		return TopicAssignment{}, false, nil
	}
	r := newFieldReader(path, &root)
	t := TopicAssignment{Version: unreadInt32(r.obj, "version"), ID: r.topicID()}
	adding, removing := r.optionalObject("adding_replicas"), r.optionalObject("removing_replicas")
	t.Partitions = r.partitions(adding, removing)
	if r.err != nil {
		return TopicAssignment{}, false, r.err
	}
	return t, true, nil
}

func (r *fieldReader) topicID() Uuid {
	n := r.obj.get("topic_id")
	if n == nil {
		return Uuid{}
	}
	text := r.asString("topic_id", n)
	id, err := ParseUuid(text)
	if err != nil && r.err == nil {
		r.fail("topic_id", n.raw, InvalidValue, err.Error())
	}
	return id
}

// optionalObject finds an object that may be absent, but may not be null.
func (r *fieldReader) optionalObject(field string) *fieldReader {
	n := r.obj.get(field)
	if n == nil {
		return nil
	}
	return r.within(field, n)
}

func (r *fieldReader) partitions(adding, removing *fieldReader) []PartitionAssignment {
	in := r.optionalObject("partitions")
	if in == nil || r.err != nil {
		return nil
	}
	out := make([]PartitionAssignment, 0, len(in.obj.keys))
	index := partitionIndex{in: in, adding: adding, removing: removing}
	for i, key := range in.obj.keys {
		number, bad := parseJavaInt(key, 32)
		if bad != "" {
			in.fail(key, key, bad, "the partition number is not a decimal number of 32 bits")
			break
		}
		out = append(out, PartitionAssignment{int32(number), index.assignment(key, &in.obj.kids[i])})
	}
	for _, part := range []*fieldReader{in, adding, removing} {
		if part != nil && part.err != nil && r.err == nil {
			r.err = part.err
		}
	}
	return lastOfEach(out)
}

// partitionIndex joins the three lists of a partition. The key is the text of
// the number: 07 does not find 7.
type partitionIndex struct {
	in, adding, removing *fieldReader
}

func (x *partitionIndex) assignment(key string, replicas *jsonNode) ReplicaAssignment {
	a := ReplicaAssignment{Replicas: x.in.asInt32s(key, replicas)}
	if x.adding != nil {
		a.Adding = x.adding.int32sIfThere(key)
	}
	if x.removing != nil {
		a.Removing = x.removing.int32sIfThere(key)
	}
	return a
}

func (r *fieldReader) int32sIfThere(key string) []int32 {
	if n := r.obj.get(key); n != nil {
		return r.asInt32s(key, n)
	}
	return nil
}

// lastOfEach sorts by number; of equal numbers (written 7 and 07) the last stays.
func lastOfEach(list []PartitionAssignment) []PartitionAssignment {
	slices.SortStableFunc(list, func(a, b PartitionAssignment) int { return cmp.Compare(a.Partition, b.Partition) })
	out := list[:0]
	for i := range list {
		if i+1 == len(list) || list[i+1].Partition != list[i].Partition {
			out = append(out, list[i])
		}
	}
	return slices.Clip(out)
}

// replicaList is a list of the scan: ids lie in the shared buffer.
type replicaList struct {
	partition int32
	from, to  int
}

// scanTopic reads the text that Kafka itself writes, key order free, without
// building a tree. It is false for any other text: decodeTopic then decides. On
// success both give the same. All ids of a topic share one buffer.
func scanTopic(data []byte, t *TopicAssignment) bool {
	s := byteScanner{data: data}
	var lists [3][]replicaList
	ids := make([]int32, 0, len(data)/4)
	seen := 0
	for sep := byte('{'); s.lit(sep); sep = ',' {
		field, list := 0, -1
		switch string(s.plainString()) {
		case "version":
			field = 1
		case "topic_id":
			field = 2
		case "partitions":
			field, list = 4, 0
		case "adding_replicas":
			field, list = 8, 1
		case "removing_replicas":
			field, list = 16, 2
		default:
			return false
		}
		if seen&field != 0 || !s.lit(':') {
			return false
		}
		seen |= field
		switch {
		case list >= 0:
			lists[list], ids = s.replicaLists(ids, list == 0)
		case field == 1:
			t.Version = s.int32()
		default:
			id, err := ParseUuid(string(s.plainString()))
			t.ID, s.bad = id, s.bad || err != nil
		}
	}
	if s.lit('}') && seen&4 != 0 && !s.bad && joinReplicaLists(t, lists, ids) {
		return true
	}
	*t = TopicAssignment{}
	return false
}

// replicaLists reads {"0":[1,2],...}, appending the ids to the buffer. Numbers
// must be written as Kafka writes them.
func (s *byteScanner) replicaLists(ids []int32, many bool) ([]replicaList, []int32) {
	s.want('{')
	if s.lit('}') {
		return nil, ids
	}
	var out []replicaList
	if many {
		out = make([]replicaList, 0, (len(s.data)-s.i)/12+1)
	}
	for !s.bad {
		s.want('"')
		at := s.i
		n := s.int32()
		if s.i-at == 2 && s.data[at] == '-' && s.data[at+1] == '0' {
			s.bad = true // the key -0 is the partition 0, but finds no adding replicas of 0
		}
		s.want('"')
		s.want(':')
		from := len(ids)
		ids = s.int32s(ids)
		out = append(out, replicaList{n, from, len(ids)})
		if s.lit('}') {
			break
		}
		s.want(',')
	}
	return out, ids
}

func joinReplicaLists(t *TopicAssignment, lists [3][]replicaList, ids []int32) bool {
	byPartition := func(a, b replicaList) int { return cmp.Compare(a.partition, b.partition) }
	for _, list := range lists {
		if !slices.IsSortedFunc(list, byPartition) {
			slices.SortFunc(list, byPartition)
		}
		for i := 1; i < len(list); i++ {
			if list[i].partition == list[i-1].partition {
				return false
			}
		}
	}
	t.Partitions = make([]PartitionAssignment, len(lists[0]))
	for i, l := range lists[0] {
		p := &t.Partitions[i]
		p.Partition, p.Replicas = l.partition, sharedIDs(ids, l)
		p.Adding, lists[1] = takeIDs(ids, lists[1], l.partition)
		p.Removing, lists[2] = takeIDs(ids, lists[2], l.partition)
	}
	return true
}

// takeIDs finds the ids of a partition in an ascending list and drops what lies
// before them.
func takeIDs(ids []int32, list []replicaList, partition int32) ([]int32, []replicaList) {
	for len(list) > 0 && list[0].partition < partition {
		list = list[1:]
	}
	if len(list) == 0 || list[0].partition != partition {
		return nil, list
	}
	return sharedIDs(ids, list[0]), list[1:]
}

// sharedIDs is a part of the buffer; appending to it copies. No ids are nil.
func sharedIDs(ids []int32, l replicaList) []int32 {
	if l.from == l.to {
		return nil
	}
	return ids[l.from:l.to:l.to]
}
