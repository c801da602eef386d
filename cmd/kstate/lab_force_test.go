package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kstate/internal/lab"
	"kstate/model"
)

// Each transition that no machine allows is refused, by the words of the machine,
// with nothing written, sent or changed; a legal one is not even tried.
func TestForcedTransitionsAreRefused(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	before := d.up()
	if before.View.PartitionState(orders0) != model.OnlinePartition {
		t.Fatal("orders-0 is not online")
	}
	var tried []model.Transition
	for _, to := range model.PartitionStates {
		tried = append(tried, model.Transition{TopicPartition: orders0, Broker: model.NoBroker, ToPartition: to})
	}
	for _, to := range model.ReplicaStates {
		tried = append(tried, model.Transition{TopicPartition: orders0, Broker: 2, ToReplica: to})
	}
	var refused []string
	for _, x := range tried {
		f := d.frame()
		from := records(&f)
		said := d.ask(model.ForceMove{Transition: x})
		if !x.Illegal(f.View) {
			if !strings.Contains(said.Text, "is a legal transition") {
				t.Errorf("%s: %q", x, said.Text)
			}
			continue
		}
		f = d.await(x.String()+" has been tried", func(f *model.Frame) bool {
			return slices.ContainsFunc(steps[*model.End](f, from), func(e *model.End) bool {
				_, ok := e.Event.Event.(*model.OperatorTransition)
				return ok
			})
		})
		for _, step := range stepsOfTransition(&f, from) {
			switch s := step.(type) {
			case *model.RefusePartition:
				refused = append(refused, fmt.Sprint(s.TopicPartition, " ", s.To, " ", s.Invalid))
			case *model.RefuseReplica:
				refused = append(refused, fmt.Sprint(s.Replica, " ", s.To, " ", s.Invalid))
			case *model.Send, *model.Call, *model.MovePartition, *model.MoveReplica:
				t.Errorf("%s: %s", x, s)
			}
		}
		if now := f.View.PartitionState(orders0); now != model.OnlinePartition {
			t.Errorf("%s: the partition is %s", x, now)
		}
		if now := f.View.ReplicaState(model.Replica{TopicPartition: orders0, Broker: 2}); now != model.OnlineReplica {
			t.Errorf("%s: the replica is %s", x, now)
		}
	}
	want := []string{"orders-0 NewPartition true", "orders-0 NonExistentPartition true",
		"orders-0@2 NewReplica true", "orders-0@2 ReplicaDeletionStarted true", "orders-0@2 ReplicaDeletionSuccessful true", "orders-0@2 ReplicaDeletionIneligible true", "orders-0@2 NonExistentReplica true"}
	if !slices.Equal(refused, want) {
		t.Errorf("refused: %q, want %q", refused, want)
	}
}

// stepsOfTransition are those between the begin and the end of what the operator
// forced after a position.
func stepsOfTransition(f *model.Frame, from uint64) (out []model.Step) {
	within := false
	for i := range f.History.N {
		r := f.History.At(i)
		if r.Position <= from || r.Step == nil {
			continue
		}
		switch s := r.Step.(type) {
		case *model.Begin:
			_, within = s.Event.Event.(*model.OperatorTransition)
		case *model.End:
			within = false
		}
		if within {
			out = append(out, r.Step)
		}
	}
	return out
}

// Who comes too late in a race for the role does not say that it won.
func TestALostRaceForTheRoleIsSaid(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 1})
	d.settled()
	d.do(model.InjectFault{Fault: model.Fault{Match: model.FaultMatch{At: model.AtOp, Op: model.OpMatch(model.OpCreate.String()), Path: model.Pattern(model.ControllerPath), Nth: 1},
		Effect: model.FaultEffect{Kind: model.AnswerCode, Code: model.CodeNodeExists}}})
	d.session.Do(model.ExpireSession{Broker: -1})
	f := d.await("the race is lost", func(f *model.Frame) bool {
		return slices.ContainsFunc(f.Notices, func(n model.Notice) bool {
			return n.Level == model.Warn && strings.Contains(n.Text, "another controller was faster")
		})
	})
	for _, n := range f.Notices {
		if strings.Contains(n.Text, "won the role") {
			t.Error(n.Text)
		}
	}
}
