// Package model holds the nouns of kstate: the names of topics, partitions and
// replicas, their states and the legal transitions between them, the cluster as
// a controller remembers it, the znodes a controller reads and writes, and the
// stream that connects a controller to the world: inputs, events, steps and
// results. It also holds what a front end sees (frames) and says (commands).
//
// It is not the controller (package engine), and it performs no I/O: everything
// here is data and pure functions over it.
//
// It may import the standard library only.
//
// Duties of the caller:
//   - Slices inside records (ISR, Replicas, ...) are immutable once stored in a
//     Cluster or a step: replace them, do not write into them.
//   - A Cluster has one writer. Freeze gives readers a view that never changes.
package model
