package wire

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/internal/configs"
	"kstate/model"
)

// Changes of settings, quotas and SCRAM users. They are no work of the controller's
// event thread: they are judged and written while the asker's connection waits.

// configAPIs are served where there is somebody who can write them.
func configAPIs() []api {
	return []api{alterConfigsAPI(), incrementalAlterConfigsAPI(), alterClientQuotasAPI(), alterUserScramCredentialsAPI()}
}

// alterResource judges and changes one resource.
// Kafka: KafkaApis.processIncrementalAlterConfigsRequest.
func alterResource(c *call, r configs.Resource, validateOnly bool) configs.Outcome {
	s := c.conn.server
	switch {
	case r.Type == configs.TopicResource:
		if !c.mayTopic(acl.AlterConfigs, r.Name) {
			return configs.Outcome{Error: model.ErrTopicAuthorizationFailed, Text: "Topic authorization failed."}
		}
	case !c.mayCluster(acl.AlterConfigs):
		return configs.Outcome{Error: model.ErrClusterAuthorizationFailed, Text: "Cluster authorization failed."}
	}
	if self := s.opt.Cluster().Self; self != nil && r.Type == configs.BrokerResource && r.Name == strconv.Itoa(int(self.ID)) {
		return ownSettings(r)
	}
	if inactive := c.active(); inactive != nil {
		return *inactive
	}
	return s.opt.Configs.Alter(r, validateOnly)
}

// ownSettings: the controller has none as a broker. Taking one back is fine, making
// one is not.
func ownSettings(r configs.Resource) configs.Outcome {
	for _, change := range r.Changes {
		if change.Op != configs.Delete {
			return configs.Outcome{Error: model.ErrInvalidRequest, Text: "broker " + r.Name + " is the controller alone: it has no settings that could be made, " + change.Name + " for one"}
		}
	}
	return configs.Outcome{}
}

// twice are the resources that a request names more than once.
func twice[R comparable](resources []R) map[R]bool {
	seen, out := map[R]bool{}, map[R]bool{}
	for _, r := range resources {
		out[r] = seen[r]
		seen[r] = true
	}
	return out
}

var eachOnce = configs.Outcome{Error: model.ErrInvalidRequest, Text: "Each resource must appear at most once."}

// alterResources changes each resource, but those that are named twice.
func alterResources(c *call, resources []configs.Resource, validateOnly bool) []configs.Outcome {
	type key struct {
		kind configs.ResourceType
		name string
	}
	keys := make([]key, len(resources))
	for i, r := range resources {
		keys[i] = key{r.Type, r.Name}
	}
	repeated := twice(keys)
	out := make([]configs.Outcome, len(resources))
	for i, r := range resources {
		if out[i] = eachOnce; !repeated[keys[i]] {
			out[i] = alterResource(c, r, validateOnly)
		}
	}
	return out
}

func incrementalAlterConfigsAPI() api {
	return local(0, 1, func(c *call, q *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
		resources := make([]configs.Resource, len(q.Resources))
		for i, r := range q.Resources {
			resources[i] = configs.Resource{Type: configs.ResourceType(r.ResourceType), Name: r.ResourceName}
			for _, x := range r.Configs {
				resources[i].Changes = append(resources[i].Changes, configs.Change{Op: configs.Op(x.Op), Name: x.Name, Value: x.Value})
			}
		}
		out := q.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for i, o := range alterResources(c, resources, q.ValidateOnly) {
			x := kmsg.NewIncrementalAlterConfigsResponseResource()
			x.ResourceType, x.ResourceName, x.ErrorCode, x.ErrorMessage = q.Resources[i].ResourceType, q.Resources[i].ResourceName, int16(o.Error), message(o.Error, o.Text)
			out.Resources = append(out.Resources, x)
		}
		return out
	})
}

// alterConfigsAPI replaces all settings of each resource.
func alterConfigsAPI() api {
	return local(0, 2, func(c *call, q *kmsg.AlterConfigsRequest) kmsg.Response {
		resources := make([]configs.Resource, len(q.Resources))
		for i, r := range q.Resources {
			resources[i] = configs.Resource{Type: configs.ResourceType(r.ResourceType), Name: r.ResourceName, Whole: true}
			for _, x := range r.Configs {
				resources[i].Changes = append(resources[i].Changes, configs.Change{Name: x.Name, Value: x.Value})
			}
		}
		out := q.ResponseKind().(*kmsg.AlterConfigsResponse)
		for i, o := range alterResources(c, resources, q.ValidateOnly) {
			x := kmsg.NewAlterConfigsResponseResource()
			x.ResourceType, x.ResourceName, x.ErrorCode, x.ErrorMessage = q.Resources[i].ResourceType, q.Resources[i].ResourceName, int16(o.Error), message(o.Error, o.Text)
			out.Resources = append(out.Resources, x)
		}
		return out
	})
}

