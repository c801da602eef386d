// Package realkafka starts a real ZooKeeper and real Kafka brokers, in ZooKeeper
// mode, on loopback for tests; runs the tour of operator actions on them; and
// compares what came of it with recordings of Kafka's own controller.
//
// It is test support: only tests import it. It is no part of the program, and
// no simulation: the processes are the released jars, fetched with Maven into
// the user's cache directory and run with Java.
//
// It imports go-zookeeper/zk and franz-go, and nothing of this module.
//
// Duties of the caller:
//   - Name a test that uses it TestReal...: .ci/run runs those in a stage of
//     their own and fails there if one of them is skipped.
//   - Call Require first. It skips the test unless KSTATE_REAL=1, so that a
//     plain `go test ./...` needs neither Java nor minutes.
//   - Call the methods from the goroutine of the test: they end the test with
//     Fatalf when a process does not do what it should.
//   - Do not use t.Parallel: a broker takes 400 MB, and three of them starting
//     keep a small machine busy.
//
// Everything that was started is killed at the end of the test, and by the
// kernel if the test binary dies first (Linux). When the test has failed, the
// last lines of each process's log are in its output.
package realkafka
