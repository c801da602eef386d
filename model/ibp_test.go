package model

import (
	"strings"
	"testing"
)

func TestParseInterBrokerProtocol(t *testing.T) {
	cases := map[string]InterBrokerProtocol{
		"3.9": IBP_3_9_IV0, "3.9-IV0": IBP_3_9_IV0, "3.9.1": IBP_3_9_IV0, "3.9-IV0.7": IBP_3_9_IV0, "2.8": IBP_2_8_IV1, "2.8-IV0": IBP_2_8_IV0, "2.8-IV1": IBP_2_8_IV1,
		"0.11.0": IBP_0_11_0_IV2, "0.11.0-IV2": IBP_0_11_0_IV2, "0.11.0.3": IBP_0_11_0_IV2, "0.10.2.1": IBP_0_10_2_IV0, "0.10.1": IBP_0_10_1_IV2,
		"0.8.0": IBP_0_8_0, "0.8.2.2": IBP_0_8_2, "0.9.0.1": IBP_0_9_0, "1.0.1": IBP_1_0_IV0, "1.1": IBP_1_1_IV0, "3.3": IBP_3_3_IV3, "3.7": IBP_3_7_IV4, "4.0": IBP_4_0_IV0,
	}
	for text, want := range cases {
		if got, err := ParseInterBrokerProtocol(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "3", "0.8", "0.11", "3.9-IV1", "3.9.", "3..", " 3.9", "3.10", "0.8.0-IV0", "9.9", "unset"} {
		got, err := ParseInterBrokerProtocol(text)
		if err == nil || got != NoIBP || !strings.Contains(err.Error(), "3.9-IV0") {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

func TestInterBrokerProtocolNames(t *testing.T) {
	all := InterBrokerProtocols()
	if len(all) != 56 || all[0] != IBP_0_8_0 || all[55] != IBP_4_0_IV0 || LatestIBP != IBP_3_9_IV0 {
		t.Fatalf("%d versions, %v to %v", len(all), all[0], all[len(all)-1])
	}
	for i, v := range all {
		if got, err := ParseInterBrokerProtocol(v.String()); err != nil || got != v {
			t.Errorf("%v is parsed as %v, %v", v, got, err)
		}
		if i > 0 && !v.AtLeast(all[i-1]) {
			t.Errorf("%v is not newer than %v", v, all[i-1])
		}
	}
	constants := map[InterBrokerProtocol]string{IBP_0_10_0_IV1: "0.10.0-IV1", IBP_2_2_IV0: "2.2-IV0", IBP_2_4_IV1: "2.4-IV1", IBP_2_7_IV2: "2.7-IV2",
		IBP_3_2_IV0: "3.2-IV0", IBP_3_4_IV0: "3.4-IV0", IBP_3_7_IV4: "3.7-IV4", NoIBP: "unset", InterBrokerProtocol(200): "unset"}
	for v, want := range constants {
		if v.String() != want {
			t.Errorf("version %d is %v, want %s", v, v, want)
		}
	}
}

// TestInterBrokerProtocolSteps lists for each property where it changes.
func TestInterBrokerProtocolSteps(t *testing.T) {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	cases := []struct {
		what string
		of   func(InterBrokerProtocol) int
		want string // version of each step, oldest first
	}{
		{"LeaderAndIsr", func(v InterBrokerProtocol) int { return int(v.LeaderAndIsrVersion()) },
			"0.8.0:0 1.0-IV0:1 2.2-IV0:2 2.4-IV0:3 2.4-IV1:4 2.8-IV1:5 3.2-IV0:6 3.4-IV0:7"},
		{"UpdateMetadata", func(v InterBrokerProtocol) int { return int(v.UpdateMetadataVersion()) },
			"0.8.0:0 0.9.0:1 0.10.0-IV1:2 0.10.2-IV0:3 1.0-IV0:4 2.2-IV0:5 2.4-IV1:6 2.8-IV1:7 3.4-IV0:8"},
		{"StopReplica", func(v InterBrokerProtocol) int { return int(v.StopReplicaVersion()) }, "0.8.0:0 2.2-IV0:1 2.4-IV1:2 2.6-IV0:3 3.4-IV0:4"},
		{"broker znode", func(v InterBrokerProtocol) int { return int(v.BrokerZnodeVersion()) }, "0.8.0:2 0.10.0-IV1:4 2.7-IV0:5"},
		{"feature znode", func(v InterBrokerProtocol) int { return int(v.FeatureZnodeVersion()) }, "0.8.0:1 3.3-IV0:2"},
		{"feature versioning", func(v InterBrokerProtocol) int { return flag(v.FeatureVersioning()) }, "0.8.0:0 2.7-IV0:1"},
		{"AlterPartition", func(v InterBrokerProtocol) int { return flag(v.AlterPartition()) }, "0.8.0:0 2.7-IV2:1"},
		{"topic ids", func(v InterBrokerProtocol) int { return flag(v.TopicIDs()) }, "0.8.0:0 2.8-IV0:1"},
		{"producer ids", func(v InterBrokerProtocol) int { return flag(v.AllocateProducerIDs()) }, "0.8.0:0 3.0-IV0:1"},
		{"leader recovery", func(v InterBrokerProtocol) int { return flag(v.LeaderRecovery()) }, "0.8.0:0 3.2-IV0:1"},
	}
	for _, c := range cases {
		var steps []string
		last := -1
		for _, v := range InterBrokerProtocols() {
			if n := c.of(v); n != last {
				steps = append(steps, v.String()+":"+itoa(int32(n)))
				last = n
			}
		}
		if got := strings.Join(steps, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
