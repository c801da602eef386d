// Package explain answers why: what holds the deletion of a topic, what keeps a
// partition or a replica from being available, what waits for a broker, how
// leadership is spread and whether the balancer would act, what the controller
// has pending. Each cause has its evidence (path, version, what it says) and
// what would change it; what cannot be known from the given data is said to be
// so and never guessed.
//
// It explains two kinds of data by the same rules: a tree as it lies (OfTree)
// and a controller's memory (OfMemory). Words are those of the closed lists of
// tree files: ineligible reasons, reasons of partitions, kinds of problems.
// Words of its own, for what those lists have no word for, are constants of this
// package.
//
// It is not the controller: it elects nothing but by engine.Preview, and it is
// no audit of a whole tree.
//
// It may import kstate/model, kstate/engine and kstate/internal/tree.
//
// Duties of the caller: what an explanation is made from does not change while
// Explain runs. With a Peek, Explain waits for ZooKeeper.
package explain
