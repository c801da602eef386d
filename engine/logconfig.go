package engine

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kstate/model"
)

const uncleanKey = "unclean.leader.election.enable"

// logSetting is what values a topic's setting takes. Only what the kind uses is set.
type logSetting struct {
	kind     settingKind
	min, max float64  // of numbers
	words    []string // of a text or a list; nil: any
	valid    func(string) bool
}

type settingKind byte

const (
	boolSetting settingKind = iota
	intSetting
	longSetting
	doubleSetting
	textSetting
	listSetting
)

func atLeast(kind settingKind, min float64) logSetting {
	return logSetting{kind: kind, min: min, max: math.Inf(1)}
}

func between(kind settingKind, min, max float64) logSetting {
	return logSetting{kind: kind, min: min, max: max}
}

func oneOf(kind settingKind, words ...string) logSetting {
	return logSetting{kind: kind, words: words}
}

var throttled = logSetting{kind: listSetting, valid: func(v string) bool {
	return strings.Join(splitList(v), "") == "*" || !slices.ContainsFunc(splitList(v), func(s string) bool { return !throttledReplica.MatchString(strings.TrimSpace(s)) })
}}

var throttledReplica = regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)

// logSettings are the settings of topics: an override that is not a value of its
// setting makes the whole look-up fail, whatever the setting. Kafka: LogConfig (ConfigDef).
var logSettings = map[string]logSetting{
	"segment.bytes": atLeast(intSetting, 14), "segment.ms": atLeast(longSetting, 1), "segment.jitter.ms": atLeast(longSetting, 0),
	"segment.index.bytes": atLeast(intSetting, 4), "flush.messages": atLeast(longSetting, 1), "flush.ms": atLeast(longSetting, 0),
	"retention.bytes": atLeast(longSetting, math.Inf(-1)), "retention.ms": atLeast(longSetting, -1), "max.message.bytes": atLeast(intSetting, 0),
	"index.interval.bytes": atLeast(intSetting, 0), "delete.retention.ms": atLeast(longSetting, 0), "min.compaction.lag.ms": atLeast(longSetting, 0),
	"max.compaction.lag.ms": atLeast(longSetting, 1), "file.delete.delay.ms": atLeast(longSetting, 0),
	"min.cleanable.dirty.ratio": between(doubleSetting, 0, 1), "cleanup.policy": oneOf(listSetting, "compact", "delete"), uncleanKey: {},
	"min.insync.replicas": atLeast(intSetting, 1), "compression.type": oneOf(textSetting, "uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
	"compression.gzip.level": {kind: intSetting, min: -1, max: 9, valid: func(v string) bool { return strings.TrimSpace(v) != "0" }},
	"compression.lz4.level":  between(intSetting, 1, 17), "compression.zstd.level": between(intSetting, -131072, 22), "preallocate": {},
	"message.format.version": {kind: textSetting, valid: func(v string) bool {
		_, err := model.ParseInterBrokerProtocol(strings.TrimSpace(v))
		return err == nil
	}},
	"message.timestamp.type": oneOf(textSetting, "CreateTime", "LogAppendTime"), "message.timestamp.difference.max.ms": atLeast(longSetting, 0),
	"message.timestamp.before.max.ms": atLeast(longSetting, 0), "message.timestamp.after.max.ms": atLeast(longSetting, 0),
	"leader.replication.throttled.replicas": throttled, "follower.replication.throttled.replicas": throttled,
	"message.downconversion.enable": {}, "remote.storage.enable": {}, "remote.log.copy.disable": {}, "remote.log.delete.on.disable": {},
	"local.retention.ms": atLeast(longSetting, -2), "local.retention.bytes": atLeast(longSetting, -2),
}

// EffectiveUnclean is a topic's unclean.leader.election.enable: its override,
// else the broker's setting, else false. The error names the override that is
// none of its setting's values. Kafka: LogConfig.fromProps.
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
// know its name, or the value is not one of its values; nil when it may be set.
// Kafka: LogConfig.validate.
func CheckTopicConfig(key, value string) error {
	if _, known := logSettings[key]; !known {
		return fmt.Errorf("unknown topic config name: %s", key)
	}
	return parseSetting(key, value)
}

// parseSetting says what is wrong with a value; settings that no log has are not looked at.
func parseSetting(key, value string) error {
	s, ok := logSettings[key]
	if !ok {
		return nil
	}
	if why := s.refuse(strings.TrimSpace(value)); why != "" {
		return fmt.Errorf("topic config %s has the value %q: %s", key, value, why)
	}
	return nil
}

// refuse says in words why v is no value; empty when it is one.
func (s *logSetting) refuse(v string) string {
	n := s.min
	var err error
	switch s.kind {
	case boolSetting:
		if !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") {
			return "it is not true or false"
		}
	case intSetting, longSetting:
		var i int64
		i, err = strconv.ParseInt(v, 10, map[settingKind]int{intSetting: 32, longSetting: 64}[s.kind])
		n = float64(i)
	case doubleSetting:
		n, err = strconv.ParseFloat(v, 64)
	}
	words := []string{v}
	if s.kind == listSetting {
		words = splitList(v)
	}
	switch {
	case err != nil:
		return err.Error()
	case n < s.min:
		return fmt.Sprintf("it is less than %v", s.min)
	case n > s.max && s.kind != textSetting && s.kind != listSetting:
		return fmt.Sprintf("it is more than %v", s.max)
	case s.words != nil && slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(s.words, w) }):
		return "it must be of " + strings.Join(s.words, ", ")
	case s.valid != nil && !s.valid(v):
		return "it has another form than such a setting"
	}
	return ""
}

// splitList reads a list as Kafka's settings have it; an empty text has no elements.
func splitList(v string) []string {
	v = strings.TrimSpace(v)
	if v == "" {
		return nil
	}
	out := strings.Split(v, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}
