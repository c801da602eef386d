package zkwatch

import (
	"encoding/binary"
	"fmt"
	"slices"

	"kstate/model"
)

// The operation codes of ZooKeeper's protocol that are named here.
const (
	opCreate       int32 = 1
	opDelete       int32 = 2
	opExists       int32 = 3
	opGetData      int32 = 4
	opSetData      int32 = 5
	opGetACL       int32 = 6
	opGetChildren  int32 = 8
	opSync         int32 = 9
	opPing         int32 = 11
	opGetChildren2 int32 = 12
	opCheck        int32 = 13
	opMulti        int32 = 14
	opCheckWatches int32 = 17
	opRemoveWatch  int32 = 18
	opMultiRead    int32 = 22
	opAuth         int32 = 100
	opSetWatches   int32 = 101
	opEphemerals   int32 = 103
	opCountAll     int32 = 104
	opSetWatches2  int32 = 105
	opAddWatch     int32 = 106
	opWhoAmI       int32 = 107
	opClose        int32 = -11
	opError        int32 = -1 // an entry of a multi that failed
)

// Reserved xids, and the first of those that the wrapper takes for itself.
const (
	xidEvent    int32 = -1
	xidPing     int32 = -2
	privateXids int32 = -1000
)

// recursiveMode is addWatch's mode for a watch that stays and covers the subtree.
const recursiveMode int32 = 1

// statSize is the length of an encoded Stat.
const statSize = 68

// The flags of a create that are used.
const (
	flagEphemeral  int32 = 1
	flagSequential int32 = 2
)

// encoder appends a frame's fields; its first four bytes are the length.
type encoder struct{ b []byte }

func newFrame(xid, op int32) *encoder {
	e := &encoder{b: make([]byte, 4, 64)}
	e.int32(xid)
	e.int32(op)
	return e
}

func (e *encoder) int32(v int32)  { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *encoder) int64(v int64)  { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }
func (e *encoder) str(s string)   { e.int32(int32(len(s))); e.b = append(e.b, s...) }
func (e *encoder) bytes(p []byte) { e.int32(int32(len(p))); e.b = append(e.b, p...) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) strs(list []string) {
	e.int32(int32(len(list)))
	for _, s := range list {
		e.str(s)
	}
}

// multiHeader is what stands before each op of a multi; op -1 with done ends it.
func (e *encoder) multiHeader(op int32, done bool) {
	e.int32(op)
	e.bool(done)
	e.int32(-1)
}

// frame is the whole frame, its length filled in.
func (e *encoder) frame() []byte {
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	return e.b
}

// decoder takes fields off a body. After the first field that does not fit, err
// is set and every field is zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.b = nil
}

func (d *decoder) take(n int, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.b) {
		d.fail("%s of %d bytes where %d are left", what, n, len(d.b))
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) int32() int32 {
	if p := d.take(4, "an int"); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if p := d.take(8, "a long"); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

func (d *decoder) bool() bool {
	p := d.take(1, "a boolean")
	return p != nil && p[0] != 0
}

// buffer is a slice of the frame, nil for null data. Empty data is not nil.
func (d *decoder) buffer() []byte {
	n := d.int32()
	if n == -1 || d.err != nil {
		return nil
	}
	return d.take(int(n), "a buffer")
}

// raw is a string as a slice of the frame. A null string is an error.
func (d *decoder) raw() []byte {
	n := d.int32()
	if d.err != nil {
		return nil
	}
	if n == -1 {
		d.fail("a null string")
		return nil
	}
	return d.take(int(n), "a string")
}

func (d *decoder) str() string { return string(d.raw()) }

// count is the length of a vector whose elements take at least size bytes.
func (d *decoder) count(size int) int {
	n := d.int32()
	switch {
	case d.err != nil:
		return 0
	case n == -1:
		d.fail("a null vector")
		return 0
	case n < 0 || int(n) > len(d.b)/size:
		d.fail("a vector of %d elements where %d bytes are left", n, len(d.b))
		return 0
	}
	return int(n)
}

// strs is a vector of strings, sorted.
func (d *decoder) strs() []string {
	out := make([]string, 0, d.count(4))
	for range cap(out) {
		out = append(out, d.str())
	}
	if d.err != nil {
		return nil
	}
	slices.Sort(out)
	return out
}

func (d *decoder) skipStrs() {
	for range d.count(4) {
		d.raw()
	}
}

// stat is a Stat and the length of the data that it tells of.
func (d *decoder) stat() (st model.Stat, dataLength int32) {
	p := decoder{b: d.take(statSize, "a Stat")}
	if d.err != nil {
		return st, 0
	}
	st.Czxid, st.Mzxid, st.Ctime, st.Mtime = p.int64(), p.int64(), p.int64(), p.int64()
	st.Version, st.CVersion, st.AVersion = p.int32(), p.int32(), p.int32()
	st.EphemeralOwner, dataLength, st.NumChildren, st.Pzxid = p.int64(), p.int32(), p.int32(), p.int64()
	return st, dataLength
}

// replyHeader stands before every frame of the server but the first.
type replyHeader struct {
	xid  int32
	zxid int64
	code model.Code
}

// replyHeaderSize is also the least size of a frame: go-zookeeper panics below it.
const replyHeaderSize = 16

func (d *decoder) header() replyHeader {
	return replyHeader{xid: d.int32(), zxid: d.int64(), code: model.Code(d.int32())}
}
