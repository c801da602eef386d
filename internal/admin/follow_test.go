package admin

import (
	"fmt"
	"testing"
	"time"

	"kstate/internal/tree"
	"kstate/model"
)

// Each row is a course of events in seconds, and what must be seen last.
func TestFollowers(t *testing.T) {
	type act struct {
		at   time.Duration
		path string
		data string // absent: it goes
	}
	const second, ms = time.Second, time.Millisecond
	leads := func(leader int, isr string) string {
		return fmt.Sprintf(`{"controller_epoch":7,"leader":%d,"version":1,"leader_epoch":4,"isr":[%s]}`, leader, isr)
	}
	topic := func(zero, adding, removing string) string {
		return fmt.Sprintf(`{"partitions":{"0":[%s],"1":[2,3]},"adding_replicas":{"0":[%s]},"removing_replicas":{"0":[%s]},"version":3}`, zero, adding, removing)
	}
	const state0, preferred, moving = "/brokers/topics/t/partitions/0/state", model.PreferredReplicaElectionPath, model.ReassignPartitionsPath
	for name, c := range map[string]struct {
		follower Follower
		acts     []act
		state    string
		result   Result
	}{
		"an election not seen yet":      {&election{list: []model.TopicPartition{model.TP("t", 0)}}, nil, "queued", Open},
		"an election at work":           {&election{list: []model.TopicPartition{model.TP("t", 0)}}, []act{{0, preferred, "{}"}, {9 * second, "", ""}}, "running", Open},
		"an election that is done":      {&election{list: []model.TopicPartition{model.TP("t", 0)}}, []act{{0, preferred, "{}"}, {ms, state0, leads(1, "1,2")}, {2 * ms, preferred, absent}}, "done", Done},
		"an election that is too fast":  {&election{list: []model.TopicPartition{model.TP("t", 0)}}, []act{{ms, state0, leads(1, "1,2")}}, "done", Done},
		"an election whose state lags":  {&election{list: []model.TopicPartition{model.TP("t", 0)}}, []act{{0, preferred, "{}"}, {ms, preferred, absent}, {500 * ms, state0, leads(1, "1,2")}}, "done", Done},
		"an election that fails":        {&election{list: []model.TopicPartition{model.TP("t", 0)}}, []act{{0, preferred, "{}"}, {ms, preferred, absent}, {2 * second, "", ""}}, "refused", Partly},
		"an election that fails unseen": {&election{list: []model.TopicPartition{model.TP("t", 0)}}, []act{{0, "", ""}, {4 * second, "", ""}}, "refused", Partly},
		"an election in part":           {&election{list: []model.TopicPartition{model.TP("t", 0), model.TP("t", 1)}}, []act{{0, preferred, "{}"}, {ms, preferred, absent}, {2 * second, "", ""}}, "partly", Partly},
		"a move at work":                {newReassignment([]model.PartitionReassignment{to("t", 0, 2, 3)}), []act{{0, moving, "{}"}, {ms, "/brokers/topics/t", topic("1,2,3", "3", "1")}, {ms, moving, absent}, {99 * second, "", ""}}, "running", Open},
		"a move that is done":           {newReassignment([]model.PartitionReassignment{to("t", 0, 2, 3)}), []act{{0, moving, "{}"}, {ms, "/brokers/topics/t", topic("1,2,3", "3", "1")}, {ms, "/brokers/topics/t", topic("2,3", "", "")}, {2 * ms, moving, absent}}, "done", Done},
		"a move that is refused":        {newReassignment([]model.PartitionReassignment{to("t", 0, 2, 3)}), []act{{0, moving, "{}"}, {ms, moving, absent}, {2 * second, "", ""}}, "refused", Refused},
		"a move in part":                {newReassignment([]model.PartitionReassignment{to("t", 0, 2, 3), to("t", 1, 2, 3)}), []act{{0, moving, "{}"}, {ms, moving, absent}, {2 * second, "", ""}}, "partly", Partly},
		"partitions not there":          {&leaderWait{topic: "new", to: 1}, nil, "queued", Open},
		"partitions without":            {&leaderWait{topic: "t", from: 1, to: 3}, nil, "running", Open},
		"partitions with":               {&leaderWait{topic: "t", to: 2}, nil, "done", Done},
		"partitions that went":          {&leaderWait{topic: "t", to: 3}, []act{{0, "", ""}, {ms, "/brokers/topics/t", absent}}, "withdrawn", Refused},
		"no controller yet":             {&controllerMove{from: 1, epoch: 7}, []act{{0, "/controller", absent}}, "running", Open},
		"the old controller yet":        {&controllerMove{from: 1, epoch: 7}, nil, "running", Open},
		"a new controller":              {&controllerMove{from: 1, epoch: 7}, []act{{0, "/controller", absent}, {ms, "/controller_epoch", "8"}, {ms, "/controller", `{"version":2,"brokerid":3,"timestamp":"1","kraftControllerEpoch":-1}`}}, "done", Done},
		"a deletion not seen yet":       {&deletion{topic: "t"}, nil, "queued", Open},
		"a deletion that is done":       {&deletion{topic: "t"}, []act{{0, "/admin/delete_topics/t", ""}, {ms, "/brokers/topics/t", absent}, {2 * ms, "/admin/delete_topics/t", absent}}, "done", Done},
		"a deletion that is fast":       {&deletion{topic: "t"}, []act{{ms, "/brokers/topics/t", absent}}, "done", Done},
		"a deletion that waits":         {&deletion{topic: "t"}, []act{{0, "/admin/delete_topics/t", ""}, {ms, "/brokers/ids/1", absent}}, "waiting", Open},
		"a deletion refused":            {&deletion{topic: "t"}, []act{{0, "/admin/delete_topics/t", ""}, {ms, "/admin/delete_topics/t", absent}}, "refused", Refused},
		"a deletion refused, fast":      {&deletion{topic: "t"}, []act{{0, "", ""}, {4 * second, "", ""}}, "refused", Refused},
	} {
		t.Run(name, func(t *testing.T) {
			s := tree.SurveyFile(world())
			began := time.Unix(1_800_000_000, 0)
			last := c.follower.Look(s, began)
			for _, a := range c.acts {
				if a.path != "" {
					z := model.Znode{Path: a.path, Missing: a.data == absent}
					if !z.Missing {
						z.Data, z.Stat.EphemeralOwner = []byte(a.data), 1
					}
					s.Apply(z)
				}
				last = c.follower.Look(s, began.Add(a.at))
			}
			if last.State != c.state || last.Result != c.result || last.Text == "" {
				t.Errorf("%+v, want %s, %d", last, c.state, c.result)
			}
		})
	}
}

func TestElectionsByPartition(t *testing.T) {
	f := &election{list: []model.TopicPartition{model.TP("t", 0), model.TP("t", 1), model.TP("x", 0)}}
	s := tree.SurveyFile(world("/brokers/ids/1", absent))
	f.Look(s, time.Unix(0, 0))
	got := ""
	for _, o := range f.Look(s, time.Unix(9, 0)).Leads {
		got += fmt.Sprintf("%s leader %d isr %v %s %s\n", o.TopicPartition, o.Leader, o.ISR, o.Error, o.Why)
	}
	const want = "t-0 leader 2 isr [1 2] PREFERRED_LEADER_NOT_AVAILABLE broker 1 is not registered\n" +
		"t-1 leader 2 isr [2 3]  \nx-0 leader -1 isr [] UNKNOWN_TOPIC_OR_PARTITION it is gone\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
