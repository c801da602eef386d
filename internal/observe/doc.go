// Package observe turns a live cluster's znodes into frames: counts, leaders,
// ISRs, brokers and deletion queues as they follow from the tree at once, without
// any engine. It never writes by itself: in admin mode it has an Administrator
// plan changes and, after consent, write them.
//
// What a controller has in its memory cannot be seen from outside. Beside the
// tree stands what internal/shadow makes of it, marked where it is inferred; no
// frame waits for that. From the tree alone come how far a deletion is (Deletion)
// and that a controller takes up nothing (silence).
//
// It may import kstate/model, kstate/zkwatch, kstate/internal/tree,
// kstate/internal/explain and kstate/internal/shadow.
//
// Duties of the caller:
//   - The connection's gate is ReadOnly, in admin mode Admin. The connection is
//     the observer's and its Administrator's alone until Run has returned.
//   - Somebody takes the frames, or they are dropped.
//   - Options.Recorded and Options.Told return soon: they hold the loop up.
package observe
