package zkserver

import "strconv"

// Code is a result code as ZooKeeper's protocol numbers it. Zero is success.
type Code int32

// The codes that this server sends; ConnectionLoss is only answered in process,
// where an Intercept hook takes the reply away.
const (
	OK                   Code = 0
	SystemError          Code = -1 // the txn could not be logged; nothing was applied
	RuntimeInconsistency Code = -2 // entries of a multi after the failed one
	ConnectionLoss       Code = -4
	MarshallingError     Code = -5
	Unimplemented        Code = -6
	BadArguments         Code = -8
	NoNode               Code = -101
	NoAuth               Code = -102
	BadVersion           Code = -103
	NoChildrenEphemerals Code = -108
	NodeExists           Code = -110
	NotEmpty             Code = -111
	SessionExpired       Code = -112
	InvalidACL           Code = -114
	AuthFailed           Code = -115
	NoWatcher            Code = -121
	ReconfigDisabled     Code = -123
	QuotaExceeded        Code = -125
)

var codeNames = map[Code]string{
	OK: "ok", SystemError: "system error", RuntimeInconsistency: "runtime inconsistency",
	ConnectionLoss: "connection loss", MarshallingError: "marshalling error", Unimplemented: "unimplemented",
	BadArguments: "bad arguments", NoNode: "no node", NoAuth: "no auth", BadVersion: "bad version",
	NoChildrenEphemerals: "no children for ephemerals", NodeExists: "node exists", NotEmpty: "not empty",
	SessionExpired: "session expired", InvalidACL: "invalid ACL", AuthFailed: "auth failed",
	NoWatcher: "no watcher", ReconfigDisabled: "reconfig disabled", QuotaExceeded: "quota exceeded",
}

// String is the code's name, or its number when it has none here.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "code " + strconv.Itoa(int(c))
}

// Error makes a Code an error; compare with errors.Is(err, zkserver.NoNode).
func (c Code) Error() string { return "zookeeper: " + c.String() }

// OpCode is the operation number of a request.
type OpCode int32

// The operations of the protocol.
const (
	OpCreate          OpCode = 1
	OpDelete          OpCode = 2
	OpExists          OpCode = 3
	OpGetData         OpCode = 4
	OpSetData         OpCode = 5
	OpGetACL          OpCode = 6
	OpSetACL          OpCode = 7
	OpGetChildren     OpCode = 8
	OpSync            OpCode = 9
	OpPing            OpCode = 11
	OpGetChildren2    OpCode = 12
	OpCheck           OpCode = 13
	OpMulti           OpCode = 14
	OpCreate2         OpCode = 15
	OpReconfig        OpCode = 16
	OpCheckWatches    OpCode = 17
	OpRemoveWatches   OpCode = 18
	OpCreateContainer OpCode = 19
	OpCreateTTL       OpCode = 21
	OpMultiRead       OpCode = 22
	OpAuth            OpCode = 100
	OpSetWatches      OpCode = 101
	OpSASL            OpCode = 102
	OpGetEphemerals   OpCode = 103
	OpCountChildren   OpCode = 104 // getAllChildrenNumber
	OpSetWatches2     OpCode = 105
	OpAddWatch        OpCode = 106
	OpWhoAmI          OpCode = 107
	OpCloseSession    OpCode = -11
)

var opNames = map[OpCode]string{
	OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData", OpSetData: "setData",
	OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync", OpPing: "ping",
	OpGetChildren2: "getChildren2", OpCheck: "check", OpMulti: "multi", OpCreate2: "create2", OpReconfig: "reconfig",
	OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches", OpCreateContainer: "createContainer",
	OpCreateTTL: "createTTL", OpMultiRead: "multiRead", OpAuth: "auth", OpSetWatches: "setWatches", OpSASL: "sasl",
	OpGetEphemerals: "getEphemerals", OpCountChildren: "getAllChildrenNumber", OpSetWatches2: "setWatches2",
	OpAddWatch: "addWatch", OpWhoAmI: "whoAmI", OpCloseSession: "closeSession",
}

// String is ZooKeeper's name of the operation, or its number.
func (o OpCode) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return "op " + strconv.Itoa(int(o))
}

// costsZxid tells whether the operation takes a zxid, also when it is refused.
func (o OpCode) costsZxid() bool {
	switch o {
	case OpCreate, OpDelete, OpSetData, OpSetACL, OpCheck, OpMulti, OpCreate2, OpReconfig,
		OpCreateContainer, OpCreateTTL, OpCloseSession:
		return true
	}
	return false
}

// Create flags. TTL flags are for OpCreateTTL only.
const (
	Persistent          int32 = 0
	Ephemeral           int32 = 1
	Sequential          int32 = 2
	EphemeralSequential int32 = 3
	Container           int32 = 4
	PersistentTTL       int32 = 5
	SequentialTTL       int32 = 6
)

// AnyVersion matches every version.
const AnyVersion int32 = -1

// Permissions of an ACL entry.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// EventType says what happened to a watched znode.
type EventType int32

// The event types of the protocol.
const (
	NodeCreated         EventType = 1
	NodeDeleted         EventType = 2
	NodeDataChanged     EventType = 3
	NodeChildrenChanged EventType = 4
)

// String is ZooKeeper's name of the event type.
func (t EventType) String() string {
	switch t {
	case NodeCreated:
		return "NodeCreated"
	case NodeDeleted:
		return "NodeDeleted"
	case NodeDataChanged:
		return "NodeDataChanged"
	case NodeChildrenChanged:
		return "NodeChildrenChanged"
	}
	return "event " + strconv.Itoa(int(t))
}
