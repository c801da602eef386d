package broker

import "kstate/model"

// served lists the requests that a broker takes, with the highest version by
// release, oldest first; what is not here closes the connection, as a real
// broker does with a request that it does not know.
var served = map[int16][]struct {
	since model.InterBrokerProtocol
	max   int16
}{
	keyMetadata:                    {{model.IBP_0_8_0, 1}, {model.IBP_0_10_1_IV0, 2}, {model.IBP_0_10_2_IV0, 3}, {model.IBP_0_11_0_IV0, 4}, {model.IBP_1_0_IV0, 5}, {model.IBP_2_0_IV0, 6}, {model.IBP_2_1_IV0, 7}, {model.IBP_2_3_IV0, 8}, {model.IBP_2_4_IV0, 9}, {model.IBP_2_8_IV0, 11}, {model.IBP_3_1_IV0, 12}},
	keyLeaderAndISR:                {{model.IBP_0_8_0, 0}, {model.IBP_1_0_IV0, 1}, {model.IBP_2_2_IV0, 2}, {model.IBP_2_4_IV0, 4}, {model.IBP_2_8_IV0, 5}, {model.IBP_3_2_IV0, 6}, {model.IBP_3_4_IV0, 7}},
	keyStopReplica:                 {{model.IBP_0_8_0, 0}, {model.IBP_2_2_IV0, 1}, {model.IBP_2_4_IV0, 2}, {model.IBP_2_6_IV0, 3}, {model.IBP_3_4_IV0, 4}},
	keyUpdateMetadata:              {{model.IBP_0_8_0, 2}, {model.IBP_0_10_2_IV0, 3}, {model.IBP_1_0_IV0, 4}, {model.IBP_2_2_IV0, 5}, {model.IBP_2_4_IV0, 6}, {model.IBP_2_8_IV0, 7}, {model.IBP_3_4_IV0, 8}},
	keyControlledShutdown:          {{model.IBP_0_8_0, 1}, {model.IBP_2_2_IV0, 2}, {model.IBP_2_4_IV0, 3}},
	keyApiVersions:                 {{model.IBP_0_8_0, 0}, {model.IBP_0_11_0_IV0, 1}, {model.IBP_2_0_IV0, 2}, {model.IBP_2_4_IV0, 3}, {model.IBP_3_9_IV0, 4}},
	keyCreateTopics:                {{model.IBP_0_10_1_IV0, 1}, {model.IBP_0_11_0_IV0, 2}, {model.IBP_2_0_IV0, 3}, {model.IBP_2_4_IV0, 5}, {model.IBP_2_7_IV0, 6}, {model.IBP_2_8_IV0, 7}},
	keyDeleteTopics:                {{model.IBP_0_10_1_IV0, 1}, {model.IBP_2_0_IV0, 2}, {model.IBP_2_1_IV0, 3}, {model.IBP_2_4_IV0, 4}, {model.IBP_2_7_IV0, 5}, {model.IBP_2_8_IV0, 6}},
	keyCreatePartitions:            {{model.IBP_1_0_IV0, 0}, {model.IBP_2_0_IV0, 1}, {model.IBP_2_5_IV0, 2}, {model.IBP_2_7_IV0, 3}},
	keyElectLeaders:                {{model.IBP_2_2_IV0, 0}, {model.IBP_2_4_IV0, 2}},
	keyAlterPartitionReassignments: {{model.IBP_2_4_IV0, 0}},
	keyListPartitionReassignments:  {{model.IBP_2_4_IV0, 0}},
	keyAlterUserScramCredentials:   {{model.IBP_2_7_IV0, 0}},
	keyAlterPartition:              {{model.IBP_2_7_IV0, 0}, {model.IBP_3_2_IV0, 1}, {model.IBP_3_3_IV0, 2}, {model.IBP_3_5_IV0, 3}},
	keyUpdateFeatures:              {{model.IBP_2_7_IV0, 0}, {model.IBP_3_3_IV0, 1}},
	keyDescribeCluster:             {{model.IBP_2_8_IV0, 0}, {model.IBP_3_7_IV0, 1}},
	keyAllocateProducerIDs:         {{model.IBP_3_0_IV0, 0}},
}

// maxVersion is the highest version of a request that a release takes; false if
// it takes none.
func maxVersion(release model.InterBrokerProtocol, key int16) (int16, bool) {
	best, ok := int16(0), false
	for _, v := range served[key] {
		if release.AtLeast(v.since) {
			best, ok = v.max, true
		}
	}
	return best, ok
}
