package engine

import "slices"

// inHashOrder sorts broker ids as Kafka's replica state machine comes by them:
// it groups replicas in an immutable hash map of Scala 2.13, whose order is that
// of a trie over the mixed bits of the id. Where several brokers leave an ISR one
// after the other, that order decides who stays in it as the last one; where
// replicas go for good, which of them are gone when the last one fails.
// Kafka: ZkReplicaStateMachine.handleStateChanges (groupBy).
func inHashOrder(brokers []int32) []int32 {
	slices.SortFunc(brokers, func(a, b int32) int { return int(trieSlot(a, 0)) - int(trieSlot(b, 0)) })
	return orderInTrie(brokers, 0)
}

// orderInTrie orders ids that share all slots above a level and are sorted by
// that level's: those alone in their slot come first, then the nodes below.
func orderInTrie(brokers []int32, level int) []int32 {
	alone, below := make([]int32, 0, len(brokers)), []int32(nil)
	for len(brokers) > 0 {
		n := 1
		for n < len(brokers) && trieSlot(brokers[n], level) == trieSlot(brokers[0], level) {
			n++
		}
		if n == 1 {
			alone = append(alone, brokers[0])
		} else {
			slices.SortFunc(brokers[:n], func(a, b int32) int { return int(trieSlot(a, level+1)) - int(trieSlot(b, level+1)) })
			below = append(below, orderInTrie(brokers[:n], level+1)...)
		}
		brokers = brokers[n:]
	}
	return append(alone, below...)
}

// trieSlot is the place of an id among the 32 of its node on a level.
// Kafka: scala.collection.Hashing.improve.
func trieSlot(id int32, level int) uint32 {
	h := uint32(id)
	h += ^(h << 9)
	h ^= h >> 14
	h += h << 4
	h ^= h >> 10
	return h >> (5 * level) & 31
}
