package engine

import (
	"encoding/binary"
	"slices"

	"kstate/model"
)

// PlaceReplicas is place for those outside of a controller who do what it does.
func PlaceReplicas(brokers []model.Broker, n, factor, first, start, shift int) ([][]int32, error) {
	return place(brokers, n, factor, first, start, shift)
}

// place spreads the replicas of n partitions over brokers: leaders in turn from
// start, followers shifted by shift, which rises each time round; with racks, no
// rack gets a second replica of a partition while another has none. first is the
// number of the first partition. Kafka: AdminUtils.assignReplicasToBrokers.
func place(brokers []model.Broker, n, factor, first, start, shift int) ([][]int32, error) {
	switch {
	case n <= 0:
		return nil, &kafkaFailure{model.ErrInvalidPartitions, "number of partitions must be larger than 0"}
	case factor <= 0:
		return nil, &kafkaFailure{model.ErrInvalidReplicationFactor, "replication factor must be larger than 0"}
	case factor > len(brokers):
		return nil, &kafkaFailure{model.ErrInvalidReplicationFactor, "replication factor is larger than the number of available brokers"}
	}
	racks := map[int32]string{}
	withRack := 0
	for _, b := range brokers {
		racks[b.ID] = b.Rack
		if b.Rack != "" {
			withRack++
		}
	}
	switch withRack {
	case 0:
		return placePlain(brokerIDs(brokers), n, factor, first, start, shift), nil
	case len(brokers):
		return placeByRack(alternate(brokers), racks, n, factor, first, start, shift), nil
	}
	return nil, &kafkaFailure{model.ErrUnknownServerError, "not all brokers have rack information for replica rack aware assignment"}
}

func placePlain(ids []int32, n, factor, first, start, shift int) [][]int32 {
	var out [][]int32
	for p := first; p < first+n; p++ {
		if p > 0 && p%len(ids) == 0 {
			shift++
		}
		leader := (p + start) % len(ids)
		replicas := []int32{ids[leader]}
		for j := range factor - 1 {
			replicas = append(replicas, ids[follower(leader, shift, j, len(ids))])
		}
		out = append(out, replicas)
	}
	return out
}

// follower is the place of the j-th follower. Kafka: AdminUtils.replicaIndex.
func follower(leader, shift, j, brokers int) int {
	return (leader + 1 + (shift+j)%(brokers-1)) % brokers
}

// alternate orders brokers so that neighbours are on different racks.
// Kafka: AdminUtils.getRackAlternatedBrokerList.
func alternate(brokers []model.Broker) []int32 {
	byRack := map[string][]int32{}
	for _, b := range brokers {
		byRack[b.Rack] = append(byRack[b.Rack], b.ID)
	}
	racks := sortedKeys(byRack)
	for _, r := range racks {
		slices.Sort(byRack[r])
	}
	var out []int32
	for i := 0; len(out) < len(brokers); i++ {
		r := racks[i%len(racks)]
		if left := byRack[r]; len(left) > 0 {
			out, byRack[r] = append(out, left[0]), left[1:]
		}
	}
	return out
}

func placeByRack(ids []int32, racks map[int32]string, n, factor, first, start, shift int) [][]int32 {
	rackCount := len(sortedKeys(inverse(racks)))
	var out [][]int32
	for p := first; p < first+n; p++ {
		if p > 0 && p%len(ids) == 0 {
			shift++
		}
		leader := (p + start) % len(ids)
		replicas := []int32{ids[leader]}
		usedRacks := map[string]bool{racks[ids[leader]]: true}
		for k := 0; len(replicas) < factor; k++ {
			b := ids[follower(leader, shift*rackCount, k, len(ids))]
			if usedRacks[racks[b]] && len(usedRacks) < rackCount || slices.Contains(replicas, b) {
				continue
			}
			replicas = append(replicas, b)
			usedRacks[racks[b]] = true
		}
		out = append(out, replicas)
	}
	return out
}

func inverse(racks map[int32]string) map[string]bool {
	out := map[string]bool{}
	for _, r := range racks {
		out[r] = true
	}
	return out
}

// drawPlaces asks for two random numbers below n.
func (e *Engine) drawPlaces(topic string, n int) (start, shift int) {
	if n == 0 {
		return 0, 0
	}
	id := e.step(&model.Draw{For: "the replica placement of " + topic}).ID
	// The first and last bytes: the middle ones of a version 4 id are not all random.
	return int(binary.BigEndian.Uint32(id[0:4]) % uint32(n)), int(binary.BigEndian.Uint32(id[12:16]) % uint32(n))
}
