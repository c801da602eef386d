// Package sim plays a whole cluster on virtual time, in one goroutine, from one
// seed: two or three controllers (engines) that race for the role, a ZooKeeper
// (zkserver.Store, called directly), brokers (broker.Replicas over real frames),
// a network that delays and loses, operators, and a swarm of faults. After a
// while all faults end, and the cluster has to come to rest in order.
//
// The same seed gives the same bytes of trace, whatever the machine, GOMAXPROCS
// or the load: there is no wall clock, no goroutine, and no map is walked in an
// order that shows. A seed also draws what kind of cluster it is and which faults
// happen, so that a few faults at a time get deep (swarm testing).
//
// What is checked: engine.Invariants on each controller after each of its steps,
// invariants of the whole cluster after each transaction of ZooKeeper and each
// request that a broker takes (watch.go), liveness after healing (liveness.go).
// Kafka's own dead ends are left out one by one, by name, and counted.
// docs/sim.md lists it all.
//
// It is not a lab: nothing listens, nothing can join. It tests the engine, the
// requests on the wire and the embedded ZooKeeper's tree; not sockets, not
// zkwatch, not the session handling of zkserver, whose sessions end when the
// simulation says so.
//
// It may import model, engine, internal/debugger, internal/journal, internal/standin,
// internal/wire, lab/zkserver, lab/broker and the standard library.
//
// Duties of the caller:
//   - A Sim is used from one goroutine at a time, and Closed.
//   - Seeds are independent: Sweep runs many in parallel.
package sim
