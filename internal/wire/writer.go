package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"kstate/model"
)

// writer appends Kafka's wire types to a buffer. In flexible versions strings
// and arrays have a varint length of one more than their size, and every
// structure ends with its tagged fields, of which a controller writes none.
type writer struct {
	b        []byte
	flexible bool
	err      error
}

func (w *writer) int8(v int8)   { w.b = append(w.b, byte(v)) }
func (w *writer) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *writer) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

func (w *writer) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *writer) uuid(u model.Uuid) { w.b = append(w.b, u[:]...) }

func (w *writer) string(s string) {
	switch {
	case len(s) > math.MaxInt16:
		w.fail(fmt.Errorf("a string of %d bytes is too long for Kafka's protocol, which takes %d", len(s), math.MaxInt16))
	case w.flexible:
		w.b = binary.AppendUvarint(w.b, uint64(len(s))+1)
	default:
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

// nullableString writes null for the empty string.
func (w *writer) nullableString(s string) {
	switch {
	case s != "":
		w.string(s)
	case w.flexible:
		w.b = append(w.b, 0)
	default:
		w.int16(-1)
	}
}

func (w *writer) arrayLen(n int) {
	if w.flexible {
		w.b = binary.AppendUvarint(w.b, uint64(n)+1)
	} else {
		w.int32(int32(n))
	}
}

func (w *writer) ids(ids []int32) {
	w.arrayLen(len(ids))
	for _, id := range ids {
		w.int32(id)
	}
}

// endStruct closes a structure.
func (w *writer) endStruct() {
	if w.flexible {
		w.b = append(w.b, 0)
	}
}

// fail keeps the first error.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
