package tree

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"kstate/model"
)

// TopicFilter chooses topics and, for a description, partitions.
type TopicFilter struct {
	Match           func(topic string) bool // nil: all
	ExcludeInternal bool
	Unavailable     bool // only partitions that are not OnlinePartition
	UnderReplicated bool // only partitions with fewer in-sync replicas than replicas
}

func (f TopicFilter) topic(name string) bool {
	return (f.Match == nil || f.Match(name)) && !(f.ExcludeInternal && model.IsInternalTopic(name))
}

func (f TopicFilter) narrows() bool { return f.Unavailable || f.UnderReplicated }

// partition: both narrowings together take what either takes, as Kafka's tool does.
func (f TopicFilter) partition(p *model.Partition) bool {
	if !f.narrows() {
		return true
	}
	return f.Unavailable && p.State != model.OnlinePartition || f.UnderReplicated && underReplicated(p)
}

// underReplicated: the ISR is smaller than the replica list would be without the
// replicas that are still being added.
func underReplicated(p *model.Partition) bool {
	return p.Leadership == nil || len(p.Leadership.ISR) < len(p.Assignment.Origin())
}

// TopicSummary is one topic of `kstate topics list`.
type TopicSummary struct {
	Topic             string `json:"topic"`
	TopicID           string `json:"topic_id,omitempty"`
	Readable          bool   `json:"readable"`
	Partitions        *int   `json:"partitions"`         // null: the topic znode cannot be read
	ReplicationFactor *int   `json:"replication_factor"` // of its first partition; null without one
	Internal          bool   `json:"internal"`
	Deleting          bool   `json:"deleting"`
}

// TopicList lists the topics that have a znode, by name.
func TopicList(s *Survey, f TopicFilter) []TopicSummary {
	list := []TopicSummary{}
	for status := range s.Topics() {
		if status.Exists && f.topic(status.Name) {
			list = append(list, s.topicSummary(status))
		}
	}
	return list
}

func (s *Survey) topicSummary(status TopicStatus) TopicSummary {
	t := s.View().Topic(status.Name)
	sum := TopicSummary{Topic: t.Name, Readable: status.Why == "", Internal: model.IsInternalTopic(t.Name), Deleting: status.Deleting}
	if !t.ID.IsZero() {
		sum.TopicID = t.ID.String()
	}
	if sum.Readable {
		n := t.PartitionCount()
		sum.Partitions = &n
	}
	for _, p := range t.Partitions() {
		n := len(p.Assignment.Replicas)
		sum.ReplicationFactor = &n
		break
	}
	return sum
}

// WriteTopicListJSON writes {"topics": [...]}.
func WriteTopicListJSON(w io.Writer, list []TopicSummary) error {
	o := &jsonStream{w: bufio.NewWriter(w)}
	o.text(`{"topics": [`)
	for i := range list {
		if i > 0 {
			o.text(",")
		}
		o.text("\n  ")
		o.bytes(jsonText(list[i]))
	}
	o.text("]}\n")
	return o.flush()
}

