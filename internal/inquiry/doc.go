// Package inquiry answers what a controller that took over a tree now would do:
// it runs the real engine on a copy of the tree in memory, with brokers that
// answer nothing unless a step says so. It is what `kstate failover` and
// `kstate elect preview` print, in the words of tree files with expectations.
//
// It writes nothing outside the copy, and it is not a lab: time does not pass in
// it, and nobody but the caller changes its tree.
//
// It may import model, engine, internal/standin, internal/tree and
// internal/lab/zkserver.
//
// Duties of the caller:
//   - Use a Copy from one goroutine at a time, and close it.
//   - Call TakeOver once, before steps and elections.
package inquiry
