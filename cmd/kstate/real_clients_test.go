package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/realkafka"
	"kstate/model"
)

var listening = regexp.MustCompile(`listening on PLAINTEXT://(\S+)`)

// address is where clients reach it.
func (r *realControl) address() string {
	r.t.Helper()
	r.says(time.Minute, "is the controller")
	return listening.FindStringSubmatch(r.errs.String())[1]
}

// What clients do with a cluster whose controller is kstate, which is all that
// they know at first: topics, consumer groups in Go and Java, a producer whose
// acknowledged records survive what happens to brokers meanwhile, Kafka's tools.
func TestRealControlClients(t *testing.T) {
	jars := realkafka.Require(t, realkafka.Versions[0])
	c := realkafka.StartCluster(t, jars, realkafka.Options{Hold: true, BrokerConf: map[string]string{
		"offsets.topic.replication.factor": "3", "offsets.topic.num.partitions": "8", "group.initial.rebalance.delay.ms": "0"}})
	r := takeControl(t, c)
	address := r.address()
	c.StartAll()
	t.Run("groups", func(t *testing.T) { consumerGroups(t, c, jars, address) })
	t.Run("producer", func(t *testing.T) { producesThroughChange(t, c, address) })
	t.Run("tools", func(t *testing.T) { tools(t, c, jars, address) })
	noneOnController(t, c)
	t.Run("held", func(t *testing.T) { heldInDeletion(t, c) })
}

// noneOnController: every partition of every topic is led, and none is on kstate.
func noneOnController(t *testing.T, c *realkafka.Cluster) {
	t.Helper()
	s, err := realkafka.Snapshot(c.Conn, c.Chroot)
	if err != nil {
		t.Fatal(err)
	}
	for topic, a := range s.Topics {
		for p, replicas := range a.Partitions {
			if slices.Contains(replicas, controllerID) {
				t.Errorf("%s-%s is on %v", topic, p, replicas)
			}
			if st, ok := s.Partitions[topic+"-"+p]; !ok || st.Leader < 1 {
				t.Errorf("%s-%s has no leader: %+v", topic, p, st)
			}
		}
	}
}

