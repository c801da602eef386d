package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kstate/internal/tree"
)

// topicFlags choose topics.
func topicFlags() []flag {
	return []flag{
		{name: "topic", kind: isText, value: "REGEX", usage: "only topics whose whole name matches; commas separate expressions"},
		{name: "exclude-internal", usage: "leave out the topics that Kafka keeps for itself"},
	}
}

func topicsListCommand() command {
	return command{
		name: "topics list", summary: "the names of the topics, those marked for deletion and those that cannot be read marked so",
		flags: slices.Concat(sourceFlags(), topicFlags(), []flag{{name: "json", usage: "write JSON"}}),
		run: func(inv *invocation) error {
			filter, err := topicFilter(inv)
			if err != nil {
				return err
			}
			src, err := openSource(inv)
			if err != nil {
				return err
			}
			list := tree.TopicList(src.survey, filter)
			if inv.has("json") {
				return src.close(tree.WriteTopicListJSON(inv.console.out, list))
			}
			return src.close(tree.WriteTopicList(inv.console.out, list))
		},
	}
}

func topicsDescribeCommand() command {
	return command{
		name: "topics describe", args: "[TOPIC...]", summary: "each partition's leader, replicas, ISR and state",
		detail: `The layout is that of Kafka's kafka-topics --describe, with the state of each partition and why it is not online
behind it. Without a topic all are described. A topic asked for by name that is not there is an error.`,
		flags: slices.Concat(sourceFlags(), topicFlags(), []flag{
			{name: "unavailable-partitions", usage: "only partitions that are not OnlinePartition"},
			{name: "under-replicated-partitions", usage: "only partitions with fewer in-sync replicas than replicas"},
			{name: "json", usage: "write JSON"},
		}),
		run: describeTopics,
	}
}

func describeTopics(inv *invocation) error {
	filter, err := topicFilter(inv)
	if err != nil {
		return err
	}
	src, err := openSource(inv)
	if err != nil {
		return err
	}
	if len(inv.args) > 0 {
		if err := allThere(src.survey, inv.args); err != nil {
			return src.close(err)
		}
	}
	describe := tree.DescribeTopics
	if inv.has("json") {
		describe = tree.DescribeTopicsJSON
	}
	_, err = describe(inv.console.out, src.survey, filter)
	return src.close(err)
}

// allThere: the topics asked for by name have a znode.
func allThere(s *tree.Survey, names []string) error {
	there := map[string]bool{}
	for status := range s.Topics() {
		there[status.Name] = status.Exists
	}
	var missing []string
	for _, name := range names {
		if !there[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("no such topic: %s", strings.Join(missing, ", "))
}

func topicFilter(inv *invocation) (tree.TopicFilter, error) {
	f := tree.TopicFilter{ExcludeInternal: inv.has("exclude-internal"), Unavailable: inv.has("unavailable-partitions"),
		UnderReplicated: inv.has("under-replicated-partitions")}
	var expression *regexp.Regexp
	if text := inv.text("topic"); text != "" {
		e, err := regexp.Compile("^(?:" + strings.ReplaceAll(strings.TrimSpace(text), ",", "|") + ")$")
		if err != nil {
			return f, inv.misuse("--topic %s: %v", text, err)
		}
		expression = e
	}
	names := inv.args
	if expression != nil || len(names) > 0 {
		f.Match = func(topic string) bool {
			return slices.Contains(names, topic) || expression != nil && expression.MatchString(topic)
		}
	}
	return f, nil
}
