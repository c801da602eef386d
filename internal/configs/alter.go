package configs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kstate/engine"
	"kstate/model"
)

// ResourceType is what a setting belongs to. Kafka: ConfigResource.Type.
type ResourceType int8

// Those that this process can do something with.
const (
	TopicResource  ResourceType = 2
	BrokerResource ResourceType = 4
)

// Op is what is done to a setting. Kafka: AlterConfigOp.OpType.
type Op int8

const (
	Set Op = iota
	Delete
	Append
	Subtract
)

// Change is one change of a setting; Value nil is null.
type Change struct {
	Op    Op
	Name  string
	Value *string
}

// Resource is whose settings are changed; the broker without a name is all of them.
type Resource struct {
	Type    ResourceType
	Name    string
	Changes []Change
	Whole   bool // Changes, all of them Set, take the place of all settings
}

// Alter changes the settings of one resource; with validateOnly it says only what
// would come of it. Kafka: ConfigAdminManager.preprocess, ZkAdminManager.alterConfigs,
// incrementalAlterConfigs.
func (a *Admin) Alter(r Resource, validateOnly bool) Outcome {
	if bad := checkChanges(&r); bad != nil {
		return *bad
	}
	switch {
	case r.Type == TopicResource:
		return done(a.alterTopic(&r, validateOnly))
	case r.Type == BrokerResource && r.Name == "":
		return done(a.alterBrokers(&r, validateOnly))
	case r.Type == BrokerResource:
		return done(a.otherBroker(r.Name))
	}
	return done(refuse(model.ErrInvalidRequest, "resource type %d is not changed here: topics and brokers are", r.Type))
}

func checkChanges(r *Resource) *Outcome {
	var null []string
	seen := map[string]bool{}
	for _, c := range r.Changes {
		switch {
		case c.Op < Set || c.Op > Subtract:
			return refuse(model.ErrInvalidRequest, "unknown operation %d on %s", c.Op, c.Name)
		case seen[c.Name]:
			return refuse(model.ErrInvalidRequest, "Error due to duplicate config keys")
		case c.Op != Delete && c.Value == nil:
			null = append(null, c.Name)
		}
		seen[c.Name] = true
	}
	if len(null) > 0 {
		return refuse(model.ErrInvalidRequest, "Null value not supported for : %s", strings.Join(null, ", "))
	}
	return nil
}

// otherBroker: only a broker itself can judge its own settings.
func (a *Admin) otherBroker(name string) *Outcome {
	if _, err := strconv.ParseInt(name, 10, 32); err != nil {
		return refuse(model.ErrInvalidRequest, "Node id must be an integer, but it is: %s", name)
	}
	return refuse(model.ErrInvalidRequest, "Unexpected broker id, expected %d, but received %s", a.Self, name)
}

func (a *Admin) alterTopic(r *Resource, validateOnly bool) *Outcome {
	if r.Name == "" {
		return refuse(model.ErrInvalidRequest, "Default topic resources are not allowed.")
	}
	old, bad := a.fetch(model.ConfigTypeTopics, r.Name)
	if bad != nil {
		return bad
	}
	config, bad := apply(old, r, topicLists)
	switch {
	case bad != nil:
		return bad
	case !a.Topic(r.Name):
		return refuse(model.ErrUnknownTopicOrPartition, "The topic '%s' does not exist.", r.Name)
	}
	if bad := checkTopic(r.Name, config); bad != nil || validateOnly {
		return bad
	}
	return a.change(model.ConfigTypeTopics, r.Name, config)
}