func dialKafka(t *testing.T, address string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(address)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func minutes(t *testing.T, n time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), n*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func consumerGroups(t *testing.T, c *realkafka.Cluster, jars *realkafka.Jars, address string) {
	const records = 300
	ctx := minutes(t, 2)
	producer := dialKafka(t, address)
	if made, err := kadm.NewClient(producer).CreateTopic(ctx, 3, 3, nil, "data"); err != nil || made.Err != nil {
		t.Fatalf("created %+v, %v", made, err)
	}
	for i := range records {
		producer.Produce(ctx, &kgo.Record{Topic: "data", Value: fmt.Appendf(nil, "record-%d", i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := producer.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	consumer := dialKafka(t, address, kgo.ConsumerGroup("go"), kgo.ConsumeTopics("data"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if seen := consume(ctx, t, consumer, func(seen map[string]int) bool { return len(seen) == records }); len(seen) != records {
		t.Errorf("the group in Go read %d different records of %d", len(seen), records)
	}
	if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
		t.Errorf("commit: %v", err)
	}
	out, err := jars.Tool(t, "", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", address, "--topic", "data", "--group", "java",
		"--from-beginning", "--max-messages", fmt.Sprint(records), "--timeout-ms", "60000")
	lines := strings.Fields(out)
	slices.Sort(lines)
	if err != nil || len(slices.Compact(lines)) != records {
		t.Errorf("the group in Java read %d records: %v", len(lines), err)
	}
	s, err := realkafka.Snapshot(c.Conn, c.Chroot)
	if err != nil || len(s.Topics["__consumer_offsets"].Partitions) != 8 {
		t.Errorf("__consumer_offsets: %+v, %v", s.Topics["__consumer_offsets"], err)
	}
	noneOnController(t, c)
}

// consume counts the records that it reads by their content, until that is enough.
func consume(ctx context.Context, t *testing.T, consumer *kgo.Client, enough func(map[string]int) bool) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for !enough(seen) {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Errorf("after %d records: %v", len(seen), err)
			return seen
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
	}
	return seen
}

// producesThroughChange: what was acknowledged is read, once, whatever happened to
// brokers and partitions meanwhile.
func producesThroughChange(t *testing.T, c *realkafka.Cluster, address string) {
	ctx := minutes(t, 5)
	admin := dialKafka(t, address)
	adm := kadm.NewClient(admin)
	for _, topic := range []string{"kept", "doomed"} {
		if made, err := adm.CreateTopic(ctx, 3, 3, map[string]*string{"min.insync.replicas": kadm.StringPtr("2")}, topic); err != nil || made.Err != nil {
			t.Fatalf("created %+v, %v", made, err)
		}
	}
	producer := dialKafka(t, address, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(2*time.Minute))
	stop, acknowledged := keepProducing(ctx, t, producer)
	for _, id := range c.IDs() {
		c.TermBroker(id)
		c.StartBroker(id)
		c.WaitBrokers(c.IDs()...)
		wholeISRs(t, c, "kept")
	}
	q := kmsg.NewPtrElectLeadersRequest()
	q.TimeoutMillis = 30_000
	q.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "kept", Partitions: []int32{0, 1, 2}}}
	if a, err := q.RequestWith(ctx, admin); err != nil || a.ErrorCode != 0 {
		t.Errorf("preferred election: %+v, %v", a, err)
	}
	var move kadm.AlterPartitionAssignmentsReq
	move.Assign("kept", 0, []int32{2, 3})
	if a, err := adm.AlterPartitionAssignments(ctx, move); err != nil || a.Error() != nil {
		t.Errorf("reassignment: %+v, %v", a, err)
	}
	await(t, "the reassignment is done", func() bool {
		s, err := realkafka.Snapshot(c.Conn, c.Chroot)
		return err == nil && slices.Equal(s.Topics["kept"].Partitions["0"], []int32{2, 3})
	})
	if a, err := adm.DeleteTopics(ctx, "doomed"); err != nil || a.Error() != nil {
		t.Errorf("deletion: %+v, %v", a, err)
	}
	await(t, "the topic is gone", func() bool {
		s, err := realkafka.Snapshot(c.Conn, c.Chroot)
		_, there := s.Topics["doomed"]
		return err == nil && !there
	})
	stop()
	consumer := dialKafka(t, address, kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	seen := consume(ctx, t, consumer, func(seen map[string]int) bool {
		for value := range *acknowledged {
			if seen[value] == 0 {
				return false
			}
		}
		return true
	})
	for value, n := range seen {
		if n != 1 {
			t.Errorf("%s was read %d times", value, n)
		}
	}
	for value := range *acknowledged {
		if seen[value] == 0 {
			t.Errorf("%s was acknowledged and is lost", value)
		}
	}
	if len(*acknowledged) < 1000 {
		t.Errorf("only %d records were acknowledged", len(*acknowledged))
	}
	t.Logf("%d records acknowledged", len(*acknowledged))
}

// wholeISRs waits until each partition of a topic has all its replicas in the ISR.
func wholeISRs(t *testing.T, c *realkafka.Cluster, topic string) {
	t.Helper()
	await(t, "whole ISRs", func() bool {
		s, err := realkafka.Snapshot(c.Conn, c.Chroot)
		if err != nil || len(s.Topics[topic].Partitions) == 0 {
			return false
		}
		for p, replicas := range s.Topics[topic].Partitions {
			if len(s.Partitions[topic+"-"+p].ISR) != len(replicas) {
				return false
			}
		}
		return true
	})
}

// keepProducing writes to topic kept until stop, which waits for what is under way.
func keepProducing(ctx context.Context, t *testing.T, producer *kgo.Client) (stop func(), acknowledged *map[string]bool) {
	var mu sync.Mutex
	done := map[string]bool{}
	running, cancel := context.WithCancel(ctx)
	var loop sync.WaitGroup
	loop.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-running.Done():
				return
			case <-tick.C:
			}
			producer.Produce(ctx, &kgo.Record{Topic: "kept", Value: fmt.Appendf(nil, "record-%d", i)}, func(r *kgo.Record, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err == nil { // the client gives up where a broker that shuts down closes its new connection
					done[string(r.Value)] = true
				}
			})
		}
	})
	return func() {
		cancel()
		loop.Wait()
		if err := producer.Flush(ctx); err != nil {
			t.Errorf("flush: %v", err)
		}
	}, &done
}