// active is why this process changes nothing now; nil while it is the controller.
func (c *call) active() *configs.Outcome {
	if cluster := c.conn.server.opt.Cluster(); cluster.Self != nil && cluster.ControllerID != cluster.Self.ID {
		return &configs.Outcome{Error: model.ErrNotController}
	}
	return nil
}

// alterClientQuotasAPI. Kafka: KafkaApis.handleAlterClientQuotasRequest.
func alterClientQuotasAPI() api {
	return local(0, 1, func(c *call, q *kmsg.AlterClientQuotasRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.AlterClientQuotasResponse)
		for _, e := range q.Entries {
			var entity configs.Entity
			r := kmsg.NewAlterClientQuotasResponseEntry()
			for _, p := range e.Entity {
				entity = append(entity, configs.EntityPart{Kind: p.Type, Name: p.Name})
				x := kmsg.NewAlterClientQuotasResponseEntryEntity()
				x.Type, x.Name = p.Type, p.Name
				r.Entity = append(r.Entity, x)
			}
			var changes []configs.QuotaChange
			for _, op := range e.Ops {
				changes = append(changes, configs.QuotaChange{Key: op.Key, Value: op.Value, Remove: op.Remove})
			}
			var outcome configs.Outcome
			switch inactive := c.active(); {
			case !c.mayCluster(acl.AlterConfigs):
				outcome = configs.Outcome{Error: model.ErrClusterAuthorizationFailed, Text: "Cluster authorization failed."}
			case inactive != nil:
				outcome = *inactive
			default:
				outcome = c.conn.server.opt.Configs.AlterQuotas(entity, changes, q.ValidateOnly)
			}
			r.ErrorCode, r.ErrorMessage = int16(outcome.Error), message(outcome.Error, outcome.Text)
			out.Entries = append(out.Entries, r)
		}
		return out
	})
}

// alterUserScramCredentialsAPI. Kafka: KafkaApis.handleAlterUserScramCredentialsRequest.
func alterUserScramCredentialsAPI() api {
	return local(0, 0, func(c *call, q *kmsg.AlterUserSCRAMCredentialsRequest) kmsg.Response {
		var changes []configs.ScramChange
		for _, x := range q.Deletions {
			changes = append(changes, configs.ScramChange{User: x.Name, Mechanism: x.Mechanism, Remove: true})
		}
		for _, x := range q.Upsertions {
			changes = append(changes, configs.ScramChange{User: x.Name, Mechanism: x.Mechanism, Iterations: x.Iterations, Salt: x.Salt, SaltedPassword: x.SaltedPassword})
		}
		var outcomes []configs.ScramOutcome
		switch inactive := c.active(); {
		case inactive != nil:
			outcomes = forEachUser(changes, *inactive)
		case !c.mayCluster(acl.Alter):
			outcomes = forEachUser(changes, configs.Outcome{Error: model.ErrClusterAuthorizationFailed, Text: "Cluster authorization failed."})
		default:
			outcomes = c.conn.server.opt.Configs.AlterScram(changes)
		}
		out := q.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
		for _, o := range outcomes {
			r := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
			r.User, r.ErrorCode, r.ErrorMessage = o.User, int16(o.Error), message(o.Error, o.Text)
			out.Results = append(out.Results, r)
		}
		return out
	})
}

func forEachUser(changes []configs.ScramChange, o configs.Outcome) []configs.ScramOutcome {
	var users []string
	for _, c := range changes {
		users = append(users, c.User)
	}
	slices.Sort(users)
	var out []configs.ScramOutcome
	for _, u := range slices.Compact(users) {
		out = append(out, configs.ScramOutcome{User: u, Outcome: o})
	}
	return out
}

// createdConfigs are the settings of a created topic as version 5 and above tell
// them, unless who asks may not know. Kafka: ZkAdminManager.populateConfig.
func createdConfigs(c *call, topic string, own map[string]string, t *kmsg.CreateTopicsResponseTopic) {
	t.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null would break Kafka's own client
	if c.conn.server.opt.Configs == nil {                // where settings are not known
		return
	}
	if !c.mayTopic(acl.DescribeConfigs, topic) {
		t.ConfigErrorCode, t.NumPartitions, t.ReplicationFactor = int16(model.ErrTopicAuthorizationFailed), -1, -1
		return
	}
	for _, e := range configs.OfTopic(own, c.conn.server.opt.BrokerConfig) {
		x := kmsg.NewCreateTopicsResponseTopicConfig()
		x.Name, x.Value, x.Source = e.Name, &e.Value, int8(e.Source)
		t.Configs = append(t.Configs, x)
	}
}
