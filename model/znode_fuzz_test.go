package model

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// fuzzDecoder feeds a decoder anything: no panic, and each error is a
// DecodeError that names the path and has a category of the list.
func fuzzDecoder(f *testing.F, decode func(path string, data []byte) error, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, s := range []string{"", "null", "{}", "[]", "x", `{"version":1,`, "\xff\xfe{\x00}\x00", "\x00\x00lost"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const path = "/chroot/some/znode"
		for _, data := range [][]byte{data, nil} {
			err := decode(path, data)
			if err == nil {
				continue
			}
			var bad *DecodeError
			if !errors.As(err, &bad) {
				t.Fatalf("%q: %v is no DecodeError", data, err)
			}
			if bad.Path != path || !strings.Contains(err.Error(), path) || !slices.Contains(DecodeCategories, bad.Category) {
				t.Fatalf("%q: %v, category %q, path %q", data, err, bad.Category, bad.Path)
			}
			if text := err.Error(); len(text) > 1600 {
				t.Fatalf("%q: the message has %d bytes", data, len(text))
			}
		}
	})
}

func FuzzDecodeController(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error {
		broker, present, err := DecodeController(path, data)
		reg, regErr := DecodeControllerRegistration(path, data)
		if regErr == nil && (err != nil || !present || reg.Broker != broker) {
			return errors.New("the two readers differ")
		}
		return err
	}, `{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}`)
}

func FuzzDecodeControllerEpoch(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error { _, err := DecodeControllerEpoch(path, data); return err }, "12", "-1", "+7", "٣")
}

func FuzzDecodeBroker(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error { _, err := DecodeBroker(path, data); return err },
		`{"version":5,"host":null,"port":-1,"endpoints":["IN://h:1","OUT://[::1]:2"],"jmx_port":-1,"timestamp":"1","features":{"f":{"min_version":1,"max_version":2}},"listener_security_protocol_map":{"IN":"SASL_SSL","OUT":"SSL"}}`,
		`{"version":1,"host":"h","port":1,"jmx_port":-1,"timestamp":"1"}`)
}

func FuzzDecodeTopic(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error {
		scanned, present, err := DecodeTopic(path, data)
		tree, treePresent, treeErr := decodeTopic(path, data)
		if present != treePresent || (err == nil) != (treeErr == nil) || string(EncodeTopic(scanned)) != string(EncodeTopic(tree)) {
			return errors.New("scan and tree differ")
		}
		return err
	}, `{"partitions":{"0":[4,5],"1":[1,2]},"topic_id":"rtBgFbOnTTKPZhpq2GdxWg","adding_replicas":{"0":[4]},"removing_replicas":{"1":[2]},"version":3}`)
}

func FuzzDecodePartitionState(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error {
		l, present, err := DecodePartitionState(path, data)
		tree, treePresent, treeErr := decodePartitionState(path, data)
		if present != treePresent || (err == nil) != (treeErr == nil) || !l.Equal(tree.LeaderAndIsr) || l.ControllerEpoch != tree.ControllerEpoch {
			return errors.New("scan and tree differ")
		}
		return err
	}, `{"controller_epoch":10,"leader":1,"version":1,"leader_recovery_state":1,"leader_epoch":6,"isr":[1,2]}`)
}

func FuzzDecodePartitionLists(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error {
		_, isr := DecodeIsrChange(path, data)
		_, err := DecodePreferredReplicaElection(path, data)
		if (isr == nil) != (err == nil) {
			return errors.New("the two readers differ")
		}
		return err
	}, `{"version":1,"partitions":[{"topic":"a","partition":0}]}`)
}

func FuzzDecodeLogDirEvent(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error { _, _, err := DecodeLogDirEvent(path, data); return err }, `{"version":1,"broker":3,"event":1}`)
}

func FuzzDecodeReassignPartitions(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error { _, err := DecodeReassignPartitions(path, data); return err },
		`{"version":1,"partitions":[{"topic":"foo","partition":"0","replicas":[1,null]}]}`)
}

func FuzzDecodeConfig(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error { _, err := DecodeConfig(path, data); return err }, `{"version":1,"config":{"a":"b"}}`)
}

func FuzzDecodeConfigChange(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error { _, _, err := DecodeConfigChange(path, data); return err },
		`{"version":1,"entity_type":"topics","entity_name":"t"}`, `{"version":2,"entity_path":"topics/t"}`)
}

func FuzzDecodeClusterZnodes(f *testing.F) {
	fuzzDecoder(f, func(path string, data []byte) error {
		_, idErr := DecodeClusterID(path, data)
		_, blockErr := DecodeProducerIDBlock(path, data)
		_, featureErr := DecodeFeatures(path, data)
		_, migrationErr := DecodeMigration(path, data)
		for _, err := range []error{idErr, blockErr, featureErr} {
			var bad *DecodeError
			if err != nil && !errors.As(err, &bad) {
				return err
			}
		}
		return migrationErr
	}, `{"version":"1","id":"abc"}`, `{"version":1,"broker":3,"block_start":"1000","block_end":"1999"}`,
		`{"features":{"f":{"max_version_level":2,"min_version_level":1}},"version":1,"status":1}`,
		`{"version":0,"kraft_controller_id":3000,"kraft_controller_epoch":4,"kraft_metadata_offset":12345678901,"kraft_metadata_epoch":2}`)
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"", "/", "//", "/brokers/topics/t/partitions/0/state", "/config/users/u/clients/c", "/isr_change_notification/isr_change_0000000001", "/brokers/ids/-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if back, known := pathOf(ParsePath(path)); known && back != path {
			t.Fatalf("%q is %+v, which lies at %q", path, ParsePath(path), back)
		}
		if rest, ok := StripChroot("/a/b", JoinChroot("/a/b", path)); path != "" && path[0] == '/' && (!ok || rest != path) {
			t.Fatalf("%q comes back as %q, %v", path, rest, ok)
		}
	})
}
