package engine

import "testing"

// TestTopicSettings: each setting takes what Kafka's definition of it takes.
func TestTopicSettings(t *testing.T) {
	good := map[string]string{"segment.bytes": " 14 ", "retention.ms": "-1", "retention.bytes": "-5", "cleanup.policy": "compact, delete", "compression.type": "zstd",
		"compression.gzip.level": "-1", "compression.lz4.level": "17", "compression.zstd.level": "-7", "min.cleanable.dirty.ratio": "0.5", "message.format.version": "2.8",
		"message.timestamp.type": "LogAppendTime", "leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "0:1,1:2",
		"remote.log.copy.disable": "TRUE", "local.retention.ms": "-2", "max.message.bytes": "+0", "no.such.setting": "x"}
	for key, value := range good {
		if err := parseSetting(key, value); err != nil {
			t.Errorf("refused: %v", err)
		}
	}
	bad := map[string]string{"segment.bytes": "13", "retention.ms": "-2", "segment.ms": "0", "cleanup.policy": "compact,shrink", "compression.type": "zip", "compression.gzip.level": "0",
		"compression.lz4.level": "18", "compression.zstd.level": "23", "min.cleanable.dirty.ratio": "1.5", "message.format.version": "x", "message.timestamp.type": "createtime",
		"leader.replication.throttled.replicas": "*,0:1", "follower.replication.throttled.replicas": "0-1", "unclean.leader.election.enable": "yes",
		"min.insync.replicas": "0", "segment.index.bytes": "99999999999", "flush.messages": "1.0", "local.retention.bytes": "-3"}
	for key, value := range bad {
		if parseSetting(key, value) == nil {
			t.Errorf("%s takes %q", key, value)
		}
		if _, err := EffectiveUnclean(nil, map[string]string{key: value}); err == nil {
			t.Errorf("%s=%s does not fail the look-up", key, value)
		}
	}
}
