package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kstate/model"
)

// requestCase is a case of control_requests.json.
type requestCase struct {
	Given struct {
		IBP             string              `json:"ibp"`
		Brokers         []int32             `json:"brokers"`
		Dead            []int32             `json:"dead"`
		ShuttingDown    []int32             `json:"shutting_down"`
		OfflineDirs     map[string][]string `json:"offline_dirs"`
		Assignment      map[string][]int32  `json:"assignment"`
		Leadership      map[string]record   `json:"leadership"`
		Queued          []string            `json:"queued"`
		Started         []string            `json:"started"`
		ControllerEpoch int32               `json:"controller_epoch"`
	} `json:"given"`
	Additions []addition `json:"additions"`
	Answers   string     `json:"answers"`
	Expect    Object     `json:"expect"`
}

type addition struct {
	Type       string   `json:"type"`
	Brokers    []int32  `json:"brokers"`
	TP         string   `json:"tp"`
	Partitions []string `json:"partitions"`
	IsNew      bool     `json:"is_new"`
	Delete     bool     `json:"delete"`
}

// RunRequestCase fills one batch and sends it.
func RunRequestCase(t *testing.T, text []byte) {
	var c requestCase
	if err := Strict(text, &struct {
		*requestCase
		ID, What, Source string
		VerifiedBy       []string `json:"verified_by"`
	}{requestCase: &c}); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	b := c.bench(t)
	thrown := b.run(func() error {
		if err := b.e.own.open("", 0); err != nil {
			return err
		}
		for _, a := range c.Additions {
			if err := b.add(a); err != nil {
				return err
			}
		}
		return b.e.own.flush()
	})
	got := Object{"thrown": errorName(thrown), "requests": b.sent(true)}
	if c.Answers != "" {
		code, err := model.ParseKafkaError(c.Answers)
		if err != nil {
			t.Fatal(err)
		}
		got["reported"] = b.answer(code)
	}
	var m Matcher
	for _, d := range m.Diff("expect", c.Expect, Plain(got), false) {
		t.Error(d)
	}
}

func (c *requestCase) bench(t *testing.T) *bench {
	cfg := DefaultConfig(0)
	v, err := model.ParseInterBrokerProtocol(c.Given.IBP)
	if err != nil {
		t.Fatal(err)
	}
	cfg.IBP = v
	b := newBench(t, cfg)
	b.fence(c.Given.ControllerEpoch)
	b.brokers(model.Without(c.Given.Brokers, c.Given.Dead), c.Given.ShuttingDown)
	for _, name := range sortedKeys(c.Given.Assignment) {
		b.plantPartition(name, machinePartition{Replicas: c.Given.Assignment[name]})
	}
	for name, r := range c.Given.Leadership {
		b.e.ctx.PutLeadership(b.partition(name), r.state())
	}
	for broker, names := range c.Given.OfflineDirs {
		id, _ := model.ParseID(broker)
		for _, name := range names {
			b.e.ctx.SetOfflineDir(model.Replica{TopicPartition: b.partition(name), Broker: id}, true)
		}
	}
	for _, topic := range c.Given.Queued {
		b.e.ctx.QueueTopicDeletion(topic)
	}
	for _, topic := range c.Given.Started {
		b.e.ctx.BeginTopicDeletion(topic)
	}
	return b
}

func (b *bench) add(a addition) error {
	switch a.Type {
	case "leader_and_isr":
		tp := b.partition(a.TP)
		p := b.e.ctx.Partition(tp)
		b.e.own.addLeaderAndIsr(a.Brokers, tp, p.Leadership, p.Assignment, a.IsNew)
	case "update_metadata":
		b.e.own.addMetadata(a.Brokers, b.partitions(a.Partitions))
	case "stop_replica":
		for _, id := range a.Brokers {
			b.e.own.addStopReplica(id, b.partition(a.TP), a.Delete)
		}
	case "new_batch":
		return b.e.own.open("", 0)
	default:
		return fmt.Errorf("no addition %q", a.Type)
	}
	return nil
}

// answer answers every StopReplica with one error; it returns what reached the
// queue of events.
func (b *bench) answer(code model.KafkaError) []any {
	for _, s := range b.steps {
		send, ok := s.(*model.Send)
		if !ok {
			continue
		}
		r, ok := send.Request.(*model.StopReplicaRequest)
		if !ok {
			continue
		}
		var answer model.ControlResponse
		for _, e := range r.Entries {
			answer.Partitions = append(answer.Partitions, model.PartitionError{TopicPartition: e.TopicPartition, Error: code})
		}
		b.e.Accept(model.Input{Of: &model.Responded{Broker: send.Broker, Request: r, Response: answer}})
	}
	out := []any{}
	for _, q := range b.e.queue {
		ev := q.Event.(*model.TopicDeletionStopReplicaResponseReceived)
		ps := Object{}
		for _, p := range ev.Partitions {
			ps[p.TopicPartition.String()] = p.Error.String()
		}
		out = append(out, Object{"broker": ev.Broker, "partitions": ps})
	}
	return out
}

