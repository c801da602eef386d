package inquiry

import (
	"encoding/json"
	"strings"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

func copyOf(t *testing.T, text string) *Copy {
	t.Helper()
	f, err := tree.Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCopy(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func broker(id string) string {
	return `{"path":"/kafka/brokers/ids/` + id + `","ephemeral":true,"data":"{\"version\":5,\"endpoints\":[\"PLAINTEXT://h:` + id + `\"],\"listener_security_protocol_map\":{\"PLAINTEXT\":\"PLAINTEXT\"},\"features\":{},\"host\":\"h\",\"port\":` + id + `,\"jmx_port\":-1,\"timestamp\":\"1\"}"}`
}

const topicT = `{"path":"/kafka/brokers/topics/t","data":"{\"version\":3,\"partitions\":{\"0\":[1,2]},\"adding_replicas\":{},\"removing_replicas\":{}}"}`

func treeOf(znodes ...string) string {
	return `{"format":1,"chroot":"/kafka","znodes":[` + strings.Join(znodes, ",") + `]}`
}

// TestTakeOverBelowAChroot: paths in answers are the cluster's own, and a topic
// id that the controller drew has no value to rely on.
func TestTakeOverBelowAChroot(t *testing.T) {
	c := copyOf(t, treeOf(broker("1"), broker("2"), topicT))
	got, err := c.TakeOver()
	if err != nil {
		t.Fatal(err)
	}
	if !got.Starts || got.Epoch != 1 || got.Partitions["t-0"].State != "OnlinePartition" {
		t.Fatalf("%+v", got)
	}
	var changed struct {
		ID string `json:"topic_id"`
	}
	if err := json.Unmarshal(got.Znodes.Changed["/brokers/topics/t"], &changed); err != nil || changed.ID != "*" {
		t.Errorf("changed %s: %v", got.Znodes.Changed["/brokers/topics/t"], err)
	}
	if len(got.Znodes.Created) != 3 || got.Znodes.Created[2] != "/brokers/topics/t/partitions/0/state" {
		t.Errorf("created %v", got.Znodes.Created)
	}
	if len(got.Requests) == 0 || got.Requests[0].Request != "UpdateMetadata" {
		t.Errorf("requests %v", got.Requests)
	}
	for _, step := range []Step{{Do: "delete", Path: "/kafka/brokers/ids/1"}, {Do: "broker_down", Broker: 2}} {
		if _, err := c.Do(step); err != nil {
			t.Fatal(err)
		}
	}
	after, err := c.Do(Step{Do: "broker_up", Broker: 2})
	if err != nil || !after.Active || *after.Partitions["t-0"].Leader != 2 {
		t.Errorf("after %+v: %v", after, err)
	}
	if _, err := c.Do(Step{Do: "broker_down", Broker: 9}); err == nil || !strings.Contains(err.Error(), "no node") {
		t.Errorf("a broker that is not there goes down: %v", err)
	}
	if _, err := c.Do(Step{Do: "dance"}); err == nil {
		t.Error("an unknown step is done")
	}
}

// TestUnreadableIsNotAbsent: a znode that may not be read makes the answer
// unknown if a controller reads it, and only then.
func TestUnreadableIsNotAbsent(t *testing.T) {
	for path, needed := range map[string]string{"/brokers/topics/t": "/brokers/topics/t", "/config/users": ""} {
		c := copyOf(t, treeOf(broker("1"), `{"path":"/kafka`+path+`","error":"NoAuth"}`))
		if _, err := c.TakeOver(); err != nil {
			t.Fatal(err)
		}
		if c.Needed() != needed {
			t.Errorf("%s: needed %q", path, c.Needed())
		}
	}
}

// TestElectByEveryStrategy: each candidate comes with its verdict.
func TestElectByEveryStrategy(t *testing.T) {
	state := `{"path":"/kafka/brokers/topics/t/partitions/0/state","data":"{\"controller_epoch\":0,\"leader\":2,\"version\":1,\"leader_epoch\":4,\"isr\":[2]}"}`
	for s, want := range map[model.Strategy]string{model.PreferredStrategy: "PREFERRED_LEADER_NOT_AVAILABLE", model.OfflineUncleanStrategy: "ELECTION_NOT_NEEDED",
		model.OfflineStrategy: "", model.ReassignStrategy: "", model.ControlledShutdownStrategy: ""} {
		c := copyOf(t, treeOf(broker("1"), broker("2"), topicT, state))
		if _, err := c.TakeOver(); err != nil {
			t.Fatal(err)
		}
		got, err := c.Elect(s, append(c.Partitions("t"), model.TP("nope", 3)))
		if err != nil {
			t.Fatal(err)
		}
		e := got["t-0"]
		switch {
		case want == "" && (e.Error != nil || *e.Leader != 2 || len(e.ISR) != 1):
			t.Errorf("%s: %+v", s, e)
		case want != "" && (e.Error == nil || *e.Error != want || e.Leader != nil):
			t.Errorf("%s: %+v", s, e)
		case len(e.Candidates) == 0 || e.Candidates[0] != (Candidate{Broker: 1, Registered: true, Online: true}):
			t.Errorf("%s: candidates %+v", s, e.Candidates)
		}
		if nope := got["nope-3"]; nope.Error == nil || *nope.Error != "UNKNOWN_TOPIC_OR_PARTITION" {
			t.Errorf("%s: an unknown partition: %+v", s, nope)
		}
	}
}
