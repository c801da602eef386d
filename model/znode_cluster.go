package model

import (
	"math"
	"strconv"
)

// EncodeClusterID writes /cluster/id. Kafka: ClusterIdZNode.toJson.
func EncodeClusterID(id string) []byte {
	var w jsonWriter
	return w.open('{').str("version", "1").str("id", id).close('}').b
}

// DecodeClusterID reads /cluster/id. Kafka: ClusterIdZNode.fromJson.
func DecodeClusterID(path string, data []byte) (string, error) {
	root, bad := readJSON(path, data)
	if bad != nil {
		return "", bad
	}
	r := newFieldReader(path, &root)
	id := r.str("id")
	if r.err != nil {
		return "", r.err
	}
	return id, nil
}

// ProducerIDBlockSize is how many producer ids are handed out at once.
const ProducerIDBlockSize = 1000

// ProducerIDBlock is the content of /latest_producer_id_block.
// Kafka: ProducerIdsBlock.
type ProducerIDBlock struct {
	Broker int32 // who got it
	First  int64
	Size   int32
}

// Last is the last id of the block.
func (b ProducerIDBlock) Last() int64 { return b.First + int64(b.Size) - 1 }

// EncodeProducerIDBlock writes /latest_producer_id_block.
// Kafka: ProducerIdBlockZNode.generateProducerIdBlockJson.
func EncodeProducerIDBlock(b ProducerIDBlock) []byte {
	var w jsonWriter
	return w.open('{').int("version", 1).int("broker", int64(b.Broker)).
		str("block_start", strconv.FormatInt(b.First, 10)).str("block_end", strconv.FormatInt(b.Last(), 10)).close('}').b
}

// DecodeProducerIDBlock reads /latest_producer_id_block. A null payload is an
// error here; whoever allocates takes it for "no block yet" and does not ask.
// Kafka: ProducerIdBlockZNode.parseProducerIdBlockData.
func DecodeProducerIDBlock(path string, data []byte) (ProducerIDBlock, error) {
	root, bad := readJSON(path, data)
	if bad != nil {
		return ProducerIDBlock{}, bad
	}
	r := newFieldReader(path, &root)
	b := ProducerIDBlock{Broker: r.int32("broker"), First: r.quotedInt64("block_start")}
	size := r.quotedInt64("block_end") - b.First + 1
	if r.err == nil && (size < math.MinInt32 || size > math.MaxInt32) {
		r.fail("block_end", root.get("block_end").raw, OutOfRange, "the size of the block does not fit 32 bits")
	}
	b.Size = int32(size)
	if r.err != nil {
		return ProducerIDBlock{}, r.err
	}
	return b, nil
}

func (r *fieldReader) quotedInt64(field string) int64 {
	text := r.str(field)
	if r.err != nil {
		return 0
	}
	n, bad := parseJavaInt(text, 64)
	if bad != "" {
		r.fail(field, r.obj.get(field).raw, bad, "the text is not a number of 64 bits")
	}
	return n
}

// FeatureStatus tells whether feature versioning is on.
type FeatureStatus int32

const (
	FeaturesDisabled FeatureStatus = 0
	FeaturesEnabled  FeatureStatus = 1
)

// String is disabled or enabled.
func (s FeatureStatus) String() string {
	if s == FeaturesEnabled {
		return "enabled"
	}
	return "disabled"
}

// FinalizedFeatures is the content of /feature. Kafka: FeatureZNode.
type FinalizedFeatures struct {
	Version  int32 // 1, or 2 from inter-broker protocol 3.3 on (see FeatureZnodeVersion)
	Status   FeatureStatus
	Features map[string]int16 // finalized level by name
}

// EncodeFeatures writes /feature. Version 1 has a lowest level too, which is
// the same. Kafka: FeatureZNode.encode.
func EncodeFeatures(f FinalizedFeatures) []byte {
	var w jsonWriter
	w.open('{').object("features")
	for _, name := range sortedKeys(f.Features) {
		level := int64(f.Features[name])
		w.object(name).int("max_version_level", level)
		if f.Version == 1 {
			w.int("min_version_level", level)
		}
		w.close('}')
	}
	return w.close('}').int("version", int64(f.Version)).int("status", int64(f.Status)).close('}').b
}

