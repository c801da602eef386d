// Package tree reads a Kafka cluster out of its znodes alone: tree files
// (Load, Write), the survey of a tree as it lies (Survey), and what is said of
// it (State, TopicList, TopicDescription) as JSON and as text.
//
// It is not the controller: nothing here acts, elects or guesses what a
// controller remembers. What follows from the znodes follows by the rules of the
// closed vocabulary of tree files: a partition is OnlinePartition when its state
// znode names a registered leader, whatever the real controller thinks.
//
// It may import model and the standard library only.
//
// Duties of the caller:
//   - A Survey has one owner: Apply and the questions are called by one
//     goroutine at a time. Freeze gives a view that others may keep.
//   - Apply keeps no reference to the data of topic and state znodes, but keeps
//     that of the others: do not write into it.
//   - A State is bound to the survey it was built from and is written before the
//     next Apply.
package tree
