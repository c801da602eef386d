package debugger

import (
	"fmt"

	"kstate/model"
)

// operatorAsk marks the numbers of asks that this session made itself; no
// listener numbers its own so high.
const operatorAsk = 1 << 63

// adminTimeout is how long the controller may take over a topic request of the
// operator. Kafka: default.api.timeout.ms of the admin client is twice this.
const adminTimeout = 30_000

// asksItself tells whether topics are changed by asking the controller, as an
// admin client would: in the lab they are changed from outside.
func (s *Session) asksItself(c model.Command) bool {
	if s.opt.Mode != model.ControlMode {
		return false
	}
	switch c.(type) {
	case model.CreateTopic, model.AddPartitions, model.DeleteTopic:
		return true
	}
	return false
}

// askFor asks the controller for what the operator wants of topics.
func (s *Session) askFor(c model.Command) {
	m := model.Mutation{From: "operator", TimeoutMillis: adminTimeout}
	switch c := c.(type) {
	case model.CreateTopic:
		t := model.NewTopic{Topic: c.Topic, Partitions: int32(c.Partitions), ReplicationFactor: int16(c.ReplicationFactor), Config: c.Config}
		if c.Assignment != nil {
			t.Partitions, t.ReplicationFactor, t.Assignment = -1, -1, map[int32][]int32{}
			for i, replicas := range c.Assignment {
				t.Assignment[int32(i)] = replicas
			}
		}
		s.ask(&model.CreateTopics{Mutation: m, Topics: []model.NewTopic{t}})
	case model.AddPartitions:
		s.ask(&model.CreatePartitions{Mutation: m, Topics: []model.GrownTopic{{Topic: c.Topic, Count: int32(c.Total)}}})
	case model.DeleteTopic:
		s.ask(&model.DeleteTopics{Mutation: m, Version: 5, Topics: []model.TopicOrID{{Topic: c.Topic}}})
	}
}

func (s *Session) ask(a model.Ask) {
	s.asked++
	s.accept(model.Input{At: s.opt.Clock(), Of: &model.Asked{ID: operatorAsk | s.asked, From: "operator", Ask: a}})
}

// reassign asks the controller for a reassignment, as an admin client would.
func (s *Session) reassign(c model.Reassign) {
	if s.opt.Mode != model.LabMode && s.opt.Mode != model.ControlMode {
		s.notice(model.Warn, "refused: in this mode kstate is no controller that could be asked")
		return
	}
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: c.TopicPartition, Target: c.Target, Cancel: c.Cancel}}})
}

// isOperators tells whether a step answers the operator.
func isOperators(at model.Step) (*model.Reply, bool) {
	r, ok := at.(*model.Reply)
	return r, ok && r.Ask&operatorAsk != 0
}

// answered tells the operator what the controller answered.
func (s *Session) answered(r *model.Reply) {
	switch a := r.Answer.(type) {
	case *model.AlterPartitionReassignmentsAnswer:
		if a.Error != model.ErrNone {
			s.notice(model.Error, "reassignment refused: "+a.Error.String())
		}
		for _, p := range a.Partitions {
			s.outcome("reassignment of "+p.TopicPartition.String(), "accepted", p.Error, "")
		}
	case *model.CreateTopicsAnswer:
		for _, t := range a.Topics {
			s.outcome("creation of topic "+t.Topic, fmt.Sprintf("done: %d partitions have a leader", t.Partitions), t.Error, t.Message)
		}
	case *model.CreatePartitionsAnswer:
		for _, t := range a.Topics {
			s.outcome("new partitions of topic "+t.Topic, "have a leader", t.Error, t.Message)
		}
	case *model.DeleteTopicsAnswer:
		for _, t := range a.Topics {
			s.outcome("deletion of topic "+t.Topic, "began: brokers have forgotten it", t.Error, t.Message)
		}
	}
}

// outcome is a notice about one subject. A request that timed out goes on.
func (s *Session) outcome(what, done string, e model.KafkaError, why string) {
	switch {
	case e == model.ErrNone:
		s.notice(model.Info, what+" "+done)
	case e == model.ErrRequestTimedOut:
		s.notice(model.Warn, what+fmt.Sprintf(" is not through after %d s; it goes on", adminTimeout/1000))
	case why != "":
		s.notice(model.Error, what+" refused: "+e.String()+": "+why)
	default:
		s.notice(model.Error, what+" refused: "+e.String())
	}
}
