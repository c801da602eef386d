// Package observe turns a live cluster's znodes into frames: counts, leaders,
// ISRs, brokers and deletion queues as they follow from the tree at once, without
// any engine. It never writes by itself: in admin mode it has an Administrator
// plan changes and, after consent, write them.
//
// What a controller has in its memory cannot be seen from outside; nothing here
// pretends to.
//
// It may import kstate/model, kstate/zkwatch, kstate/internal/tree and
// kstate/internal/explain.
//
// Duties of the caller:
//   - The connection's gate is ReadOnly, in admin mode Admin. The connection is
//     the observer's and its Administrator's alone until Run has returned.
//   - Somebody takes the frames, or they are dropped.
package observe
