package engine

import (
	"fmt"
	"strconv"
	"strings"
)

const uncleanKey = "unclean.leader.election.enable"

// logConfigTypes are the types of topic settings: a topic whose override does
// not parse makes the whole look-up fail, whatever the setting.
// Kafka: LogConfig (ConfigDef).
var logConfigTypes = map[string]byte{
	"segment.bytes": 'i', "segment.ms": 'l', "segment.jitter.ms": 'l', "segment.index.bytes": 'i', "flush.messages": 'l',
	"flush.ms": 'l', "retention.bytes": 'l', "retention.ms": 'l', "max.message.bytes": 'i', "index.interval.bytes": 'i',
	"delete.retention.ms": 'l', "min.compaction.lag.ms": 'l', "max.compaction.lag.ms": 'l', "file.delete.delay.ms": 'l',
	"min.cleanable.dirty.ratio": 'd', uncleanKey: 'b', "min.insync.replicas": 'i', "preallocate": 'b',
	"message.timestamp.difference.max.ms": 'l', "message.timestamp.before.max.ms": 'l', "message.timestamp.after.max.ms": 'l',
	"message.downconversion.enable": 'b', "remote.storage.enable": 'b', "local.retention.ms": 'l', "local.retention.bytes": 'l',
}

// logConfigTexts are the settings of topics that are text or lists of words.
var logConfigTexts = map[string]bool{"cleanup.policy": true, "compression.type": true, "message.format.version": true,
	"message.timestamp.type": true, "leader.replication.throttled.replicas": true, "follower.replication.throttled.replicas": true}

// EffectiveUnclean is a topic's unclean.leader.election.enable: its override,
// else the broker's setting, else false. The error names the override that does
// not parse. Kafka: LogConfig.fromProps.
func EffectiveUnclean(broker, overrides map[string]string) (bool, error) {
	value := "false"
	if v, ok := broker[uncleanKey]; ok {
		value = v
	}
	for _, key := range sortedKeys(overrides) {
		if err := parseSetting(key, overrides[key]); err != nil {
			return false, err
		}
	}
	if v, ok := overrides[uncleanKey]; ok {
		value = v
	}
	return strings.EqualFold(strings.TrimSpace(value), "true"), nil
}

// CheckTopicConfig tells what is wrong with a topic's setting: Kafka 3.9 does not
// know its name, or the value is not of its type; nil when it may be set.
// Kafka: LogConfig.validate, as far as types go.
func CheckTopicConfig(key, value string) error {
	if _, known := logConfigTypes[key]; !known && !logConfigTexts[key] {
		return fmt.Errorf("unknown topic config name: %s", key)
	}
	return parseSetting(key, value)
}

func parseSetting(key, value string) error {
	v := strings.TrimSpace(value)
	var err error
	switch logConfigTypes[key] {
	case 'b':
		if !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") {
			err = fmt.Errorf("not true or false")
		}
	case 'i':
		_, err = strconv.ParseInt(v, 10, 32)
	case 'l':
		_, err = strconv.ParseInt(v, 10, 64)
	case 'd':
		_, err = strconv.ParseFloat(v, 64)
	}
	if err != nil {
		return fmt.Errorf("topic config %s has the value %q: %w", key, value, err)
	}
	return nil
}