// tools runs Kafka's own against the controller.
func tools(t *testing.T, c *realkafka.Cluster, jars *realkafka.Jars, address string) {
	run := func(main string, args ...string) string {
		t.Helper()
		out, err := jars.Tool(t, "", "org.apache.kafka.tools."+main, append([]string{"--bootstrap-server", address}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	has := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%q is not in\n%s", w, out)
			}
		}
	}
	has(run("TopicCommand", "--create", "--topic", "tooled", "--partitions", "2", "--replication-factor", "2", "--config", "retention.ms=100000"), "Created topic tooled")
	has(run("TopicCommand", "--alter", "--topic", "tooled", "--partitions", "4"))
	has(run("TopicCommand", "--describe", "--topic", "tooled"), "PartitionCount: 4", "ReplicationFactor: 2", "retention.ms=100000", "Partition: 3")
	configure := func(args ...string) string {
		t.Helper()
		out, err := jars.Tool(t, "", "kafka.admin.ConfigCommand", append([]string{"--bootstrap-server", address}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	has(configure("--alter", "--entity-type", "topics", "--entity-name", "tooled", "--add-config", "retention.ms=200000,cleanup.policy=compact"), "Completed updating config for topic tooled")
	has(configure("--alter", "--entity-type", "users", "--entity-name", "tool user", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=hush]"), "Completed updating config for user tool user")
	has(configure("--alter", "--entity-type", "clients", "--entity-name", "tool client", "--add-config", "producer_byte_rate=1024"), "Completed updating config for client tool client")
	has(configure("--describe", "--entity-type", "users", "--entity-name", "tool user"), "SCRAM-SHA-256", "iterations=8192")
	await(t, "the setting, at a broker", func() bool {
		return strings.Contains(configure("--describe", "--entity-type", "topics", "--entity-name", "tooled"), "retention.ms=200000")
	})
	has(run("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions"))
	before, err := realkafka.Snapshot(c.Conn, c.Chroot)
	if err != nil {
		t.Fatal(err)
	}
	target := []int32{1, 2, 3}
	plan := reassignment(t, map[string][]int32{"0": target})
	has(run("reassign.ReassignPartitionsCommand", "--execute", "--reassignment-json-file", plan), "Successfully started partition reassignment for tooled-0")
	await(t, "the reassignment is done", func() bool {
		s, err := realkafka.Snapshot(c.Conn, c.Chroot)
		return err == nil && slices.Equal(s.Topics["tooled"].Partitions["0"], target) && len(s.Topics["tooled"].Adding) == 0
	})
	has(run("reassign.ReassignPartitionsCommand", "--verify", "--reassignment-json-file", plan), "Reassignment of partition tooled-0 is completed")
	// One that a throttle holds up is taken back.
	old := before.Topics["tooled"].Partitions["1"]
	produceMegabytes(t, c, "tooled", 1, 10)
	move := reassignment(t, map[string][]int32{"1": {old[0], 6 - old[0] - old[1]}})
	has(run("reassign.ReassignPartitionsCommand", "--execute", "--throttle", "1", "--reassignment-json-file", move), "Successfully started partition reassignment for tooled-1")
	has(run("reassign.ReassignPartitionsCommand", "--list"), "Current partition reassignments", "tooled-1")
	has(run("reassign.ReassignPartitionsCommand", "--cancel", "--preserve-throttles", "--reassignment-json-file", move), "Successfully cancelled")
	await(t, "the reassignment is taken back", func() bool {
		s, err := realkafka.Snapshot(c.Conn, c.Chroot)
		return err == nil && slices.Equal(s.Topics["tooled"].Partitions["1"], old) && len(s.Topics["tooled"].Adding) == 0
	})
	has(run("TopicCommand", "--delete", "--topic", "tooled"))
	await(t, "the topic is gone", func() bool {
		_, _, err := c.Conn.Get(c.Chroot + model.TopicPath("tooled"))
		return err != nil
	})
	if out := run("TopicCommand", "--list"); strings.Contains(out, "tooled") {
		t.Errorf("it is still listed:\n%s", out)
	}
}

// produceMegabytes fills a partition with records of about a megabyte each.
func produceMegabytes(t *testing.T, c *realkafka.Cluster, topic string, partition int32, n int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.Bootstrap(), ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Append(nil, i), Value: make([]byte, 900_000)})
	}
	if err := client.ProduceSync(soon(t), records...).FirstErr(); err != nil {
		t.Fatalf("produce to %s-%d: %v", topic, partition, err)
	}
}

// reassignment writes a plan for partitions of topic tooled.
func reassignment(t *testing.T, partitions map[string][]int32) string {
	t.Helper()
	var list []map[string]any
	for p, replicas := range partitions {
		list = append(list, map[string]any{"topic": "tooled", "partition": json.Number(p), "replicas": replicas})
	}
	data, err := json.Marshal(map[string]any{"version": 1, "partitions": list})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