// DecodeFeatures reads /feature of version 1 or 2. The map is never nil.
// Kafka: FeatureZNode.decode.
func DecodeFeatures(path string, data []byte) (FinalizedFeatures, error) {
	root, bad := readJSON(path, data)
	if bad != nil {
		return FinalizedFeatures{}, bad
	}
	r := newFieldReader(path, &root)
	f := FinalizedFeatures{Version: r.int32("version")}
	if r.err == nil && (f.Version < 1 || f.Version > 2) {
		r.fail("version", root.get("version").raw, UnsupportedVersion, "versions are 1 and 2")
	}
	if n := r.optional("status"); n == nil {
		r.fail("status", "", MissingField, "")
	} else if f.Status = FeatureStatus(r.asInt32("status", n)); r.err == nil && f.Status != FeaturesEnabled && f.Status != FeaturesDisabled {
		r.fail("status", n.raw, InvalidValue, "it is neither 0 (disabled) nor 1 (enabled)")
	}
	f.Features = r.featureLevels(f.Version)
	if r.err != nil {
		return FinalizedFeatures{}, r.err
	}
	return f, nil
}

func (r *fieldReader) featureLevels(version int32) map[string]int16 {
	n := r.optional("features")
	if n == nil {
		r.fail("features", "", MissingField, "")
		return nil
	}
	in := r.within("features", n)
	levels := make([]*fieldReader, len(in.obj.keys))
	for i, name := range in.obj.keys { // all types first, then the values
		levels[i] = in.within(name, &in.obj.kids[i])
		for k, label := range levels[i].obj.keys {
			levels[i].asInt32(label, &levels[i].obj.kids[k])
		}
		r.adopt(*levels[i])
	}
	r.adopt(*in)
	out := make(map[string]int16, len(levels))
	for i, name := range in.obj.keys {
		if r.err != nil {
			break
		}
		out[name] = levels[i].featureLevel(version)
		r.adopt(*levels[i])
	}
	return out
}

// featureLevel reads the levels of one feature; the result is cut to 16 bits, as
// in Kafka.
func (r *fieldReader) featureLevel(version int32) int16 {
	lowest := int32(1)
	if version == 1 {
		lowest = r.int32("min_version_level")
	}
	level := r.int32("max_version_level")
	switch {
	case r.err != nil:
	case lowest < 1:
		r.fail("min_version_level", itoa(lowest), InvalidValue, "levels begin at 1")
	case level < lowest:
		r.fail("max_version_level", itoa(level), InvalidValue, "it is below "+itoa(lowest))
	}
	return int16(level)
}

// MigrationState is the content of /migration, which a KRaft controller writes
// while it takes a cluster over. Kafka: ZkMigrationLeadershipState.
type MigrationState struct {
	KRaftControllerID    int32
	KRaftControllerEpoch int32
	KRaftMetadataOffset  int64
	KRaftMetadataEpoch   int32
}

// EncodeMigration writes /migration. Kafka: MigrationZNode.encode.
func EncodeMigration(m MigrationState) []byte {
	var w jsonWriter
	return w.open('{').int("version", 0).int("kraft_metadata_offset", m.KRaftMetadataOffset).
		int("kraft_controller_id", int64(m.KRaftControllerID)).int("kraft_metadata_epoch", int64(m.KRaftMetadataEpoch)).
		int("kraft_controller_epoch", int64(m.KRaftControllerEpoch)).close('}').b
}

// DecodeMigration reads /migration. Kafka: MigrationZNode.decode.
func DecodeMigration(path string, data []byte) (MigrationState, error) {
	root, bad := readJSON(path, data)
	if bad != nil {
		return MigrationState{}, bad
	}
	r := newFieldReader(path, &root)
	if v := r.int32("version"); r.err == nil && v != 0 {
		r.fail("version", root.get("version").raw, UnsupportedVersion, "the only version is 0")
	}
	m := MigrationState{
		KRaftControllerID:    r.int32("kraft_controller_id"),
		KRaftControllerEpoch: r.int32("kraft_controller_epoch"),
		KRaftMetadataOffset:  r.int64("kraft_metadata_offset"),
		KRaftMetadataEpoch:   r.int32("kraft_metadata_epoch"),
	}
	if r.err != nil {
		return MigrationState{}, r.err
	}
	return m, nil
}
