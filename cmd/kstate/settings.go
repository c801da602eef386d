package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"kstate/engine"
	"kstate/internal/acl"
	"kstate/internal/security"
	"kstate/model"
	"kstate/zkwatch"
)

// controlSettings are what a controller is started with, by Kafka's names.
type controlSettings struct {
	engine         engine.Config
	zookeeper      zkwatch.Options   // session timeout, window, ACLs
	connect        string            // zookeeper.connect
	clusterID      string            // what /cluster/id says
	requestTimeout time.Duration     // controller.socket.timeout.ms
	rack           string            // broker.rack
	given          map[string]string // by setting: who gave it
	protocols      map[string]string
	all            map[string]string // as they were given, secrets among them
	authorizer     string            // authorizer.class.name
	superUsers     []string
	everyoneIfNone bool // allow.everyone.if.no.acl.found
}

// setting reads one value; the error says what it should be.
type setting func(s *controlSettings, value string) error

// settings are those that matter to a controller. Others of a broker are passed
// over, as Kafka passes over what it does not know.
var settings = map[string]setting{
	"delete.topic.enable":                     boolean(func(s *controlSettings) *bool { return &s.engine.DeleteTopicEnable }),
	"auto.leader.rebalance.enable":            boolean(func(s *controlSettings) *bool { return &s.engine.AutoRebalance }),
	"leader.imbalance.per.broker.percentage":  atLeast(0, func(s *controlSettings, n int64) { s.engine.ImbalancePercentage = int(n) }),
	"leader.imbalance.check.interval.seconds": atLeast(1, func(s *controlSettings, n int64) { s.engine.ImbalanceCheckInterval = n * 1000 }),
	"num.partitions":                          atLeast(1, func(s *controlSettings, n int64) { s.engine.NumPartitions = int32(n) }),
	"default.replication.factor":              atLeast(1, func(s *controlSettings, n int64) { s.engine.ReplicationFactor = int16(n) }),
	"controller.quota.window.num":             atLeast(1, func(s *controlSettings, n int64) { s.engine.QuotaWindows = int(n) }),
	"unclean.leader.election.enable":          uncleanSetting,
	"zookeeper.connect":                       func(s *controlSettings, v string) error { s.connect = v; return nil },
	"zookeeper.session.timeout.ms":            atLeast(1, func(s *controlSettings, n int64) { s.zookeeper.SessionTimeout = time.Duration(n) * time.Millisecond }),
	"zookeeper.max.in.flight.requests":        atLeast(1, func(s *controlSettings, n int64) { s.zookeeper.Window = int(n) }),
	"zookeeper.set.acl":                       boolean(func(s *controlSettings) *bool { return &s.zookeeper.SetACL }),
	"controller.socket.timeout.ms":            atLeast(1, func(s *controlSettings, n int64) { s.requestTimeout = time.Duration(n) * time.Millisecond }),
	"broker.rack":                             func(s *controlSettings, v string) error { s.rack = v; return nil },
	"inter.broker.protocol.version":           protocolSetting,
	"security.inter.broker.protocol": func(s *controlSettings, v string) error {
		s.engine.InterBrokerListener = strings.ToUpper(v)
		return nil
	},
	"inter.broker.listener.name": func(s *controlSettings, v string) error {
		s.engine.InterBrokerListener = strings.ToUpper(v)
		return nil
	},
	"control.plane.listener.name": func(s *controlSettings, v string) error {
		s.engine.InterBrokerListener = strings.ToUpper(v)
		return nil
	},
	"listener.security.protocol.map": protocolMapSetting,
	"authorizer.class.name":          authorizerSetting,
	"super.users": func(s *controlSettings, v string) (err error) {
		s.superUsers, err = acl.ReadSuperUsers(v)
		return err
	},
	"allow.everyone.if.no.acl.found":      boolean(func(s *controlSettings) *bool { return &s.everyoneIfNone }),
	"zookeeper.metadata.migration.enable": migrationSetting,
	"process.roles":                       rolesSetting,
}

// settingOrder has what outranks another of the same effect behind it.
var settingOrder = []string{"security.inter.broker.protocol", "inter.broker.listener.name", "control.plane.listener.name"}

func boolean(at func(*controlSettings) *bool) setting {
	return func(s *controlSettings, v string) error {
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true":
			*at(s) = true
		case "false":
			*at(s) = false
		default:
			return errors.New("not true or false")
		}
		return nil
	}
}

