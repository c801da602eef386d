package zkserver

import "time"

// Stat is what ZooKeeper tells of a znode beside its data, in wire order.
// Times are milliseconds since 1970.
type Stat struct {
	Czxid          int64 // txn that created it
	Mzxid          int64 // txn that last set its data
	Ctime          int64
	Mtime          int64
	Version        int32 // data changes
	Cversion       int32 // children created and deleted
	Aversion       int32 // ACL changes
	EphemeralOwner int64 // session id, 0 when it is not ephemeral
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // txn that last created or deleted a child
}

// ACL is one entry of an access control list.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// OpenACL lets everybody do everything; it is what Kafka uses by default.
var OpenACL = []ACL{{Perms: PermAll, Scheme: "world", ID: "anyone"}}

// Op is one write, or one check inside a multi. Its Kind is OpCreate, OpCreate2,
// OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL or OpCheck.
type Op struct {
	Kind      OpCode
	Path      string
	Data      []byte // create, setData; nil is null data, which differs from empty
	Version   int32  // delete, setData, setACL, check; AnyVersion matches all
	Flags     int32  // create
	ACL       []ACL  // create, setACL; nil stands for OpenACL
	TTLMillis int64  // createTTL
}

// Create is an Op that creates a znode with an open ACL.
func Create(path string, data []byte, flags int32) Op {
	return Op{Kind: OpCreate, Path: path, Data: data, Flags: flags}
}

// Set is an Op that sets data if the version matches.
func Set(path string, data []byte, version int32) Op {
	return Op{Kind: OpSetData, Path: path, Data: data, Version: version}
}

// Delete is an Op that deletes a childless znode if the version matches.
func Delete(path string, version int32) Op {
	return Op{Kind: OpDelete, Path: path, Version: version}
}

// Check is an Op that demands a version and changes nothing.
func Check(path string, version int32) Op {
	return Op{Kind: OpCheck, Path: path, Version: version}
}

// OpResult is the outcome of one Op. Path is the created path with its sequence
// suffix; Stat is that of a created or changed znode.
type OpResult struct {
	Code Code
	Path string
	Stat Stat
}

// Event tells a Watcher of one change. Zxid is the txn that made it.
type Event struct {
	Type EventType
	Path string
	Zxid int64
}

// Znode is one entry for Load.
type Znode struct {
	Path    string
	Data    []byte // nil is null data
	Owner   int64  // session that owns it; 0 for a persistent znode
	Version int32
	Czxid   int64 // 0: the zxid of the load
	ACL     []ACL // nil: OpenACL
}

// TxnKind says who made a txn.
type TxnKind uint8

// The kinds of txn.
const (
	TxnRequest       TxnKind = iota + 1 // a client's write, or a refused one
	TxnCreateSession                    // a new session
	TxnCloseSession                     // a session closed by its client
	TxnExpireSession                    // a session that ended by silence or by Expire
	TxnSweep                            // the server removed a container or TTL znode
	TxnLoad                             // Load
)

var txnKindNames = [...]string{"", "request", "createSession", "closeSession", "expireSession", "sweep", "load"}

// String is a short name of the kind.
func (k TxnKind) String() string {
	if int(k) < len(txnKindNames) {
		return txnKindNames[k]
	}
	return "txn"
}

// Txn is one committed or refused txn as OnTxn sees it.
type Txn struct {
	Zxid    int64
	At      time.Time
	Kind    TxnKind
	Session int64 // who asked, or the session concerned; 0 is the server itself
	Op      OpCode
	Code    Code       // OK, or why it was refused
	Ops     []Op       // as asked
	Results []OpResult // one for each of Ops
	Changes []Change   // what was done, in order; none when refused
}

// Change is what a txn did to one znode. Before is nil for a created znode,
// After for a deleted one.
type Change struct {
	Path          string
	Before, After *Value
}

// Value is a znode's content at one moment.
type Value struct {
	Data []byte
	Stat Stat
}
