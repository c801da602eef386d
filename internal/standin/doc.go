// Package standin is an environment in memory for a controller: ZooKeeper is a
// zkserver.Store that it calls directly, and brokers are whatever function the
// caller gives (by default they never answer). It answers every step at once,
// in the caller's goroutine, on the caller's clock.
//
// It is what `kstate failover` runs a tree on, and what tests and simulations
// drive the engine with. It is not a lab: there are no sockets and no brokers.
//
// It may import kstate/model and kstate/internal/lab/zkserver.
//
// Duties of the caller:
//   - Use a World from one goroutine at a time.
//   - Take inputs with Next after each step and give them to the engine in order.
package standin