// WriteTopicList writes a name a line; what is marked for deletion says so
// behind its name.
func WriteTopicList(w io.Writer, list []TopicSummary) error {
	out := bufio.NewWriter(w)
	for _, t := range list {
		fmt.Fprint(out, Printable(t.Topic))
		if t.Deleting {
			fmt.Fprint(out, " - marked for deletion")
		}
		if !t.Readable {
			fmt.Fprint(out, " - unreadable")
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// Configs are the overrides of a topic. Broken or missing ones are none: Troubles
// names them.
func (s *Survey) Configs(topic string) map[string]string {
	z, ok := s.Znode(model.TopicConfigPath(topic))
	if !ok || z.Err != "" {
		return map[string]string{}
	}
	config, err := model.DecodeConfig(z.Path, z.Data)
	if err != nil {
		return map[string]string{}
	}
	return config
}

// chosen walks the topics that a description is about: those with a znode that
// match and, when the filter narrows, have a partition left.
func (f TopicFilter) chosen(s *Survey, yield func(TopicStatus, *model.Topic) bool) {
	for status := range s.Topics() {
		if !status.Exists || !f.topic(status.Name) {
			continue
		}
		t := s.View().Topic(status.Name)
		if f.narrows() && !f.anyPartition(t) {
			continue
		}
		if !yield(status, t) {
			return
		}
	}
}

func (f TopicFilter) anyPartition(t *model.Topic) bool {
	for _, p := range t.Partitions() {
		if f.partition(p) {
			return true
		}
	}
	return false
}

// DescribeTopicsJSON writes {"topics": [...]}: what a topic list says, configs,
// what halts its deletion, and its partitions as in State. It returns how many
// topics it wrote.
func DescribeTopicsJSON(w io.Writer, s *Survey, f TopicFilter) (int, error) {
	o := &jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	o.text(`{"topics": [`)
	written := 0
	f.chosen(s, func(status TopicStatus, t *model.Topic) bool {
		if written++; written > 1 {
			o.text(",")
		}
		o.topicHead(s, status)
		topic := jsonText(t.Name)
		o.list("partitions", func(next func()) {
			for n, p := range t.Partitions() {
				if f.partition(p) {
					next()
					o.partition(topic, n, p, s.Why(model.TP(t.Name, n)))
				}
			}
		})
		o.text("}")
		return o.err == nil
	})
	o.text("]}\n")
	return written, o.flush()
}

func (o *jsonStream) topicHead(s *Survey, status TopicStatus) {
	sum := s.topicSummary(status)
	o.text("\n {")
	o.field("topic", sum.Topic)
	if sum.TopicID != "" {
		o.text(", ")
		o.field("topic_id", sum.TopicID)
	}
	for _, f := range []struct {
		name string
		v    any
	}{{"readable", sum.Readable}, {"partition_count", sum.Partitions}, {"replication_factor", sum.ReplicationFactor},
		{"internal", sum.Internal}, {"configs", s.Configs(status.Name)}, {"deleting", sum.Deleting}} {
		o.text(", ")
		o.field(f.name, f.v)
	}
	if status.Why != "" {
		o.text(", ")
		o.field("error", status.Why)
	}
	if status.Deleting {
		td := s.topicDeletion(status.Name)
		o.text(", ")
		o.field("ineligible_reasons", td.IneligibleReasons)
		o.text(", ")
		o.field("blocked_by", td.BlockedBy)
	}
}

// DescribeTopics writes topics in the layout of Kafka's own kafka-topics
// --describe (tabs between fields), with the state of each partition and why it
// is not online behind it. It returns how many topics it wrote.
func DescribeTopics(w io.Writer, s *Survey, f TopicFilter) (int, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	written := 0
	f.chosen(s, func(status TopicStatus, t *model.Topic) bool {
		written++
		if !f.narrows() {
			fmt.Fprintln(out, s.describeHead(status))
		}
		for n, p := range t.Partitions() {
			if f.partition(p) {
				fmt.Fprintln(out, s.describePartition(t.Name, n, p))
			}
		}
		return true
	})
	return written, out.Flush()
}

func (s *Survey) describeHead(status TopicStatus) string {
	sum := s.topicSummary(status)
	fields := []string{"Topic: " + Printable(sum.Topic)}
	if sum.TopicID != "" {
		fields = append(fields, "TopicId: "+sum.TopicID)
	}
	if !sum.Readable {
		return strings.Join(append(fields, "Unreadable: "+Printable(status.Why)), "\t")
	}
	factor := 0
	if sum.ReplicationFactor != nil {
		factor = *sum.ReplicationFactor
	}
	fields = append(fields, fmt.Sprintf("PartitionCount: %d", *sum.Partitions), fmt.Sprintf("ReplicationFactor: %d", factor),
		"Configs: "+Printable(joinConfigs(s.Configs(sum.Topic))))
	if status.Deleting {
		fields = append(fields, "MarkedForDeletion: true")
		if td := s.topicDeletion(sum.Topic); td.State == DeletionWaiting {
			fields = append(fields, "BlockedBy: "+strings.Join(td.BlockedBy, ","))
		}
	}
	return strings.Join(fields, "\t")
}

func joinConfigs(configs map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(configs)) {
		parts = append(parts, k+"="+configs[k])
	}
	return strings.Join(parts, ",")
}

func (s *Survey) describePartition(topic string, n int32, p *model.Partition) string {
	leader, isr := "none", ""
	if l := p.Leadership; l != nil {
		isr = model.JoinIDs(l.ISR)
		if l.Leader != model.NoLeader {
			leader = fmt.Sprint(l.Leader)
		}
	}
	line := fmt.Sprintf("\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s", Printable(topic), n, leader, model.JoinIDs(p.Assignment.Replicas), isr)
	if p.Assignment.IsBeingReassigned() {
		line += fmt.Sprintf("\tAdding Replicas: %s\tRemoving Replicas: %s", model.JoinIDs(p.Assignment.Adding), model.JoinIDs(p.Assignment.Removing))
	}
	line += "\tState: " + partitionStateName(p.State)
	if why := s.Why(model.TP(topic, n)); len(why) > 0 {
		line += " (" + strings.Join(why, ", ") + ")"
	}
	return line
}
