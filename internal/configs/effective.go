package configs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Source is where a value comes from. Kafka: ConfigSource.
type Source int8

const (
	FromTopic   Source = 1
	FromBroker  Source = 4 // the settings that this process was started with
	FromDefault Source = 5
)

// Effective is a setting of a topic as it holds.
type Effective struct {
	Name, Value string
	Source      Source
}

// topicDefault is what a topic's setting is by itself, and which settings of
// brokers of the same effect outrank that, the first that is set.
type topicDefault struct {
	value  string
	broker []synonym
}

// synonym: times is by what a value in hours or minutes becomes milliseconds, else 0.
type synonym struct {
	name  string
	times int64
}

func by(names ...string) []synonym {
	var out []synonym
	for _, n := range names {
		out = append(out, synonym{name: n})
	}
	return out
}

const (
	forever = "9223372036854775807"
	minute  = 60_000
	hour    = 60 * minute
)

// topicDefaults are those of 3.9. Kafka: LogConfig, ServerTopicConfigSynonyms.
var topicDefaults = map[string]topicDefault{
	"cleanup.policy":                          {"delete", by("log.cleanup.policy")},
	"compression.gzip.level":                  {"-1", by("compression.gzip.level")},
	"compression.lz4.level":                   {"9", by("compression.lz4.level")},
	"compression.type":                        {"producer", by("compression.type")},
	"compression.zstd.level":                  {"3", by("compression.zstd.level")},
	"delete.retention.ms":                     {"86400000", by("log.cleaner.delete.retention.ms")},
	"file.delete.delay.ms":                    {"60000", by("log.segment.delete.delay.ms")},
	"flush.messages":                          {forever, by("log.flush.interval.messages")},
	"flush.ms":                                {forever, by("log.flush.interval.ms", "log.flush.scheduler.interval.ms")},
	"follower.replication.throttled.replicas": {"", nil},
	"index.interval.bytes":                    {"4096", by("log.index.interval.bytes")},
	"leader.replication.throttled.replicas":   {"", nil},
	"local.retention.bytes":                   {"-2", by("log.local.retention.bytes")},
	"local.retention.ms":                      {"-2", by("log.local.retention.ms")},
	"max.compaction.lag.ms":                   {forever, by("log.cleaner.max.compaction.lag.ms")},
	"max.message.bytes":                       {"1048588", by("message.max.bytes")},
	"message.downconversion.enable":           {"true", by("log.message.downconversion.enable")},
	"message.format.version":                  {"3.0-IV1", by("log.message.format.version")},
	"message.timestamp.after.max.ms":          {forever, by("log.message.timestamp.after.max.ms")},
	"message.timestamp.before.max.ms":         {forever, by("log.message.timestamp.before.max.ms")},
	"message.timestamp.difference.max.ms":     {forever, by("log.message.timestamp.difference.max.ms")},
	"message.timestamp.type":                  {"CreateTime", by("log.message.timestamp.type")},
	"min.cleanable.dirty.ratio":               {"0.5", by("log.cleaner.min.cleanable.ratio")},
	"min.compaction.lag.ms":                   {"0", by("log.cleaner.min.compaction.lag.ms")},
	"min.insync.replicas":                     {"1", by("min.insync.replicas")},
	"preallocate":                             {"false", by("log.preallocate")},
	"remote.log.copy.disable":                 {"false", nil},
	"remote.log.delete.on.disable":            {"false", nil},
	"remote.storage.enable":                   {"false", nil},
	"retention.bytes":                         {"-1", by("log.retention.bytes")},
	"retention.ms":                            {"604800000", []synonym{{"log.retention.ms", 0}, {"log.retention.minutes", minute}, {"log.retention.hours", hour}}},
	"segment.bytes":                           {"1073741824", by("log.segment.bytes")},
	"segment.index.bytes":                     {"10485760", by("log.index.size.max.bytes")},
	"segment.jitter.ms":                       {"0", []synonym{{"log.roll.jitter.ms", 0}, {"log.roll.jitter.hours", hour}}},
	"segment.ms":                              {"604800000", []synonym{{"log.roll.ms", 0}, {"log.roll.hours", hour}}},
	"unclean.leader.election.enable":          {"false", by("unclean.leader.election.enable")},
}

// OfTopic are all settings of a topic as they hold, by name: its own, else those
// that brokers (this process, for want of another) are started with, else Kafka's.
// Kafka: ZkAdminManager.populateConfig, ConfigHelper.createTopicConfigEntry.
func OfTopic(own, broker map[string]string) []Effective {
	out := make([]Effective, 0, len(topicDefaults))
	for _, name := range slices.Sorted(maps.Keys(topicDefaults)) {
		d := topicDefaults[name]
		e := Effective{name, d.value, FromDefault}
		for _, s := range d.broker {
			if v, ok := broker[s.name]; ok {
				e.Value, e.Source = s.convert(v), FromBroker
				break
			}
		}
		if v, ok := own[name]; ok {
			e.Value, e.Source = strings.TrimSpace(v), FromTopic
		}
		out = append(out, e)
	}
	return out
}

func (s synonym) convert(v string) string {
	v = strings.TrimSpace(v)
	if s.times == 0 {
		return v
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return v
	}
	if n < 0 { // for ever
		return "-1"
	}
	return strconv.FormatInt(n*s.times, 10)
}
