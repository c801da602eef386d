package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kstate/internal/admin"
	"kstate/model"
)

func topicsChangeCommands() []command {
	topic := flag{name: "topic", kind: isText, value: "TOPIC", usage: "its name"}
	assignment := flag{name: "replica-assignment", kind: isText, value: "1:2,2:3", usage: "instead of a choice by kstate: brokers of each partition, by colons, partitions by commas"}
	return []command{
		{name: "topics create", summary: "create a topic by its znodes",
			detail: "Replicas are spread over the registered brokers as Kafka does, by racks where all have one.\n" + changeDetail,
			flags: slices.Concat([]flag{topic,
				{name: "partitions", kind: isNumber, least: 1, value: "N", usage: "how many partitions"},
				{name: "replication-factor", kind: isNumber, least: 1, most: 32767, value: "N", usage: "how many replicas each"},
				assignment,
				{name: "config", kind: isText, value: "KEY=VALUE", repeat: true, usage: "a setting of the topic"}}, changeFlags()),
			run: createTopic},
		{name: "topics alter", summary: "add partitions to a topic by its znode",
			detail: "Settings of a topic are not altered here. --replica-assignment is of the new partitions only, unlike that of kafka-topics, which lists the old ones too.\n" + changeDetail,
			flags: slices.Concat([]flag{topic,
				{name: "partitions", kind: isNumber, least: 1, value: "N", usage: "how many partitions there are to be"}, assignment}, changeFlags()),
			run: alterTopic},
		{name: "topics delete", summary: "delete a topic by its marker, and follow that to its end",
			detail: "--topic is a name, not an expression as in kafka-topics: one topic at a time.\n" + changeDetail,
			flags:  slices.Concat([]flag{topic}, changeFlags()),
			run:    deleteTopic},
	}
}

func createTopic(inv *invocation) error {
	c := model.CreateTopic{Topic: inv.text("topic"), Partitions: inv.number("partitions", 0), ReplicationFactor: inv.number("replication-factor", 0)}
	byNumber := inv.has("partitions") || inv.has("replication-factor")
	switch {
	case !inv.has("topic"):
		return inv.misuse("which topic? Give --topic")
	case inv.has("replica-assignment") && byNumber:
		return inv.misuse("--replica-assignment says how many partitions and replicas there are: leave --partitions and --replication-factor out")
	case !inv.has("replica-assignment") && (c.Partitions == 0 || c.ReplicationFactor == 0):
		return inv.misuse("give --partitions and --replication-factor, or --replica-assignment: the brokers' defaults are not visible in ZooKeeper")
	}
	var err error
	if c.Assignment, err = assignmentFlag(inv); err != nil {
		return err
	}
	for _, pair := range inv.given["config"] {
		k, v, ok := strings.Cut(pair, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return inv.misuse("--config %s: want KEY=VALUE", pair)
		}
		if c.Config == nil {
			c.Config = map[string]string{}
		}
		c.Config[k] = strings.TrimSpace(v)
	}
	return runChange(inv, func(p *admin.Planner) (*admin.Plan, error) { return p.CreateTopic(c) })
}

func alterTopic(inv *invocation) error {
	switch {
	case !inv.has("topic"):
		return inv.misuse("which topic? Give --topic")
	case !inv.has("partitions"):
		return inv.misuse("how many partitions are there to be? Give --partitions")
	}
	c := model.AddPartitions{Topic: inv.text("topic"), Total: inv.number("partitions", 0)}
	var err error
	if c.Assignment, err = assignmentFlag(inv); err != nil {
		return err
	}
	return runChange(inv, func(p *admin.Planner) (*admin.Plan, error) { return p.AddPartitions(c) })
}

func deleteTopic(inv *invocation) error {
	if !inv.has("topic") {
		return inv.misuse("which topic? Give --topic")
	}
	return runChange(inv, func(p *admin.Planner) (*admin.Plan, error) { return p.DeleteTopic(inv.text("topic")) })
}

// assignmentFlag reads --replica-assignment as Kafka's tools write it.
func assignmentFlag(inv *invocation) ([][]int32, error) {
	text := inv.text("replica-assignment")
	if text == "" {
		return nil, nil
	}
	var out [][]int32
	for part := range strings.SplitSeq(text, ",") {
		ids, err := idList(part, ":")
		if err != nil {
			return nil, inv.misuse("--replica-assignment %s: %v; want 1:2,2:3", text, err)
		}
		out = append(out, ids)
	}
	return out, nil
}

func idList(text, sep string) ([]int32, error) {
	var ids []int32
	for part := range strings.SplitSeq(text, sep) {
		id, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32)
		if err != nil || id < 0 {
			return nil, fmt.Errorf("%q is no broker id", part)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}
