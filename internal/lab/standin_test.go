package lab

import "testing"

func TestTheListenerThatAllBrokersShare(t *testing.T) {
	for _, c := range []struct {
		names map[int32][]string
		want  string
	}{
		{nil, "PLAINTEXT"},
		{map[int32][]string{1: {"CLIENT", "PLAINTEXT"}, 2: {"PLAINTEXT"}}, "PLAINTEXT"},
		{map[int32][]string{1: {"REPLICATION", "CLIENT"}, 2: {"CLIENT", "REPLICATION"}}, "CLIENT"},
		{map[int32][]string{1: {"A", "B"}, 2: {"B", "C"}}, "B"},
		{map[int32][]string{1: {"A", "A"}, 2: {"B"}}, "PLAINTEXT"},
	} {
		if got := sharedListener(c.names); got != c.want {
			t.Errorf("%v share %s, want %s", c.names, got, c.want)
		}
	}
}
