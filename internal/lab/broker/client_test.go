package broker

import (
	"net"
	"slices"
	"strconv"
	"testing"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAdminClient: a client that we did not write finds its way by ApiVersions
// and Metadata.
func TestAdminClient(t *testing.T) {
	l := newLab(t, labOptions{})
	l.metadata(1, 2, 3)
	live := l.broker(1).Snapshot().Alive
	req := request{8, 5, -1}.updateMetadata(2, live, cached{t0, idA, 1}, cached{model.TP("t", 1), idA, 3})
	for i := range req.LiveBrokers {
		b := &req.LiveBrokers[i]
		if b.ID != l.ctl.id {
			e, _ := l.broker(b.ID).Address()
			b.Endpoints[0].Host, b.Endpoints[0].Port = e.Host, e.Port
		}
	}
	for _, id := range []int32{1, 2, 3} {
		l.call(id, req)
	}
	e, _ := l.broker(1).Address()
	client, err := kgo.NewClient(kgo.SeedBrokers(net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	m, err := kadm.NewClient(client).Metadata(l.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if m.Controller != 2 || !slices.Equal(m.Brokers.NodeIDs(), []int32{1, 2, 3, 9}) || m.Cluster != "a3N0YXRlLWxhYi1jbHVzdA" {
		t.Errorf("controller %d, brokers %v, cluster %s", m.Controller, m.Brokers.NodeIDs(), m.Cluster)
	}
	if p := m.Topics["t"].Partitions; len(p) != 2 || p[0].Leader != 1 || p[1].Leader != 3 || model.Uuid(m.Topics["t"].ID) != idA {
		t.Errorf("topic %+v", m.Topics["t"])
	}
}
