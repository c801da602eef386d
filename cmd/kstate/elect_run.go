package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kstate/internal/admin"
	"kstate/model"
)

func electRunCommand() command {
	words := strategyWords()
	return command{
		name:    "elect run",
		summary: "elect leaders: preferred by its znode, preferred and unclean by ElectLeaders with --bootstrap-server",
		detail: `Only partitions that need it are asked for: those not led by their preferred replica, or, for unclean, those without a live leader.
offline, reassign and controlled-shutdown have no way from outside: each refusal says what to do instead.
` + changeDetail,
		flags: append(append([]flag{
			{name: "strategy", kind: isWord, value: "STRATEGY", words: words, usage: "how to elect: " + strings.Join(words, ", ")},
			{name: "all", usage: "all partitions"},
			{name: "topic", kind: isText, value: "TOPIC", usage: "the partitions of a topic"},
			{name: "partition", kind: isNumber, value: "N", repeat: true, usage: "of these only one, or more when repeated"}},
			bootstrapFlags()...), changeFlags()...),
		run: electRun,
	}
}

func strategyWords() (words []string) {
	for _, s := range model.Strategies {
		words = append(words, s.String())
	}
	return words
}

func electRun(inv *invocation) error {
	strategy, err := electionFlags(inv)
	if err != nil {
		return err
	}
	if why := admin.NoWayFromOutside(strategy, inv.has("bootstrap-server")); why != "" {
		return errors.New(why)
	}
	topic := inv.text("topic")
	partitions, err := partitionFlags(inv)
	if err != nil {
		return err
	}
	if !inv.has("bootstrap-server") {
		return runChange(inv, func(p *admin.Planner) (*admin.Plan, error) { return p.Elect(topic, partitions) })
	}
	kind := model.PreferredElection
	if strategy == model.OfflineUncleanStrategy {
		kind = model.UncleanElection
	}
	return changing(inv, func(c *change, planner *admin.Planner) error { return c.askElection(planner, kind, topic, partitions) })
}

func partitionFlags(inv *invocation) (list []int32, err error) {
	for _, text := range inv.given["partition"] {
		ids, err := idList(text, ",")
		if err != nil {
			return nil, inv.misuse("--partition %s: not a number", text)
		}
		list = append(list, ids...)
	}
	return list, nil
}

// askElection is an election by ElectLeaders.
func (c *change) askElection(planner *admin.Planner, kind model.ElectionType, topic string, partitions []int32) error {
	w, err := openWire(c.inv)
	if err != nil {
		return err
	}
	defer w.client.Close()
	p, list, err := planner.AskElection(kind, topic, partitions, w.via)
	if err != nil {
		return readError(err)
	}
	if stop, err := c.consentedBy(w, p); stop || err != nil {
		return err
	}
	var results []model.ElectionResult
	if err := c.send(&p.Plan, func(ctx context.Context) (string, error) {
		results, err = w.client.ElectLeaders(ctx, kind, list, w.limit)
		return electedText(results), err
	}); err != nil {
		return err
	}
	return c.electionsAsked(kind, results)
}

func electedText(results []model.ElectionResult) string {
	var failed []string
	for i := range results {
		if r := &results[i]; r.Error != model.ErrNone {
			failed = append(failed, r.TopicPartition.String()+" "+r.Error.String())
		}
	}
	text := fmt.Sprintf("%d of %d elected", len(results)-len(failed), len(results))
	if len(failed) > 0 {
		text += "; " + strings.Join(failed, ", ")
	}
	return text
}

// electionsAsked tells the controller's answer, with who leads by the tree. The
// controller answers REQUEST_TIMED_OUT for a partition whose leader it has elected
// but not yet, or never, noticed in its own metadata cache: the tree says which.
func (c *change) electionsAsked(kind model.ElectionType, results []model.ElectionResult) error {
	failed := 0
	var out []admin.ElectionOutcome
	for i := range results {
		r := &results[i]
		o := admin.ElectionOutcome{TopicPartition: r.TopicPartition, Leader: model.NoLeader, ISR: []int32{}}
		path := model.TopicPartitionStatePath(r.TopicPartition)
		if l, present, err := model.DecodePartitionState(path, c.look("who leads", path)); present && err == nil {
			o.Leader, o.ISR = l.Leader, l.ISR
		}
		if r.Error == model.ErrRequestTimedOut && c.ledAsWanted(kind, r.TopicPartition, o.Leader) {
			r.Error, o.Why = model.ErrNone, "the controller has not said so in time; the state znode does"
		}
		if r.Error != model.ErrNone {
			o.Error, o.Why = r.Error.String(), r.Why
			failed++
		}
		out = append(out, o)
	}
	c.noteElections(out)
	state := "done"
	if failed > 0 {
		state = "partly"
	}
	c.report.Outcome = &outcomeJSON{state, electedText(results)}
	if failed > 0 {
		return &exitCode{exitFound, errors.New(electedText(results))}
	}
	return nil
}

// look is what a znode holds, nil if it cannot be read.
func (c *change) look(purpose, path string) []byte {
	read := c.conn.Do(&model.Call{Purpose: purpose, Ops: []model.Op{{Kind: model.OpGet, Path: path}}})
	if len(read.Ops) != 1 {
		return nil
	}
	return read.Ops[0].Data
}

// ledAsWanted tells whether a leader is what an election was to give.
func (c *change) ledAsWanted(kind model.ElectionType, tp model.TopicPartition, leader int32) bool {
	if kind == model.UncleanElection {
		return leader != model.NoLeader
	}
	path := model.TopicPath(tp.Topic)
	a, present, err := model.DecodeTopic(path, c.look("the preferred replica", path))
	if !present || err != nil {
		return false
	}
	return slices.ContainsFunc(a.Partitions, func(p model.PartitionAssignment) bool {
		return p.Partition == tp.Partition && len(p.Replicas) > 0 && p.Replicas[0] == leader
	})
}
