package model

import "math"

// EncodePartitionState writes a state znode; version 1 in all releases. The
// partition epoch is not part of it: it is the znode's data version.
// Kafka: TopicPartitionStateZNode.encode.
func EncodePartitionState(l LeaderIsrAndControllerEpoch) []byte {
	w := jsonWriter{b: make([]byte, 0, 96+4*len(l.ISR))}
	w.open('{').int("controller_epoch", int64(l.ControllerEpoch)).int("leader", int64(l.Leader)).int("version", 1)
	if l.Recovery != Recovered {
		w.int("leader_recovery_state", int64(l.Recovery))
	}
	return w.int("leader_epoch", int64(l.LeaderEpoch)).ints("isr", l.ISR).close('}').b
}

// DecodePartitionState reads a state znode. Bad JSON reads as no leadership:
// present is false. The caller sets PartitionEpoch from the znode's data version.
// Kafka: TopicPartitionStateZNode.decode.
func DecodePartitionState(path string, data []byte) (l LeaderIsrAndControllerEpoch, present bool, err error) {
	if scanPartitionState(data, &l) {
		return l, true, nil
	}
	return decodePartitionState(path, data)
}

func decodePartitionState(path string, data []byte) (LeaderIsrAndControllerEpoch, bool, error) {
	var l LeaderIsrAndControllerEpoch
	root, ok, bad := readLenientJSON(path, data)
	if bad != nil {
		return l, false, bad
	}
	if !ok {
		return l, false, nil
	}
	r := newFieldReader(path, &root)
	l.Leader, l.LeaderEpoch, l.ISR = r.int32("leader"), r.int32("leader_epoch"), r.int32s("isr")
	if n := r.obj.get("leader_recovery_state"); n != nil {
		l.Recovery = RecoveryState(r.asInt32("leader_recovery_state", n)) // the low byte, as Kafka takes it
		if l.Recovery != Recovered && l.Recovery != Recovering {
			r.fail("leader_recovery_state", n.raw, InvalidValue, "it is neither 0 (recovered) nor 1 (recovering)")
		}
	}
	l.ControllerEpoch = r.int32("controller_epoch")
	if r.err != nil {
		return LeaderIsrAndControllerEpoch{}, false, r.err
	}
	return l, true, nil
}

// scanPartitionState reads the text that Kafka itself writes, key order free,
// without building a tree. It is false, and says nothing, for any other text:
// decodePartitionState then decides. On success both give the same.
func scanPartitionState(data []byte, l *LeaderIsrAndControllerEpoch) bool {
	const needed = 1 | 2 | 4 | 8
	s := byteScanner{data: data}
	seen := 0
	for sep := byte('{'); s.lit(sep); sep = ',' {
		var field int
		var target *int32
		var unread int32
		switch string(s.plainString()) {
		case "leader":
			field, target = 1, &l.Leader
		case "leader_epoch":
			field, target = 2, &l.LeaderEpoch
		case "controller_epoch":
			field, target = 4, &l.ControllerEpoch
		case "isr":
			field = 8
		case "version":
			field, target = 16, &unread
		case "leader_recovery_state":
			field, target = 32, &unread
		default:
			return false
		}
		if seen&field != 0 || !s.lit(':') {
			return false
		}
		seen |= field
		if target != nil {
			*target = s.int32()
		} else {
			l.ISR = s.int32s(nil)
		}
		if field == 32 {
			if unread != 0 && unread != 1 {
				return false
			}
			l.Recovery = RecoveryState(unread)
		}
	}
	if s.lit('}') && seen&needed == needed && !s.bad {
		return true
	}
	*l = LeaderIsrAndControllerEpoch{}
	return false
}

// byteScanner reads compact JSON of the plainest kind. Anything else sets bad;
// then the results mean nothing.
type byteScanner struct {
	data []byte
	i    int
	bad  bool
}

// lit passes over c; false when something else comes.
func (s *byteScanner) lit(c byte) bool {
	if s.i < len(s.data) && s.data[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *byteScanner) want(c byte) {
	if !s.lit(c) {
		s.bad = true
	}
}

// plainString is a string of printable ASCII without escapes.
func (s *byteScanner) plainString() []byte {
	s.want('"')
	start := s.i
	for s.i < len(s.data) {
		switch c := s.data[s.i]; {
		case c == '"':
			s.i++
			return s.data[start : s.i-1]
		case c < ' ' || c == '\\' || c >= 0x7f:
			s.bad = true
			return nil
		}
		s.i++
	}
	s.bad = true
	return nil
}

func (s *byteScanner) int32() int32 {
	negative := s.lit('-')
	start, n := s.i, int64(0)
	for s.i < len(s.data) && s.i-start < 11 {
		c := s.data[s.i] - '0'
		if c > 9 {
			break
		}
		n = n*10 + int64(c)
		s.i++
	}
	digits := s.i - start
	if digits == 0 || digits > 1 && s.data[start] == '0' {
		s.bad = true
	}
	if negative {
		n = -n
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		s.bad = true
	}
	return int32(n)
}

// int32s appends an array of ints.
func (s *byteScanner) int32s(out []int32) []int32 {
	s.want('[')
	if s.lit(']') {
		return out
	}
	if out == nil {
		out = make([]int32, 0, 4)
	}
	for !s.bad {
		out = append(out, s.int32())
		if s.lit(']') {
			return out
		}
		s.want(',')
	}
	return out
}
