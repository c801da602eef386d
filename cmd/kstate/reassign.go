package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kstate/internal/admin"
	"kstate/internal/adminclient"
	"kstate/internal/tree"
	"kstate/model"
)

func reassignCommand() command {
	return command{
		name:    "reassign",
		summary: "move partitions to other brokers, list moves, or take them back",
		detail: `By its znode; with --bootstrap-server by AlterPartitionReassignments, which alone can replace a running move or take it back (--cancel).
` + changeDetail + `
--list and --verify only read; --verify ends with 2 when not all are as asked for.`,
		flags: append(append([]flag{
			{name: "topic", kind: isText, value: "TOPIC", usage: "the topic of one partition"},
			{name: "partition", kind: isNumber, value: "N", usage: "its number"},
			{name: "replicas", kind: isText, value: "1,2,3", usage: "its new brokers, the preferred leader first"},
			{name: "reassignment-json-file", kind: isFile, value: "FILE", usage: "instead: partitions and their replicas, as kafka-reassign-partitions takes them (- is standard input)"},
			{name: "cancel", usage: "take running moves back, of the partitions named; wants --bootstrap-server"},
			{name: "list", usage: "list the moves that are running"},
			{name: "verify", usage: "tell how far the partitions named are"}},
			bootstrapFlags()...), changeFlags()...),
		run: reassign,
	}
}

func reassign(inv *invocation) error {
	modes := 0
	for _, m := range []string{"cancel", "list", "verify"} {
		if inv.has(m) {
			modes++
		}
	}
	if modes > 1 {
		return inv.misuse("--cancel, --list and --verify: give one of them")
	}
	if inv.has("list") {
		return listReassignments(inv)
	}
	list, err := reassignmentList(inv)
	if err != nil {
		return err
	}
	switch {
	case inv.has("verify"):
		return verifyReassignments(inv, list)
	case inv.has("cancel") && !inv.has("bootstrap-server"):
		return errors.New("a running reassignment cannot be taken back by a znode: the controller removes what it has read from " +
			model.ReassignPartitionsPath + " by itself; give --bootstrap-server")
	case !inv.has("bootstrap-server"):
		return runChange(inv, func(p *admin.Planner) (*admin.Plan, error) { return p.Reassign(list) })
	}
	targets := make([]model.ReassignmentTarget, len(list))
	for i := range list {
		targets[i] = model.ReassignmentTarget{TopicPartition: list[i].TopicPartition, Target: list[i].Replicas, Cancel: inv.has("cancel")}
	}
	return changing(inv, func(c *change, planner *admin.Planner) error { return c.askReassignment(planner, targets) })
}

// reassignmentList is what the flags name.
func reassignmentList(inv *invocation) ([]model.PartitionReassignment, error) {
	one := inv.has("topic") || inv.has("partition") || inv.has("replicas")
	switch {
	case one == inv.has("reassignment-json-file"):
		return nil, inv.misuse("which partitions? Give --topic, --partition and --replicas, or --reassignment-json-file")
	case !one && inv.text("reassignment-json-file") == "-" && !inv.has("yes") && !inv.has("dry-run") && !inv.has("verify"):
		return nil, inv.misuse("--reassignment-json-file -: standard input is the file, and there the consent would be typed: give --yes or --dry-run")
	case !one:
		return readReassignments(inv)
	case !inv.has("topic") || !inv.has("partition"):
		return nil, inv.misuse("which partition? Give --topic and --partition")
	}
	e := model.PartitionReassignment{TopicPartition: model.TP(inv.text("topic"), int32(inv.number("partition", 0)))}
	if inv.has("cancel") {
		return []model.PartitionReassignment{e}, nil
	}
	if !inv.has("replicas") {
		return nil, inv.misuse("to which brokers? Give --replicas")
	}
	var err error
	if e.Replicas, err = idList(inv.text("replicas"), ","); err != nil {
		return nil, inv.misuse("--replicas %s: %v; want 1,2,3", inv.text("replicas"), err)
	}
	return []model.PartitionReassignment{e}, nil
}