// checkTopic. Kafka: LogConfig.validate.
func checkTopic(topic string, config map[string]string) *Outcome {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if err := engine.CheckTopicConfig(name, config[name]); err != nil {
			return refuse(model.ErrInvalidConfig, "Invalid config value for resource ConfigResource(type=TOPIC, name='%s'): %v", topic, err)
		}
	}
	low, high := number(config, "min.compaction.lag.ms"), number(config, "max.compaction.lag.ms")
	switch {
	case low > high:
		return refuse(model.ErrInvalidConfig, "conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", low, high)
	case strings.EqualFold(strings.TrimSpace(config["remote.storage.enable"]), "true"):
		return refuse(model.ErrInvalidConfig, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// number is a setting that was judged, or its default.
func number(config map[string]string, name string) int64 {
	text, ok := config[name]
	if !ok {
		text = topicDefaults[name].value
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// lists are the settings that can be added to and taken from, with their defaults.
var (
	topicLists  = map[string]string{"cleanup.policy": "delete", "leader.replication.throttled.replicas": "", "follower.replication.throttled.replicas": ""}
	brokerLists = map[string]string{"log.cleanup.policy": "delete", "metric.reporters": ""}
)

// apply makes the changes. Kafka: ConfigAdminManager.prepareIncrementalConfigs.
func apply(old map[string]string, r *Resource, lists map[string]string) (map[string]string, *Outcome) {
	config := maps.Clone(old)
	if r.Whole || config == nil {
		config = map[string]string{}
	}
	for _, c := range r.Changes {
		switch c.Op {
		case Set:
			config[c.Name] = *c.Value
			continue
		case Delete:
			delete(config, c.Name)
			continue
		}
		otherwise, isList := lists[c.Name]
		if !isList {
			return nil, refuse(model.ErrInvalidConfig, "Config value %s is not allowed for config key: %s", map[Op]string{Append: "append", Subtract: "subtract"}[c.Op], c.Name)
		}
		text, ok := config[c.Name]
		if !ok {
			text = otherwise
		}
		var have []string
		if text != "" {
			have = strings.Split(text, ",")
		}
		for word := range strings.SplitSeq(*c.Value, ",") {
			at := slices.Index(have, word)
			switch {
			case c.Op == Append && at < 0:
				have = append(have, word)
			case c.Op == Subtract && at >= 0:
				have = slices.Delete(have, at, at+1)
			}
		}
		config[c.Name] = strings.Join(have, ",")
	}
	return config, nil
}

func (a *Admin) alterBrokers(r *Resource, validateOnly bool) *Outcome {
	old, bad := a.fetch(model.ConfigTypeBrokers, model.DefaultEntity)
	if bad != nil {
		return bad
	}
	config, bad := apply(old, r, brokerLists)
	if bad != nil {
		return bad
	}
	if bad := checkBrokers(config); bad != nil || validateOnly {
		return bad
	}
	return a.change(model.ConfigTypeBrokers, model.DefaultEntity, config)
}

// checkBrokers. Kafka: DynamicBrokerConfig.validateConfigs.
func checkBrokers(config map[string]string) *Outcome {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		invalid := func(why string) *Outcome {
			return refuse(model.ErrInvalidConfig, "Invalid config value for resource ConfigResource(type=BROKER, name=''): %s: %s", why, name)
		}
		base := name
		if rest, ok := strings.CutPrefix(name, "listener.name."); ok {
			_, base, _ = strings.Cut(rest, ".")
			if !clusterListener[base] {
				return invalid("Cannot update these configs at default cluster level, broker id must be specified")
			}
		}
		check, dynamic := brokerConfigs[base]
		switch {
		case perBroker(base):
			return invalid("Cannot update these configs at default cluster level, broker id must be specified")
		case !dynamic:
			return invalid("Cannot update these configs dynamically")
		}
		if err := check(config[name]); err != nil {
			return invalid(err.Error())
		}
	}
	return nil
}

// perBroker tells whether a setting can be changed, but for each broker apart.
func perBroker(name string) bool {
	return strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.") || slices.Contains([]string{"listeners", "advertised.listeners",
		"listener.security.protocol.map", "principal.builder.class"}, name)
}

var clusterListener = map[string]bool{"max.connections": true, "max.connection.creation.rate": true, "num.network.threads": true}

// brokerConfigs are the settings that can be changed for all brokers while they
// run. Kafka: DynamicBrokerConfig.AllDynamicConfigs without PerBrokerConfigs.
var brokerConfigs = func() map[string]func(string) error {
	out := map[string]func(string) error{
		"leader.replication.throttled.rate": whole(64, 0), "follower.replication.throttled.rate": whole(64, 0), "replica.alter.log.dirs.io.max.bytes.per.second": whole(64, 0),
		"log.cleaner.threads": whole(32, 0), "log.cleaner.dedupe.buffer.size": whole(64, 0), "log.cleaner.io.buffer.load.factor": anyNumber,
		"log.cleaner.io.buffer.size": whole(32, 0), "log.cleaner.io.max.bytes.per.second": anyNumber, "log.cleaner.backoff.ms": whole(64, 0),
		"num.io.threads": whole(32, 1), "num.replica.fetchers": whole(32, 1), "num.recovery.threads.per.data.dir": whole(32, 1), "background.threads": whole(32, 1),
		"num.network.threads": whole(32, 1), "max.connections": whole(32, 0), "max.connection.creation.rate": whole(32, 0),
		"max.connections.per.ip": whole(32, 0), "max.connections.per.ip.overrides": anyText, "metric.reporters": anyText,
		"producer.id.expiration.ms": whole(32, 1), "transaction.partition.verification.enable": trueOrFalse,
		"remote.log.index.file.cache.total.size.bytes": whole(64, 1), "remote.log.manager.copy.max.bytes.per.second": whole(64, 1),
		"remote.log.manager.fetch.max.bytes.per.second": whole(64, 1), "remote.fetch.max.wait.ms": whole(32, 1),
	}
	for topic, d := range topicDefaults {
		if len(d.broker) > 0 && topic != "message.format.version" {
			out[d.broker[0].name] = func(v string) error { return engine.CheckTopicConfig(topic, v) }
		}
	}
	return out
}()

func whole(bits int, least int64) func(string) error {
	return func(v string) error {
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, bits); err != nil || n < least {
			return fmt.Errorf("%q is not a %d-bit number from %d", v, bits, least)
		}
		return nil
	}
}

func anyNumber(v string) error {
	if _, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
		return fmt.Errorf("%q is not a number", v)
	}
	return nil
}

func trueOrFalse(v string) error {
	if v = strings.TrimSpace(v); !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") {
		return fmt.Errorf("%q is not true or false", v)
	}
	return nil
}

func anyText(string) error { return nil }
