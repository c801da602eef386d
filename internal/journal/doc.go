// Package journal is the file format of a recording: everything that a
// controller was told (inputs, and the results of its steps), what it did, and
// what an operator asked, as JSON lines in compressed blocks, each with a
// checksum of its own. docs/journal.md describes it.
//
// It writes and reads records. It does not run a controller: feeding an engine
// from a recording is package debugger's.
//
// It may import kstate/model, and klauspost/compress for the blocks.
//
// Duties of the caller:
//   - One goroutine at a time calls the methods of a Writer that record, in the
//     order in which things happened. What records point at never changes
//     afterwards: the lines are made on the Writer's own goroutine.
//   - Close a Writer, or the last half second is not on the disk.
//   - Show Status: a Writer goes on when the disk does not take what it writes,
//     and nobody else will say so.
//
// No secret is written: see mask.go.
package journal
