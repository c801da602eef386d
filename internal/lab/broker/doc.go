// Package broker simulates Kafka brokers of the ZooKeeper era, 0.11 to 3.9, as a
// controller meets them: they register in ZooKeeper, take LeaderAndIsr,
// StopReplica and UpdateMetadata requests over real sockets, keep per replica
// what a real broker keeps (leader epochs, topic ids, log directories), let
// followers catch up after a time of your choice, change the ISR by
// AlterPartition or by znode, and ask the controller before they stop.
//
// It is not a broker for data: there are no records, no Produce, no Fetch.
// Replication is simulated: the brokers of one Cluster see in each other who
// follows whom. A partition counts as written to all the time, so a follower
// that does not fetch falls behind and is taken out of the ISR; a real leader
// keeps a silent follower as long as nobody writes.
//
// What a broker does wrong is data: Behaviour and its Rules (slow, silent,
// refusing, wrong answers, crash after the n-th request, held answers, cut off
// from the controller or from ZooKeeper), settable at any time.
//
// It may import model (names, paths, codecs), kmsg, go-zookeeper/zk and the
// standard library. It never imports engine or internal/wire: an opponent must
// not share the controller's mistakes, so framing and decoding here are its own.
//
// Duties of the caller:
//   - One Cluster per set of brokers that replicate to each other; Close it.
//   - Settings are fixed once a broker is added; Behaviour may change at any time.
//   - Observe is called with no lock held, one event at a time, in order. It may
//     call the Cluster, but must not wait for another event.
//   - Wait with Await for what you want to see; nothing here needs a sleep.
package broker
