package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/realkafka"
	"kstate/model"
)

// administered changes a real cluster after the tour (brokers 1 and 3 shut down,
// topic unclean on 2 and 3): by znodes, by keys and over the wire, each to its end;
// and what is refused.
func administered(t *testing.T, c *realkafka.Cluster) {
	t.Helper()
	c.StartBroker(1)
	c.WaitBrokers(1, 2)
	ch := newChanger(t, c.Connect())
	began := time.Now()
	done := func(line string) changeReport {
		t.Helper()
		r := ch.json(exitOK, line)
		if !r.Written || r.Outcome == nil || r.Outcome.State != "done" {
			t.Errorf("%s: %+v %+v", line, r, r.Outcome)
		}
		return r
	}
	elected := func(r changeReport, tp string, leader int32) {
		t.Helper()
		if e := r.Elections[tp]; e == nil || e.Error != nil || e.Leader == nil || *e.Leader != leader {
			t.Errorf("%s: elections %+v, want leader %d", tp, e, leader)
		}
	}
	wire := " --bootstrap-server " + strings.Split(c.Bootstrap(), ",")[1]

	r := done("topics create --topic changed --replica-assignment 1:2,2:1 --config retention.ms=60000")
	if len(r.Plan.Notes) == 0 || !strings.Contains(r.Plan.Notes[0], "topic id: yes") {
		t.Errorf("notes %q", r.Plan.Notes)
	}
	done("topics alter --topic changed --partitions 3 --replica-assignment 1:2")
	done("reassign --topic changed --partition 0 --replicas 2,1")
	elected(done("elect run --strategy preferred --topic changed --partition 0"), "changed-0", 2)
	done("reassign --topic changed --partition 1 --replicas 1,2" + wire)
	elected(done("elect run --strategy preferred --topic changed --partition 1"+wire), "changed-1", 1)
	if r := ch.json(exitError, "reassign --topic changed --partition 1 --cancel"+wire); r.Written || !strings.Contains(r.Error, "at rest") {
		t.Errorf("taken back what does not run: %+v", r)
	}
	if r := ch.json(exitOK, "elect run --strategy unclean --topic changed"+wire); r.Written || !strings.Contains(r.Plan.Nothing, "not needed") {
		t.Errorf("an unclean election that nobody needs: %+v", r)
	}
	refusedOnReal(t, c, ch)
	byKeysOnReal(t, c, ch)
	move := done("controller move")
	if !strings.Contains(move.Outcome.Text, "epoch") {
		t.Errorf("moved: %+v", move.Outcome)
	}
	uncleanOnReal(t, c, ch, func(line string) { elected(done(line+wire), "torn-0", 2) })
	t.Logf("the changes took %v", time.Since(began).Round(100*time.Millisecond))
}

// uncleanOnReal elects, over the wire, a replica that is not in the ISR: the leader
// that outlived it is gone.
func uncleanOnReal(t *testing.T, c *realkafka.Cluster, ch *changer, elect func(line string)) {
	t.Helper()
	state := func(what string, leader int32, isr ...int32) {
		t.Helper()
		path := c.Chroot + model.TopicPartitionStatePath(model.TP("torn", 0))
		await(t, what, func() bool {
			data, _, err := c.Conn.Get(path)
			if err != nil {
				t.Fatalf("get %s: %v", path, err)
			}
			s, _, err := model.DecodePartitionState(path, data)
			return err == nil && s.LeaderAndIsr.Leader == leader && slices.Equal(s.LeaderAndIsr.ISR, isr)
		})
	}
	ch.json(exitOK, "topics create --topic torn --replica-assignment 1:2")
	c.TermBroker(2)
	state("broker 2 out of the ISR", 1, 1)
	c.KillBroker(1)
	for _, ephemeral := range []string{model.BrokerIDPath(1), model.ControllerPath} { // sooner than its session ends
		if err := c.Conn.Delete(c.Chroot+ephemeral, -1); err != nil {
			t.Fatalf("delete %s: %v", ephemeral, err)
		}
	}
	c.StartBroker(2)
	c.WaitBrokers(2)
	state("no leader", model.NoLeader, 1)
	if o := ch.with("", "elect run --strategy unclean --topic torn --yes"); o.code == exitOK || !strings.Contains(o.err, "--bootstrap-server") {
		t.Errorf("unclean without the wire: %+v", o)
	}
	elect("elect run --strategy unclean --topic torn")
	state("the unclean leader", 2, 2)
}

