package realkafka

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"kstate/internal/lab/zkserver"
)

// Kafka's own controller and brokers, on the embedded ZooKeeper: the tour comes
// out as it did on a real one. What fails here is the server, the harness or the
// machine.
func TestRealKafkasOwnControllerOnTheEmbeddedZooKeeper(t *testing.T) {
	jars := Require(t, Versions[0])
	c := StartCluster(t, jars, Options{ZooKeeper: embeddedZooKeeper(t)})
	if id := c.ControllerID(); id != 1 {
		t.Fatalf("broker %d is the controller; the tour needs broker 1 to be, which stays alive", id)
	}
	golden := Golden(t, jars.Version)
	diffs := Compare(golden, Run(t, c, Tour(), RunOptions{}))
	for _, d := range diffs {
		t.Error(d)
	}
	t.Logf("%d of %d steps equal", len(golden)-len(diffs), len(golden))
}

// embeddedZooKeeper serves an empty tree on loopback, with the tick of
// StartZooKeeper, until the end of the test. It is the address.
func embeddedZooKeeper(t *testing.T) string {
	t.Helper()
	server := zkserver.NewServer(zkserver.NewStore(zkserver.Options{}), zkserver.ServerOptions{TickTime: zkTickMillis * time.Millisecond})
	t.Cleanup(func() { server.Close() })
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return addr.String()
}

func TestRealPauseAndAdmin(t *testing.T) {
	c := StartCluster(t, Require(t, Versions[0]), Options{Brokers: 2, BrokerConf: map[string]string{"delete.topic.enable": "false"}})
	registered := func(want ...string) {
		t.Helper()
		await(t, 60*time.Second, "the brokers to be as they should", nil, func() error {
			s, err := Snapshot(c.Conn, c.Chroot)
			if err == nil && !slices.Equal(s.Brokers, want) {
				err = errors.New("they are not")
			}
			return err
		})
	}

	c.CreateTopic("t", [][]int32{{1, 2}}, nil)
	if err := c.AddPartitions("t", 1, [][]int32{{2, 1}}); err != nil {
		t.Error(err)
	}
	if err := c.AddPartitions("t", 2, [][]int32{{9}}); !errors.Is(err, kerr.InvalidReplicaAssignment) {
		t.Errorf("adding a partition on a broker that is not there: %v, want %v", err, kerr.InvalidReplicaAssignment)
	}
	if err := c.DeleteTopic("t"); !errors.Is(err, kerr.TopicDeletionDisabled) {
		t.Errorf("deleting where delete.topic.enable is false: %v, want %v", err, kerr.TopicDeletionDisabled)
	}

	c.PauseBroker(2)
	registered("1")
	c.ResumeBroker(2)
	registered("1", "2")

	c.ZooKeeper.Pause()
	if err := serves(c.ZKAddr); err == nil {
		t.Error("a paused ZooKeeper answers")
	}
	c.ZooKeeper.Resume()
	if err := serves(c.ZKAddr); err != nil {
		t.Errorf("a resumed ZooKeeper: %v", err)
	}
	c.ZooKeeper.Stop()
	if err := serves(c.ZKAddr); err == nil {
		t.Error("a stopped ZooKeeper answers")
	}
}
