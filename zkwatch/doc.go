// Package zkwatch is the ZooKeeper side of kstate. It keeps a session, performs
// a controller's calls (pipelined, fenced, resent as Kafka's client does), turns
// watches and session changes into inputs, mirrors a cluster's tree for those
// who only look, and holds the one gate through which every write must go.
//
// It is not the controller and knows no rule of it; it does not decode znodes.
// It does not reimplement a ZooKeeper client either: go-zookeeper keeps the
// session and performs the operations that it has. Beneath it, at the socket,
// sits a wrapper (link) that sees every frame. It refuses writes that the gate
// does not allow, checks what the server sends before go-zookeeper decodes it,
// re-arms watches before anything else after a reconnect, and adds the two
// operations that go-zookeeper lacks: multiRead and addWatch.
//
// It may import model, go-zookeeper/zk and the standard library.
//
// Duties of the caller:
//   - OnInput, OnState, OnResend, OnProgress and Log run on goroutines of the
//     connection or of whoever calls it: they return at once, take no lock that
//     is held during a call of the Conn, and never call the Conn.
//   - With OnInput set, call Proceed when the controller has dealt with the
//     SessionExpired input: until then no new session is opened.
//   - A Mirror and a controller's watches need a Conn each: ZooKeeper 3.6 to 3.8
//     lose a persistent watch when a one-shot watch meets it on the same path.
//   - Paths are those of Kafka: the chroot is put on and taken off here.
package zkwatch
