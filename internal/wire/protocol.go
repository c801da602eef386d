package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// AskVersions asks a broker which versions of which requests it takes, by api key.
func AskVersions(ctx context.Context, dial Dialer, e model.Endpoint) (map[int16]model.VersionRange, error) {
	c, err := dial(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("asking %s what it speaks: %w", e, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if at, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(at); err != nil {
			return nil, err
		}
	}
	q := kmsg.NewPtrApiVersionsRequest() // version 0, which every broker takes
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("kstate")).AppendRequest(nil, q, 1)
	if _, err := c.Write(frame); err != nil {
		return nil, fmt.Errorf("asking %s what it speaks: %w", e, err)
	}
	answer, err := readFrame(bufio.NewReader(c), 4, MaxFrameSize)
	if err != nil {
		return nil, fmt.Errorf("asking %s what it speaks: %w", e, err)
	}
	if id := binary.BigEndian.Uint32(answer); id != 1 {
		return nil, fmt.Errorf("asking %s what it speaks: it answered request %d", e, id)
	}
	a := q.ResponseKind().(*kmsg.ApiVersionsResponse)
	if err := a.ReadFrom(answer[4:]); err != nil {
		return nil, fmt.Errorf("asking %s what it speaks: %w", e, err)
	}
	if a.ErrorCode != 0 {
		return nil, fmt.Errorf("asking %s what it speaks: %s", e, model.KafkaError(a.ErrorCode))
	}
	out := map[int16]model.VersionRange{}
	for _, k := range a.ApiKeys {
		out[k.ApiKey] = model.VersionRange{Min: k.MinVersion, Max: k.MaxVersion}
	}
	return out, nil
}

// AskUntilAnswered is AskVersions, again while the broker does not answer. The
// error is that of ctx.
func AskUntilAnswered(ctx context.Context, dial Dialer, e model.Endpoint) (map[int16]model.VersionRange, error) {
	for {
		one, done := context.WithTimeout(ctx, DefaultRequestTimeout)
		versions, err := AskVersions(one, dial, e)
		done()
		if err == nil {
			return versions, nil
		}
		select {
		case <-time.After(probePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// AllTake is what all of several brokers take.
func AllTake(of []map[int16]model.VersionRange) map[int16]model.VersionRange {
	out := map[int16]model.VersionRange{}
	for i, versions := range of {
		if i == 0 {
			for key, r := range versions {
				out[key] = r
			}
			continue
		}
		for key, have := range out {
			r, ok := versions[key]
			have.Min, have.Max = max(have.Min, r.Min), min(have.Max, r.Max)
			if !ok || have.Min > have.Max {
				delete(out, key)
				continue
			}
			out[key] = have
		}
	}
	return out
}

// milestones are, newest first, the requests by which a release can be told from
// the one before: with this version came this inter-broker protocol.
var milestones = []struct {
	key, version int16
	ibp          model.InterBrokerProtocol
}{
	{1, 17, model.IBP_3_9_IV0},              // Fetch
	{1, 16, model.IBP_3_7_IV4},              // Fetch
	{1, 15, model.IBP_3_5_IV2},              // Fetch
	{leaderAndIsrKey, 7, model.IBP_3_4_IV0}, // of a controller that may be a KRaft one
	{leaderAndIsrKey, 6, model.IBP_3_2_IV0},
	{1, 13, model.IBP_3_1_IV0}, // Fetch by topic id
	{67, 0, model.IBP_3_0_IV1}, // AllocateProducerIds
	{leaderAndIsrKey, 5, model.IBP_2_8_IV1},
	{56, 0, model.IBP_2_7_IV2}, // AlterPartition
	{stopReplicaKey, 3, model.IBP_2_6_IV0},
	{leaderAndIsrKey, 4, model.IBP_2_4_IV1},
	{leaderAndIsrKey, 3, model.IBP_2_4_IV0},
	{leaderAndIsrKey, 2, model.IBP_2_2_IV0},
	{leaderAndIsrKey, 1, model.IBP_1_0_IV0},
}

// Protocol is the newest inter-broker protocol that brokers with these versions
// speak, as far as it makes a difference to a controller.
func Protocol(versions map[int16]model.VersionRange) model.InterBrokerProtocol {
	for _, m := range milestones {
		if r, ok := versions[m.key]; ok && r.Max >= m.version {
			return m.ibp
		}
	}
	return model.IBP_0_11_0_IV2
}

// probePause and probePatience: a broker registers before it answers; one that
// is registered but dead keeps the others waiting no longer than this.
const (
	probePause    = 100 * time.Millisecond
	probePatience = 15 * time.Second
)

// AskProtocol asks brokers what they speak, each until it answers, and returns
// the newest protocol that fits all. Once the patience is over those that have
// answered by then count, at least one. The error is that of ctx.
func AskProtocol(ctx context.Context, dial Dialer, endpoints []model.Endpoint) (model.InterBrokerProtocol, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan map[int16]model.VersionRange, len(endpoints))
	for _, e := range endpoints {
		go func() {
			if versions, err := AskUntilAnswered(ctx, dial, e); err == nil {
				answers <- versions
			}
		}()
	}
	patience := time.NewTimer(probePatience)
	defer patience.Stop()
	over := false
	var got []map[int16]model.VersionRange
	for len(got) < len(endpoints) && !(over && len(got) > 0) {
		select {
		case versions := <-answers:
			got = append(got, versions)
		case <-patience.C:
			over = true
		case <-ctx.Done():
			return model.NoIBP, ctx.Err()
		}
	}
	lowest := model.LatestIBP
	for _, versions := range got {
		lowest = min(lowest, Protocol(versions))
	}
	return lowest, nil
}

// Missing lists the listener names that brokers have and self has not, in order.
func Missing(brokers []model.Broker, self model.Broker) []string {
	var out []string
	for _, b := range brokers {
		for _, e := range b.Endpoints {
			if _, ok := self.Endpoint(e.Listener); !ok && !slices.Contains(out, e.Listener) {
				out = append(out, e.Listener)
			}
		}
	}
	slices.Sort(out)
	return out
}
