// Package lab puts the opponents of a controller together: an embedded
// ZooKeeper, simulated brokers, a first content, and an operator's hands on them
// (kill a broker, create a topic, ...). The controller itself is not here.
//
// It must not share the controller's mistakes, so it imports neither the engine
// nor kstate/internal/wire.
//
// It may import kstate/model, kstate/internal/lab/zkserver and
// kstate/internal/lab/broker.
//
// Duties of the caller: Close a Lab; brokers and server listen on loopback.
package lab