// managerCase is a case of topic_deletion.json with level manager.
type managerCase struct {
	Brokers       []int32            `json:"brokers"`
	DeleteEnabled bool               `json:"delete_enabled"`
	Assignment    map[string][]int32 `json:"assignment"`
	Steps         []managerStep      `json:"steps"`
}

type managerStep struct {
	Op         string   `json:"op"`
	Queued     []string `json:"queued"`
	Ineligible []string `json:"ineligible"`
	Topics     []string `json:"topics"`
	Replicas   []string `json:"replicas"`
	Broker     int32    `json:"broker"`
	State      string   `json:"state"`
	Expect     Object   `json:"expect"`
}

// RunManagerCase runs the topic deletion manager with machines that have nothing
// to write: every partition is led, so that metadata can be told, and every
// replica is in its ISR.
func RunManagerCase(t *testing.T, text []byte) {
	var c managerCase
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	if len(c.Steps) == 0 {
		t.Fatal("the case has no steps")
	}
	cfg := DefaultConfig(1)
	cfg.DeleteTopicEnable = c.DeleteEnabled
	b := newBench(t, cfg)
	b.fence(1)
	b.brokers(c.Brokers, nil)
	for _, name := range sortedKeys(c.Assignment) {
		replicas := c.Assignment[name]
		r := &record{Leader: replicas[0], ISR: replicas}
		b.plantPartition(name, machinePartition{Replicas: replicas, State: "Online", Znode: r, Cached: r})
		tp := b.partition(name)
		for _, id := range replicas {
			b.e.ctx.PutReplicaState(model.Replica{TopicPartition: tp, Broker: id}, model.OnlineReplica)
		}
		b.e.nodeHandlers[model.TopicPath(tp.Topic)] = true
	}
	var m Matcher
	for i, s := range c.Steps {
		b.steps = nil
		for _, topic := range s.Topics {
			b.e.nodeHandlers[model.TopicPath(topic)] = true
		}
		if err := b.run(func() error { return b.manage(s) }); err != nil {
			t.Fatalf("step %d (%s): %v", i, s.Op, err)
		}
		partitions, replicas, _ := b.states()
		v := b.e.ctx
		got := Object{"queued": v.TopicsToBeDeleted.Slice(), "started": v.TopicsWithDeletionStarted.Slice(), "ineligible": v.TopicsIneligibleForDeletion.Slice(),
			"replica_states": replicas, "partition_states": partitions, "known_partitions": append([]string{}, sortedKeys(b.assignments())...), "client_calls": b.clientCalls()}
		for _, d := range m.Diff(fmt.Sprintf("step %d (%s)", i, s.Op), s.Expect, Plain(got), false) {
			t.Error(d)
		}
	}
}

// manage does one op of the deletion manager.
func (b *bench) manage(s managerStep) error {
	switch s.Op {
	case "init":
		ineligible := map[string]model.IneligibleReason{}
		for _, t := range s.Ineligible {
			ineligible[t] = model.OfflineReplicas
		}
		return b.e.initDeletion(s.Queued, ineligible)
	case "enqueue":
		return b.e.enqueueDeletion(s.Topics)
	case "resume":
		return b.e.resumeDeletionForTopics(s.Topics, "the case")
	case "mark_ineligible":
		b.e.markIneligible(s.Topics, "the case", model.OfflineReplicas)
		return nil
	case "try_deletion":
		return b.e.resumeDeletions()
	case "complete_replicas":
		return b.e.completeReplicaDeletion(b.replicas(s.Replicas))
	case "fail_replicas":
		return b.e.failReplicaDeletion(b.replicas(s.Replicas), "the case")
	case "broker_gone":
		b.e.ctx.RemoveBroker(s.Broker)
		delete(b.e.channels, s.Broker)
		return nil
	case "broker_back":
		b.brokers([]int32{s.Broker}, nil)
		return nil
	case "replicas_to":
		to, err := parseReplicaState(s.State)
		if err != nil {
			return err
		}
		for _, r := range b.replicas(s.Replicas) {
			b.e.ctx.PutReplicaState(r, to)
		}
		return nil
	}
	return fmt.Errorf("no such op")
}

// clientCalls are the calls of the deletion manager to the outside, in order.
func (b *bench) clientCalls() []string {
	out := []string{}
	var machine model.Machine
	told := false // of the batch at hand
	for _, s := range b.steps {
		switch s := s.(type) {
		case *model.CloseBatch:
			machine, told = s.Machine, false
		case *model.Send:
			if r, ok := s.Request.(*model.UpdateMetadataRequest); ok && machine == model.ControllerItself && !told {
				told = true
				var names []string
				for _, e := range r.Entries {
					names = append(names, e.TopicPartition.String())
				}
				out = append(out, "metadata "+strings.Join(names, ","))
			}
		case *model.Watch:
			out = append(out, "mute "+model.ChildName(s.Path))
		case *model.Call:
			switch {
			case s.Purpose == "delete_topic_config":
				out = append(out, "delete_topic "+model.ChildName(s.Ops[0].Path))
			case s.Purpose == "delete_topic_deletions" && !b.e.cfg.DeleteTopicEnable:
				for _, op := range s.Ops {
					out = append(out, "remove_requests "+model.ChildName(op.Path))
				}
			}
		}
	}
	return out
}
