// Package zkserver is an embedded ZooKeeper server: one process, one tree, no
// ensemble. It has two layers.
//
// Store is the znode tree with its sessions and watches behind one lock. It
// needs no socket: tests, the seeded simulator and tree files use it directly.
//
// Server speaks ZooKeeper's client protocol over a Store, on loopback sockets
// or on in-memory connections (Dial), so that Kafka brokers, zkCli and any
// other client can join. Its reference is a standalone ZooKeeper 3.8.4;
// deliberate differences are named where they are made.
//
// It is not a database: the tree lives in memory. Open adds a log that
// survives the process, for labs whose brokers outlive it.
//
// The package imports the standard library only.
//
// Duties of the caller:
//   - Byte slices that go in or come out are shared with the tree: never write
//     into them.
//   - A Watcher, an OnTxn hook and the Now function are called with the
//     store's lock held: they must return at once and must not call the store.
//   - An Intercept hook is called without the lock, by many goroutines.
//   - A Store without a Server expires no session by itself: call ExpireDue.
package zkserver