func atLeast(least int64, put func(*controlSettings, int64)) setting {
	return func(s *controlSettings, v string) error {
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
		if err != nil || n < least {
			return fmt.Errorf("not a number from %d to %d", least, 1<<31-1)
		}
		put(s, n)
		return nil
	}
}

const uncleanSettingName = "unclean.leader.election.enable"

func uncleanSetting(s *controlSettings, v string) error {
	var on bool
	if err := boolean(func(*controlSettings) *bool { return &on })(s, v); err != nil {
		return err
	}
	s.engine.BrokerConfig = map[string]string{uncleanSettingName: strconv.FormatBool(on)}
	return nil
}

func protocolSetting(s *controlSettings, v string) (err error) {
	s.engine.IBP, err = model.ParseInterBrokerProtocol(strings.TrimSpace(v))
	if err == nil && s.engine.IBP > model.LatestIBP {
		return fmt.Errorf("there is no ZooKeeper controller after %s", model.LatestIBP)
	}
	return err
}

func protocolMapSetting(s *controlSettings, v string) error {
	s.protocols = map[string]string{}
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, protocol, ok := strings.Cut(part, ":")
		if !ok {
			return fmt.Errorf("%q is not NAME:PROTOCOL", part)
		}
		s.protocols[strings.ToUpper(strings.TrimSpace(name))] = strings.ToUpper(strings.TrimSpace(protocol))
	}
	return nil
}

func migrationSetting(s *controlSettings, v string) error {
	var on bool
	err := boolean(func(*controlSettings) *bool { return &on })(s, v)
	if err == nil && on {
		return errors.New("kstate takes no part in a migration to KRaft")
	}
	return err
}

// authorizerSetting: no class, or the one whose rules lie in ZooKeeper.
func authorizerSetting(s *controlSettings, v string) error {
	switch v = strings.TrimSpace(v); v {
	case "", "kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer":
		s.authorizer = v
		return nil
	}
	return errors.New("that class cannot be run here: write its rules down and give them by --authorization, and leave this setting out")
}

func rolesSetting(_ *controlSettings, v string) error {
	if strings.TrimSpace(v) != "" {
		return errors.New("a process with roles belongs to a KRaft cluster, which has no ZooKeeper controller")
	}
	return nil
}

// readSettings reads --properties and then --override, which outranks it.
func readSettings(inv *invocation) (*controlSettings, error) {
	s := &controlSettings{engine: engine.DefaultConfig(0)}
	s.engine.IBP = model.NoIBP
	values, err := propertiesOf(inv, "properties")
	if err != nil {
		return nil, err
	}
	where := map[string]string{}
	for k := range values {
		where[k] = "--properties " + inv.text("properties")
	}
	for _, o := range inv.given["override"] {
		k, v, ok := strings.Cut(o, "=")
		if k = strings.TrimSpace(k); !ok || k == "" { // what is there may be a password
			k, _ = splitProperty(k)
			return nil, inv.misuse("--override %s...: want KEY=VALUE", k)
		}
		values[k], where[k] = v, "--override"
	}
	s.all, s.given = values, where
	keys := slices.Sorted(maps.Keys(values))
	keys = slices.DeleteFunc(keys, func(k string) bool { return slices.Contains(settingOrder, k) })
	for _, k := range settingOrder {
		if _, ok := values[k]; ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		read, known := settings[k]
		if !known {
			continue
		}
		if err := read(s, values[k]); err != nil {
			return nil, inv.misuse("%s: %s=%s: %v", where[k], k, security.Redacted(k, values[k]), err)
		}
	}
	if s.engine.Mend, err = mends(inv); err != nil {
		return nil, err
	}
	if v := inv.text("inter-broker-protocol"); v != "" {
		if err := protocolSetting(s, v); err != nil {
			return nil, inv.misuse("--inter-broker-protocol %s: %v", v, err)
		}
	}
	return s, nil
}

// mendFlag says which known faults of Kafka's controller are mended.
var mendFlag = flag{name: "mend", kind: isText, value: "NAME[,NAME]",
	usage: "known faults of Kafka's controller that this one is not to share; by default it does as Kafka does: " + strings.Join(engine.MendNames, ", ")}

// mends reads --mend.
func mends(inv *invocation) (engine.Mends, error) {
	m, err := engine.ParseMends(inv.text("mend"))
	if err != nil {
		return m, inv.misuse("--mend %s: %v", inv.text("mend"), err)
	}
	return m, nil
}
