package broker

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestScale: 20 brokers learn of 10,000 partitions with three replicas each, as
// after a failover: one UpdateMetadata and one LeaderAndIsr to each. How long the
// lab as a whole may take is a matter of TestCostOf...; here it is printed. Under
// -short, with which the race detector runs, a tenth of the partitions do.
func TestScale(t *testing.T) {
	const brokers = 20
	partitions := int32(10_000)
	if testing.Short() {
		partitions = 1_000
	}
	ids := make([]int32, brokers)
	for i := range ids {
		ids[i] = int32(i + 1)
	}
	l := newLab(t, labOptions{brokers: ids, clock: newHandClock(), unseen: true})
	before := heapBytes()
	start := time.Now()
	update := request{8, 5, -1}.updateMetadata(9, ids)
	byBroker := map[int32]*kmsg.LeaderAndISRRequest{}
	for _, id := range ids {
		byBroker[id] = request{7, 5, -1}.leaderAndISR()
	}
	topic := kmsg.UpdateMetadataRequestTopicState{Topic: "big", TopicID: idA}
	for n := range partitions {
		replicas := []int32{n%brokers + 1, (n+1)%brokers + 1, (n+2)%brokers + 1}
		p := kmsg.NewUpdateMetadataRequestTopicPartition()
		p.Partition, p.Leader, p.ISR, p.Replicas = n, replicas[0], replicas, replicas
		topic.PartitionStates = append(topic.PartitionStates, p)
		for _, id := range replicas {
			one := request{7, 5, -1}.leaderAndISR(state{tp: model.TP("big", n), id: idA, leader: replicas[0], isr: replicas, replicas: replicas})
			if req := byBroker[id]; len(req.TopicStates) == 0 {
				req.TopicStates = one.TopicStates
			} else {
				req.TopicStates[0].PartitionStates = append(req.TopicStates[0].PartitionStates, one.TopicStates[0].PartitionStates...)
			}
		}
	}
	update.TopicStates = []kmsg.UpdateMetadataRequestTopicState{topic}
	var wg sync.WaitGroup
	for _, id := range ids {
		p := l.peer(id)
		wg.Go(func() {
			for _, req := range []kmsg.Request{update, byBroker[id]} {
				if _, err := p.call(req); err != nil {
					t.Errorf("broker %d: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	used := heapBytes() - before
	t.Logf("%d brokers, %d partitions: %s, %d MB", brokers, partitions, took, used>>20)
	if used > 300<<20 {
		t.Errorf("%d MB: too much", used>>20)
	}
	for _, id := range ids {
		l.c.look(func() {
			r := l.c.brokers[id].run.replicas
			if len(r.parts) != int(3*partitions/brokers) || len(r.cache.topics["big"]) != int(partitions) {
				t.Errorf("broker %d hosts %d and knows %d", id, len(r.parts), len(r.cache.topics["big"]))
			}
		})
	}
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
