package wire

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"testing"

	"kstate/model"
)

// What releases of Kafka say that they take of the requests by which they differ.
func TestProtocolOfReleases(t *testing.T) {
	type versions = map[int16]model.VersionRange
	upTo := func(fetch, leaderAndIsr, stopReplica, alterPartition, allocate int16) versions {
		v := versions{1: {Max: fetch}, 4: {Max: leaderAndIsr}, 5: {Max: stopReplica}}
		if alterPartition >= 0 {
			v[56] = model.VersionRange{Max: alterPartition}
		}
		if allocate >= 0 {
			v[67] = model.VersionRange{Max: allocate}
		}
		return v
	}
	for _, c := range []struct {
		release  string
		versions versions
		want     model.InterBrokerProtocol
	}{
		{"0.11", upTo(5, 0, 0, -1, -1), model.IBP_0_11_0_IV2},
		{"1.1", upTo(7, 1, 0, -1, -1), model.IBP_1_0_IV0},
		{"2.3", upTo(11, 2, 1, -1, -1), model.IBP_2_2_IV0},
		{"2.4", upTo(11, 4, 2, -1, -1), model.IBP_2_4_IV1},
		{"2.6", upTo(11, 4, 3, -1, -1), model.IBP_2_6_IV0},
		{"2.7", upTo(12, 4, 3, 0, -1), model.IBP_2_7_IV2},
		{"2.8", upTo(12, 5, 3, 0, -1), model.IBP_2_8_IV1},
		{"3.0", upTo(12, 5, 3, 0, 0), model.IBP_3_0_IV1},
		{"3.1", upTo(13, 5, 3, 0, 0), model.IBP_3_1_IV0},
		{"3.2", upTo(13, 6, 3, 1, 0), model.IBP_3_2_IV0},
		{"3.4", upTo(13, 7, 4, 2, 0), model.IBP_3_4_IV0},
		{"3.5", upTo(15, 7, 4, 3, 0), model.IBP_3_5_IV2},
		{"3.9", upTo(17, 7, 4, 3, 0), model.IBP_3_9_IV0},
	} {
		if got := Protocol(c.versions); got != c.want {
			t.Errorf("%s speaks %v, want %v", c.release, got, c.want)
		}
	}
}

func TestAllTake(t *testing.T) {
	got := AllTake([]map[int16]model.VersionRange{
		{1: {Min: 0, Max: 5}, 2: {Min: 0, Max: 1}, 3: {Max: 9}, 4: {Max: 1}},
		{1: {Min: 2, Max: 7}, 2: {Min: 2, Max: 3}, 3: {Max: 9}},
	})
	if want := (map[int16]model.VersionRange{1: {Min: 2, Max: 5}, 3: {Max: 9}}); len(got) != len(want) || got[1] != want[1] || got[3] != want[3] {
		t.Errorf("%v, want %v", got, want)
	}
	if got := AllTake(nil); len(got) != 0 {
		t.Errorf("without brokers %v", got)
	}
}

// Brokers are asked until each has answered.
func TestAskProtocol(t *testing.T) {
	ts := newTestServer(t, nil)
	host, port, err := net.SplitHostPort(ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	e := model.Endpoint{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: host, Port: int32(n)}
	versions, err := AskVersions(t.Context(), DialPlain, e)
	if err != nil || versions[3] != (model.VersionRange{Min: 0, Max: 12}) || versions[56].Max != 3 {
		t.Fatalf("%v, %v", versions, err)
	}
	refusals := make(chan error, 2)
	refusals <- errors.New("it does not listen yet")
	refusals <- errors.New("it does not listen yet")
	late := func(ctx context.Context, e model.Endpoint) (net.Conn, error) {
		select {
		case err := <-refusals:
			return nil, err
		default:
			return DialPlain(ctx, e)
		}
	}
	if v, err := AskProtocol(t.Context(), late, []model.Endpoint{e, e}); err != nil || v != Protocol(versions) {
		t.Errorf("%v, %v", v, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AskProtocol(ended, DialPlain, []model.Endpoint{e}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	silent := func(context.Context, model.Endpoint) (net.Conn, error) {
		near, far := net.Pipe()
		far.Close()
		return near, nil
	}
	if _, err := AskVersions(t.Context(), silent, e); err == nil {
		t.Error("a broker that closes the connection has answered")
	}
}

func TestMissing(t *testing.T) {
	with := func(names ...string) (b model.Broker) {
		for _, n := range names {
			b.Endpoints = append(b.Endpoints, model.Endpoint{Listener: n})
		}
		return b
	}
	if got := Missing([]model.Broker{with("B", "A"), with("A", "C")}, with("A")); !slices.Equal(got, []string{"B", "C"}) {
		t.Errorf("%v", got)
	}
}
