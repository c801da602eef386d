package zkserver

import "encoding/binary"

// decoder reads ZooKeeper's encoding. It never allocates more than what the
// bytes that are left can fill. After a short or malformed read bad is set and
// all values are zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// buffer copies a buffer out of the frame; null is nil, empty is not.
func (d *decoder) buffer() []byte {
	n := d.int32()
	if n == -1 {
		return nil
	}
	b := d.take(int(n))
	if d.bad {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// text reads a string; null reads as empty.
func (d *decoder) text() string {
	n := d.int32()
	if n == -1 {
		return ""
	}
	return string(d.take(int(n)))
}

// path reads a string that must not be null.
func (d *decoder) path() string {
	n := d.int32()
	return string(d.take(int(n))) // -1 is refused by take
}

// count reads the length of a vector whose elements have at least so many
// bytes; null counts as none.
func (d *decoder) count(smallest int) int {
	n := d.int32()
	if n == -1 {
		return 0
	}
	if n < 0 || int(n) > len(d.b)/smallest {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) texts() []string {
	n := d.count(4)
	out := make([]string, 0, n)
	for range n {
		out = append(out, d.path())
	}
	return out
}

// acl reads a list; null and empty are an empty list, which no znode may have.
func (d *decoder) acl() []ACL {
	n := d.count(12)
	out := make([]ACL, 0, n)
	for range n {
		out = append(out, ACL{Perms: d.int32(), Scheme: d.text(), ID: d.text()})
	}
	return out
}

func putInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func putInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func putBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func putText(b []byte, s string) []byte { return append(putInt32(b, int32(len(s))), s...) }

func putBuffer(b, data []byte) []byte {
	if data == nil {
		return putInt32(b, -1)
	}
	return append(putInt32(b, int32(len(data))), data...)
}

func putTexts(b []byte, list []string) []byte {
	b = putInt32(b, int32(len(list)))
	for _, s := range list {
		b = putText(b, s)
	}
	return b
}

func putACL(b []byte, list []ACL) []byte {
	b = putInt32(b, int32(len(list)))
	for _, a := range list {
		b = putText(putText(putInt32(b, a.Perms), a.Scheme), a.ID)
	}
	return b
}

func putStat(b []byte, s *Stat) []byte {
	b = putInt64(putInt64(putInt64(putInt64(b, s.Czxid), s.Mzxid), s.Ctime), s.Mtime)
	b = putInt32(putInt32(putInt32(b, s.Version), s.Cversion), s.Aversion)
	b = putInt64(b, s.EphemeralOwner)
	b = putInt32(putInt32(b, s.DataLength), s.NumChildren)
	return putInt64(b, s.Pzxid)
}

func putReplyHeader(b []byte, xid int32, zxid int64, code Code) []byte {
	return putInt32(putInt64(putInt32(b, xid), zxid), int32(code))
}

func putMultiHeader(b []byte, op OpCode, done bool, code Code) []byte {
	return putInt32(putBool(putInt32(b, int32(op)), done), int32(code))
}