// refusedOnReal is what must not be written, and a deletion that waits.
func refusedOnReal(t *testing.T, c *realkafka.Cluster, ch *changer) {
	t.Helper()
	for _, refused := range []struct{ line, want string }{
		{"topics delete --topic nosuch", "/brokers/topics/nosuch is not there"},
		{"topics create --topic changed --partitions 1 --replication-factor 1", "/brokers/topics/changed is there"},
		{"reassign --topic changed --partition 0 --replicas 1,3", "3 is not; registered: 1,2"},
		{"elect run --strategy preferred --topic nosuch", "/brokers/topics/nosuch is not there"},
	} {
		if r := ch.json(exitError, refused.line); r.Written || !strings.Contains(r.Error, refused.want) {
			t.Errorf("%s: %+v", refused.line, r)
		}
	}
	parent := c.Chroot + model.DeleteTopicsPath
	if _, err := c.Conn.SetACL(parent, zk.WorldACL(zk.PermAll&^zk.PermCreate), -1); err != nil {
		t.Fatal(err)
	}
	if r := ch.json(exitUnknown, "topics delete --topic changed"); r.Written || !strings.Contains(r.Error, "NOAUTH") {
		t.Errorf("without permission: %+v", r)
	}
	if _, err := c.Conn.SetACL(parent, zk.WorldACL(zk.PermAll), -1); err != nil {
		t.Fatal(err)
	}
	if r := ch.json(exitFound, "topics delete --topic unclean --timeout 4000"); !r.Written || r.Outcome.State != "waiting" || !strings.Contains(r.Outcome.Text, "broker 3") {
		t.Errorf("a deletion with a dead broker: %+v %+v", r, r.Outcome)
	}
	if r := ch.json(exitError, "topics delete --topic unclean"); r.Written || !strings.Contains(r.Error, "queued for deletion") {
		t.Errorf("deleted twice: %+v", r)
	}
}

// byKeysOnReal elects and deletes by the keys of kstate admin.
func byKeysOnReal(t *testing.T, c *realkafka.Cluster, ch *changer) {
	t.Helper()
	ch.json(exitOK, "reassign --topic changed --partition 2 --replicas 2,1") // another order: the leader stays
	p := openPane(t, 80, 24, "admin", "--zookeeper", c.Connect(), "--audit-log", ch.log)
	p.await(patience, "the dashboard", holding("ADMIN", "connected"))
	p.keys("2", "/")
	p.await(patience, "the filter", holding("enter keeps"))
	p.keys("changed", "Enter")
	p.await(patience, "one topic", func(text string) bool { return strings.Contains(text, "changed") && !strings.Contains(text, "clicks") })
	p.asked("E", "Elect leaders", "Enter")
	p.await(patience, "the exact write", holding("Consent", "create /admin/preferred_replica_election", "type changed"))
	p.keys("changed", "Enter")
	p.await(patience, "its end", holding("done: 1 of 1 partitions are led by their preferred replica"))
	p.leaveDialogs()
	p.asked("D", "Delete a topic", "Enter")
	p.await(patience, "the exact write", holding("Consent", "create /admin/delete_topics/changed", "type changed"))
	p.keys("changed", "Enter")
	p.await(patience, "its end", holding("done: the topic and its marker are gone"))
	p.leaveDialogs()
	p.keys("D")
	p.await(patience, "the dialog", holding("Delete a topic"))
	p.keys("unclean", "Enter")
	p.await(patience, "that it is under way", holding("Refused:", "no deletion is under way"))
	p.leaveDialogs()
	p.keys("q")
	p.await(patience, "its end", func(text string) bool { return !strings.Contains(text, "ADMIN") })
	for _, path := range []string{model.TopicPath("changed"), model.TopicConfigPath("changed"), model.DeleteTopicPath("changed")} {
		if there, _, err := c.Conn.Exists(c.Chroot + path); err != nil || there {
			t.Errorf("%s: %v %v", path, there, err)
		}
	}
	if data, err := os.ReadFile(ch.log); err != nil || !strings.Contains(string(data), `"what":"delete topic changed"`) {
		t.Errorf("the audit log: %v", err)
	}
}