// readReassignments reads the file of Kafka's tool.
func readReassignments(inv *invocation) ([]model.PartitionReassignment, error) {
	name := inv.text("reassignment-json-file")
	in, err := inv.open(name)
	if err != nil {
		return nil, fmt.Errorf("--reassignment-json-file: %w", err)
	}
	defer in.Close()
	var file struct {
		Version    *int
		Partitions []struct {
			Topic     *string
			Partition *int32
			Replicas  []int32
			LogDirs   []string `json:"log_dirs"`
		}
	}
	fail := func(format string, args ...any) ([]model.PartitionReassignment, error) {
		return nil, fmt.Errorf("--reassignment-json-file %s: %s", name, fmt.Sprintf(format, args...))
	}
	d := json.NewDecoder(in)
	if err := d.Decode(&file); err != nil {
		return fail("%s", jsonFailure(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return fail("something follows the JSON object, which ends at byte %d: nothing of the file is taken", d.InputOffset())
	}
	if file.Version == nil || *file.Version != 1 {
		return fail("it has not the version 1")
	}
	var out []model.PartitionReassignment
	for i, e := range file.Partitions {
		switch {
		case e.Topic == nil || e.Partition == nil:
			return fail("entry %d has no topic or no partition", i+1)
		case slices.ContainsFunc(e.LogDirs, func(d string) bool { return d != "any" }):
			return fail("%s-%d: log_dirs other than any are moved within brokers, which kstate does not do: use kafka-reassign-partitions", *e.Topic, *e.Partition)
		}
		out = append(out, model.PartitionReassignment{TopicPartition: model.TP(*e.Topic, *e.Partition), Replicas: e.Replicas})
	}
	return out, nil
}

// jsonFailure says what is wrong with the file in terms of the file.
func jsonFailure(err error) string {
	const want = `; want {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}`
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "it is empty" + want
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends in the middle of the JSON" + want
	case errors.As(err, &wrong) && wrong.Field == "":
		return "it holds a JSON " + wrong.Value + want
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s does not take a JSON %s", strings.ToLower(wrong.Field), wrong.Value) + want
	}
	return err.Error() + want
}

// askReassignment is a reassignment by AlterPartitionReassignments.
func (c *change) askReassignment(planner *admin.Planner, targets []model.ReassignmentTarget) error {
	w, err := openWire(c.inv)
	if err != nil {
		return err
	}
	defer w.client.Close()
	p, err := planner.AskReassignment(targets, w.via)
	if err != nil {
		return readError(err)
	}
	if stop, err := c.consentedBy(w, p); stop || err != nil {
		return err
	}
	witness, err := admin.Attend(c.conn, p)
	if err != nil {
		return err
	}
	defer witness.Close()
	var refused []adminclient.ReassignResult
	if err := c.send(&p.Plan, func(ctx context.Context) (string, error) {
		results, err := w.client.Reassign(ctx, targets, w.limit)
		for _, r := range results {
			if r.Error != model.ErrNone {
				refused = append(refused, r)
			}
		}
		return fmt.Sprintf("%d of %d accepted", len(results)-len(refused), len(results)), err
	}); err != nil {
		return err
	}
	if len(refused) == 0 {
		return c.follow(witness, p)
	}
	for _, r := range refused {
		c.say("%s  %s: %s", r.TopicPartition, r.Error, r.Message)
	}
	err = fmt.Errorf("%d of %d were refused; the first: %s %s %s", len(refused), len(targets), refused[0].TopicPartition, refused[0].Error, refused[0].Message)
	c.report.Outcome = &outcomeJSON{"partly", err.Error()}
	if len(refused) == len(targets) {
		c.report.Outcome.State = "refused"
		return err
	}
	return &exitCode{exitFound, err}
}

// moveJSON is a partition that moves, or was to.
type moveJSON struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"`
	Adding    []int32 `json:"adding"`
	Removing  []int32 `json:"removing"`
	Target    []int32 `json:"target,omitempty"`
	State     string  `json:"state,omitempty"`
}

func moveOf(tp model.TopicPartition, a model.ReplicaAssignment) moveJSON {
	list := func(l []int32) []int32 { return append([]int32{}, l...) }
	return moveJSON{Topic: tp.Topic, Partition: tp.Partition, Replicas: list(a.Replicas), Adding: list(a.Adding), Removing: list(a.Removing)}
}

func listReassignments(inv *invocation) error {
	src, err := openSource(inv)
	if err != nil {
		return err
	}
	moves := []moveJSON{}
	for t := range src.survey.View().Topics() {
		for n, p := range t.Partitions() {
			if p.Assignment.IsBeingReassigned() {
				moves = append(moves, moveOf(model.TP(t.Name, n), *p.Assignment))
			}
		}
	}
	if inv.has("json") {
		return src.close(writeJSON(inv.console.out, map[string]any{"reassignments": moves}))
	}
	for i := range moves {
		m := &moves[i]
		fmt.Fprintf(inv.console.out, "%s  replicas %v, adding %v, removing %v\n", tree.Printable(model.TP(m.Topic, m.Partition).String()), m.Replicas, m.Adding, m.Removing)
	}
	if len(moves) == 0 {
		fmt.Fprintln(inv.console.out, "no partition is being reassigned")
	}
	return src.close(nil)
}

func verifyReassignments(inv *invocation, list []model.PartitionReassignment) error {
	src, err := openSource(inv)
	if err != nil {
		return err
	}
	moves, left := []moveJSON{}, 0
	for i := range list {
		e := &list[i]
		a := src.survey.View().Assignment(e.TopicPartition)
		m := moveOf(e.TopicPartition, a)
		m.Target = e.Replicas
		switch {
		case len(a.Replicas) == 0:
			m.State = "no such partition"
		case a.IsBeingReassigned():
			m.State = "in progress"
		case slices.Equal(a.Replicas, e.Replicas):
			m.State = "done"
		default:
			m.State = "not as asked for"
		}
		if m.State != "done" {
			left++
		}
		moves = append(moves, m)
		if !inv.has("json") {
			fmt.Fprintf(inv.console.out, "%s  %s: replicas %v, asked for %v\n", tree.Printable(e.TopicPartition.String()), m.State, m.Replicas, e.Replicas)
		}
	}
	if inv.has("json") {
		err = writeJSON(inv.console.out, map[string]any{"reassignments": moves})
	}
	if err = src.close(err); err == nil && left > 0 {
		err = &exitCode{code: exitFound}
	}
	return err
}
