package model

import "fmt"

// Code is a ZooKeeper result code.
type Code int32

const (
	CodeOK                      Code = 0
	CodeRuntimeInconsistency    Code = -2
	CodeConnectionLoss          Code = -4
	CodeMarshallingError        Code = -5
	CodeUnimplemented           Code = -6
	CodeBadArguments            Code = -8
	CodeNoNode                  Code = -101
	CodeNoAuth                  Code = -102
	CodeBadVersion              Code = -103
	CodeNoChildrenForEphemerals Code = -108
	CodeNodeExists              Code = -110
	CodeNotEmpty                Code = -111
	CodeSessionExpired          Code = -112
	CodeInvalidACL              Code = -114
	CodeAuthFailed              Code = -115
	CodeSessionMoved            Code = -118
	CodeQuotaExceeded           Code = -125
	// CodeReadOnlyMode is kstate's own: the write gate is closed.
	CodeReadOnlyMode Code = -1001
)

var codeNames = map[Code]string{
	CodeOK: "OK", CodeRuntimeInconsistency: "RUNTIMEINCONSISTENCY", CodeConnectionLoss: "CONNECTIONLOSS",
	CodeMarshallingError: "MARSHALLINGERROR", CodeUnimplemented: "UNIMPLEMENTED", CodeBadArguments: "BADARGUMENTS",
	CodeNoNode: "NONODE", CodeNoAuth: "NOAUTH", CodeBadVersion: "BADVERSION",
	CodeNoChildrenForEphemerals: "NOCHILDRENFOREPHEMERALS", CodeNodeExists: "NODEEXISTS", CodeNotEmpty: "NOTEMPTY",
	CodeSessionExpired: "SESSIONEXPIRED", CodeInvalidACL: "INVALIDACL", CodeAuthFailed: "AUTHFAILED",
	CodeSessionMoved: "SESSIONMOVED", CodeQuotaExceeded: "QUOTAEXCEEDED", CodeReadOnlyMode: "READONLYMODE",
}

// String is ZooKeeper's name of the code.
func (c Code) String() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return fmt.Sprintf("CODE(%d)", int32(c))
}

// ParseCode finds a code by its name.
func ParseCode(name string) (Code, error) {
	for c, n := range codeNames {
		if n == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%q is not a ZooKeeper result code", name)
}

// Stat is what ZooKeeper knows of a znode beside its data.
type Stat struct {
	Czxid, Mzxid, Pzxid         int64
	Ctime, Mtime                int64 // ms since 1970
	Version, CVersion, AVersion int32
	EphemeralOwner              int64
	NumChildren                 int32
}

// AnyVersion in a write matches every data version.
const AnyVersion int32 = -1

// OpKind says what one operation on a znode does.
type OpKind uint8

const (
	OpGet OpKind = iota
	OpExists
	OpChildren
	OpCreate
	OpSet
	OpDelete
	OpCheck // inside a transaction: the znode must have that version
)

var opNames = [...]string{"get", "exists", "children", "create", "set", "delete", "check"}

// String is the lower-case verb.
func (k OpKind) String() string { return opNames[k] }

// Writes: create, set, delete.
func (k OpKind) Writes() bool { return k >= OpCreate && k <= OpDelete }

// Op is one operation on one znode. Data nil means null data. Version is the
// expected data version of set, delete and check. Watch: a read arms a one-shot watch.
type Op struct {
	Kind       OpKind
	Ephemeral  bool
	Sequential bool // the server appends a number to Path, which grows with each
	Watch      bool
	Version    int32
	Path       string
	Data       []byte
}

// OpResult answers one Op. Code is the result of the operation itself; Check is
// that of the fence (the check of /controller_epoch), CodeOK when there was none
// or it held.
type OpResult struct {
	Code     Code
	Check    Code
	Data     []byte
	Stat     Stat
	Children []string // sorted
}

// WatchKind is what a fired watch tells.
type WatchKind uint8

const (
	NodeCreated WatchKind = iota + 1
	NodeDeleted
	NodeDataChanged
	NodeChildrenChanged
)

var watchNames = [...]string{"", "NodeCreated", "NodeDeleted", "NodeDataChanged", "NodeChildrenChanged"}

// String is ZooKeeper's name of the event type.
func (k WatchKind) String() string { return watchNames[k] }
