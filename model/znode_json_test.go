package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestJacksonJSON holds what Jackson 2.16 (in Kafka 3.9.1) makes of texts at the
// edge of JSON; each line was seen in a run of it. A want of "" is: no JSON.
func TestJacksonJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	nines := func(n int) string { return strings.Repeat("9", n) }
	cases := []struct{ text, want string }{
		{``, "nothing"}, {" \t\r\n", "nothing"}, {`null`, "null"}, {`true`, "a boolean"}, {`nullx`, ""}, {`true1`, ""}, {`null,`, "null"}, {`nul`, ""},
		{`1`, "an int"}, {`-0`, "an int"}, {`01`, ""}, {`+1`, ""}, {`-`, ""}, {`.5`, ""}, {`1.`, ""}, {`1e`, ""}, {`0x1`, ""}, {`1_0`, ""},
		{`2147483647`, "an int"}, {`2147483648`, "a number beyond 32 bits"}, {`-2147483648`, "an int"}, {`-2147483649`, "a number beyond 32 bits"},
		{`9223372036854775807`, "a number beyond 32 bits"}, {`9223372036854775808`, "a number beyond 64 bits"},
		{`1.0`, "a number with fraction or exponent"}, {`1E400`, "a number with fraction or exponent"}, {`1e-2`, "a number with fraction or exponent"},
		{`1 x`, "an int"}, {`1x`, ""}, {`1,`, ""}, {"1\v", ""}, {`NaN`, ""}, {`Infinity`, ""}, {`-Infinity`, ""},
		{`{} junk`, "an object"}, {`[]]`, "an array"}, {`]`, ""}, {`{"a":1,}`, ""}, {`[1,]`, ""}, {`[,1]`, ""}, {`{a:1}`, ""}, {`{'a':1}`, ""}, {`{"a" 1}`, ""},
		{`{"a":1`, ""}, {`[1`, ""}, {`{"a"`, ""}, {`/*c*/1`, ""}, {`#c`, ""}, {"\u00a01", ""},
		{`"é\u00e9\/\n"`, "a string"}, {`"\x"`, ""}, {`"\u00g0"`, ""}, {"\"\x01\"", ""}, {"\"\x7f\"", "a string"}, {`"a`, ""}, {`"\`, ""},
		{"\"\xc0\x80\"", "a string"}, {"\"\xed\xa0\x80\"", "a string"}, {`"\ud83d"`, "a string"}, {"\"\xff\"", ""}, {"\"\xe9\"", ""}, {"\"\xe9", ""},
		{deep(1000), "an array"}, {deep(1001), ""}, {nines(1000), "a number beyond 64 bits"}, {nines(1001), ""},
		{"1." + nines(999), "a number with fraction or exponent"}, {"1." + nines(1000), ""},
		{"\ufeff{}", "an object"}, {"\xfe\xff\x00{\x00}", "an object"}, {"\xff\xfe{\x00}\x00", "an object"}, {"\x00{\x00}", "an object"}, {"{\x00}\x00", "an object"},
		{"\x00\x00\xfe\xff\x00\x00\x00[\x00\x00\x00]", "an array"}, {"\xff\xfe\x00\x00[\x00\x00\x00]\x00\x00\x00", "an array"}, {"\x00\x00\x00[\x00\x00\x00]", "an array"},
		{"[\x00\x00\x00]\x00\x00\x00", "an array"}, {"\x00\x00lost", ""}, {"[\x00\x00\x00]\x00", ""}, {"\x00\x00\xff\xfe", ""}, {"\x00\x00[\x00", ""},
		{"[\x00\x00\x00]\x00\xff\x00", ""},
	}
	for _, c := range cases {
		n, err := parseJSON([]byte(c.text))
		got := n.kind.String()
		if err != nil {
			got = ""
		}
		if got != c.want {
			t.Errorf("%.40q is %q (%v), want %q", c.text, got, err, c.want)
		}
	}
}

func TestJSONStringsAndKeys(t *testing.T) {
	var many strings.Builder
	for i := range 40 { // more keys than a scan by eye looks through, twice
		fmt.Fprintf(&many, `"k%d":%d,"k%d":%d,`, i, i, i, i+100)
	}
	cases := []struct{ text, key, want string }{
		{`{"a":"x\"\\\/\b\f\n\r\tA"}`, "a", "x\"\\/\b\f\n\r\tA"},
		{`{"a":"\ud83d\ude00"}`, "a", "😀"},
		{"{\"a\":\"\xed\xa0\xbd\xed\xb8\x80\"}", "a", "😀"},
		{`{"a":"\ud83dx"}`, "a", "?x"},
		{`{"a":"\ude00"}`, "a", "?"},
		{"{\"a\":\"\xc1\x81\"}", "a", "A"},
		{`{"a":"1","A":"2"}`, "a", "1"},
		{`{"\u0061":"1"}`, "a", "1"},
		{`{"a":"1","a":"2"}`, "a", "2"},
		{"{" + many.String() + `"a":"x"}`, "a", "x"},
		{"\x00{\x00\"\x00a\x00\"\x00:\x00\"\xd8\x3d\xde\x00\x00\"\x00}", "a", "😀"},
	}
	for _, c := range cases {
		n, err := parseJSON([]byte(c.text))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if v := n.get(c.key); v == nil || v.text != c.want {
			t.Errorf("%q: field %s is %+v, want %q", c.text, c.key, v, c.want)
		}
	}
	n, err := parseJSON([]byte("{" + many.String() + `"k0":7}`))
	if err != nil || len(n.keys) != 40 || n.get("k0").num != 7 || n.get("k39").num != 139 {
		t.Errorf("%d keys, %v, k0 %v, k39 %v", len(n.keys), err, n.get("k0"), n.get("k39"))
	}
}

// TestDecodeAsKafka holds readings that the table of layouts leaves open; each
// was seen in a run of Kafka 3.9.1. A want that begins with ! is an error
// category; !! is one that the controller passes over.
func TestDecodeAsKafka(t *testing.T) {
	const state = `{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":6,"isr":[1,2]`
	const broker = `{"version":5,"jmx_port":-1,"endpoints":["A://h:1"],"listener_security_protocol_map":{"A":"SSL"}`
	entry := func(fields string) string { return `{"version":1,"partitions":[{` + fields + `}]}` }
	cases := []struct{ znode, text, want string }{
		{"state", state + `,"leader_recovery_state":257}`, "1 6 [1 2] RECOVERING 3"}, // cut to a byte
		{"state", state + `,"leader_recovery_state":null}`, "!wrong_type"},
		{"state", state + `,"version":"x","more":[{}]}`, "1 6 [1 2] RECOVERED 3"},
		{"state", state + `,"isr":[7]}`, "1 6 [7] RECOVERED 3"},
		{"state", state + `,"isr":[1.0]}`, "!wrong_type"},
		{"state", state + `,"leader":2147483648}`, "!wrong_type"},
		{"state", state + `,"leader":-0}`, "0 6 [1 2] RECOVERED 3"},
		{"state", state + `,"leader":01}`, "absent"},
		{"state", "\x00\x00lost", "absent"},
		{"state", `{"leader":1`, "absent"},
		{"state", "\x00\x00\xff\xfe", "!not_json"}, // an I/O error in Jackson, not a syntax error
		{"topic", `{"partitions":{"0":[1],"+1":[2],"007":[3],"٢":[4]}}`, "0[1][][] 1[2][][] 2[4][][] 7[3][][]"},
		{"topic", `{"partitions":{"7":[1],"07":[2]},"adding_replicas":{"7":[9],"07":[8]}}`, "7[2][8][]"},
		{"topic", `{"partitions":{"-0":[1]},"adding_replicas":{"0":[1]}}`, "0[1][][]"},
		{"topic", `{"partitions":{"-1":[1]}}`, "-1[1][][]"},
		{"topic", `{"partitions":{"0":[1]},"adding_replicas":{"5":"x"}}`, "0[1][][]"},
		{"topic", `{"partitions":{"0":[1]},"adding_replicas":{"0":"x"}}`, "!wrong_type"},
		{"topic", `{"partitions":{"0":[1]},"adding_replicas":null}`, "!wrong_type"},
		{"topic", `{"partitions":null}`, "!wrong_type"},
		{"topic", `{"partitions":{},"topic_id":null}`, "!wrong_type"},
		{"topic", `{"partitions":{"x":[1]}}`, "!not_a_number"},
		{"topic", `{"partitions":{"":[1]}}`, "!not_a_number"},
		{"topic", `{"partitions":{"2147483648":[1]}}`, "!out_of_range"},
		{"topic", `{"partitions":{"0":[1,2],}}`, "absent"},
		{"broker", broker + `}`, "A SSL h 1"},
		{"broker", broker + `,"endpoints":[]}`, ""},
		{"broker", broker + `,"endpoints":["a://h:1"]}`, "A SSL h 1"},
		{"broker", broker + `,"listener_security_protocol_map":{"a":"SSL"}}`, "!invalid_value"},
		{"broker", broker + `,"listener_security_protocol_map":{"A":"ssl"}}`, "A SSL h 1"},
		{"broker", broker + `,"listener_security_protocol_map":{"A":"SSL","B":"TLS"}}`, "!invalid_value"},
		{"broker", broker + `,"listener_security_protocol_map":null}`, "!wrong_type"},
		{"broker", broker + `,"endpoints":[" A://h:1 , ,B://[::2]:-5"],"listener_security_protocol_map":{"A":"SSL","B":"PLAINTEXT"}}`, "A SSL h 1, B PLAINTEXT ::2 -5"},
		{"broker", broker + `,"endpoints":["A://h:1","A://i:2"]}`, "!invalid_value"},
		{"broker", broker + `,"endpoints":["A://h"]}`, "!invalid_value"},
		{"broker", broker + `,"endpoints":["A://h:99999999999"]}`, "!out_of_range"},
		{"broker", broker + `,"endpoints":["A://:9"]}`, "A SSL  9"},
		{"broker", broker + `,"features":{"f":{"min_version":65537,"max_version":2,"first":3}}}`, "A SSL h 1"},
		{"broker", broker + `,"features":{"f":{"min_version":3,"max_version":2}}}`, "!invalid_value"},
		{"broker", broker + `,"features":{"f":{"min_version":1}}}`, "!missing_field"},
		{"broker", broker + `,"features":{"f":{"min_version":"1","max_version":2}}}`, "!wrong_type"},
		{"broker", `{"version":0,"jmx_port":-1}`, "!unsupported_version"},
		{"broker", `{"version":1,"jmx_port":-1,"host":null,"port":1}`, "!wrong_type"},
		{"broker", `host-1457105355761:host:9092`, "!not_json"},
		{"epoch", "+12", "12"}, {"epoch", "0012", "12"}, {"epoch", "12\n", "!not_a_number"}, {"epoch", "1.0", "!not_a_number"}, {"epoch", "٣", "3"}, {"epoch", "1_0", "!not_a_number"},
		{"reassign", entry(`"topic":"t","partition":"  7 ","replicas":[1]`), "t-7 [1]"},
		{"reassign", entry(`"topic":"t","partition":1.9,"replicas":[1]`), "t-1 [1]"},
		{"reassign", entry(`"topic":"t","partition":null,"replicas":[1]`), "t-0 [1]"},
		{"reassign", entry(`"topic":"t","partition":"","replicas":[1]`), "t-0 [1]"},
		{"reassign", entry(`"topic":"t","replicas":[]`), "t-0 []"},
		{"reassign", entry(`"topic":7,"partition":1,"replicas":[null]`), "7-1 [0]"},
		{"reassign", entry(`"topic":"t","partition":true,"replicas":[1]`), "!!wrong_type"},
		{"reassign", entry(`"topic":"t","partition":3000000000,"replicas":[1]`), "!!out_of_range"},
		{"reassign", entry(`"topic":"t","partition":"x","replicas":[1]`), "!!not_a_number"},
		{"reassign", entry(`"topic":"t","partition":"x","partition":1,"replicas":[1]`), "!!not_a_number"},
		{"reassign", entry(`"topic":"t","partition":1,"replicas":[1],"log_dirs":["any"]`), "!!unknown_field"},
		{"reassign", entry(`"topic":"t","partition":1,"replicas":1`), "!!wrong_type"},
		{"reassign", entry(`"topic":"t","partition":1,"replicas":["1"]`), "t-1 [0] unusable: wrong_type"},
		{"reassign", entry(`"topic":"t","partition":1`), "!missing_field"},
		{"reassign", entry(`"partition":1,"replicas":[1]`), "-1 [1]"},
		{"reassign", entry(`"topic":null,"partition":1,"replicas":[1]`), "-1 [1]"},
		{"reassign", `{"partitions":[null]}`, "!wrong_type"},
		{"reassign", `{"partitions":[],"x":1}`, "!!unknown_field"},
		{"reassign", `{"partitions":null}`, "!missing_field"},
		{"reassign", `[]`, "!!not_object"}, {"reassign", `null`, "!not_object"},
		{"reassign", `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,3]}`, "!!not_json"},
		{"pid", `{"broker":1,"block_start":"+5","block_end":"4"}`, "1 5 0"},
		{"pid", `{"broker":1,"block_start":"0","block_end":"2147483647"}`, "!out_of_range"},
		{"pid", `{"broker":1,"block_start":"x","block_end":"4"}`, "!not_a_number"},
		{"pid", `{"broker":1,"block_start":"0","block_end":"9223372036854775808"}`, "!out_of_range"},
		{"feature", `{"version":2,"status":1,"features":{"f":{"max_version_level":65537}}}`, "f=1"},
		{"feature", `{"version":2,"status":2,"features":{}}`, "!invalid_value"},
		{"feature", `{"version":2,"status":null,"features":{}}`, "!missing_field"},
		{"migration", `{"version":1}`, "!unsupported_version"},
		{"migration", `{"version":0,"kraft_controller_id":1,"kraft_controller_epoch":2,"kraft_metadata_offset":12345678901,"kraft_metadata_epoch":4}`, "1 2 12345678901 4"},
		{"migration", `{"version":0,"kraft_controller_id":1,"kraft_controller_epoch":2,"kraft_metadata_offset":1.5,"kraft_metadata_epoch":4}`, "!wrong_type"},
		{"registration", `{"brokerid":1,"kraftControllerEpoch":null}`, "!wrong_type"},
		{"registration", `{"brokerid":1,"kraftControllerEpoch":5,"version":2,"timestamp":"9"}`, "1 5 true 2 9"},
		{"registration", `{"brokerid":1,"version":[],"timestamp":9}`, "1 -1 false 0 "},
		{"change", `{"version":1,"entity_type":"topics","entity_name":"t"}`, "1 topics/t"},
		{"change", `{"version":1,"entity_type":"users","entity_name":"t"}`, "!invalid_value"},
		{"change", `{"version":2,"entity_path":"users/u/clients/c"}`, "2 users/u/clients/c"},
		{"change", `{"version":2,"entity_path":"/config/topics/t"}`, "!invalid_value"},
		{"change", `{"version":2,"entity_path":null}`, "!missing_field"},
		{"change", `{"version":3}`, "!unsupported_version"}, {"change", `topic`, "absent"},
		{"config", `[]`, "map[]"}, {"config", `null`, "map[]"}, {"config", `{"config":{"a":"1","a":"2"}}`, "map[a:2]"}, {"config", `{"config":{"a":null}}`, "!wrong_type"},
	}
	for _, c := range cases {
		got, err := describe(c.znode, []byte(c.text))
		var bad *DecodeError
		if errors.As(err, &bad) {
			got = "!" + string(bad.Category)
			if bad.Ignored {
				got = "!" + got
			}
		}
		if got != c.want {
			t.Errorf("%s %.120q: %q (%v), want %q", c.znode, c.text, got, err, c.want)
		}
	}
}

// describe decodes a znode and puts what counts on one line.
func describe(znode string, data []byte) (string, error) {
	const path = "/x/1"
	present := true
	var text string
	var err error
	switch znode {
	case "state":
		var l LeaderIsrAndControllerEpoch
		l, present, err = DecodePartitionState(path, data)
		text = fmt.Sprint(l.Leader, l.LeaderEpoch, l.ISR, l.Recovery, l.ControllerEpoch)
	case "topic":
		var topic TopicAssignment
		topic, present, err = DecodeTopic(path, data)
		var parts []string
		for _, p := range topic.Partitions {
			parts = append(parts, fmt.Sprint(p.Partition, p.Replicas, p.Adding, p.Removing))
		}
		text = strings.ReplaceAll(strings.Join(parts, ";"), " ", "")
		text = strings.ReplaceAll(text, ";", " ")
	case "broker":
		var reg BrokerRegistration
		reg, err = DecodeBroker(path, data)
		var parts []string
		for _, e := range reg.Endpoints {
			parts = append(parts, fmt.Sprintf("%s %s %s %d", e.Listener, e.Protocol, e.Host, e.Port))
		}
		text = strings.Join(parts, ", ")
	case "epoch":
		var epoch int32
		epoch, err = DecodeControllerEpoch(path, data)
		text = fmt.Sprint(epoch)
	case "reassign":
		var list []PartitionReassignment
		list, err = DecodeReassignPartitions(path, data)
		for _, e := range list {
			text += fmt.Sprint(e.TopicPartition, " ", e.Replicas)
			if e.Unusable != nil {
				text += " unusable: " + string(e.Unusable.Category)
			}
		}
	case "pid":
		var b ProducerIDBlock
		b, err = DecodeProducerIDBlock(path, data)
		text = fmt.Sprint(b.Broker, b.First, b.Size)
	case "feature":
		var f FinalizedFeatures
		f, err = DecodeFeatures(path, data)
		for _, name := range sortedKeys(f.Features) {
			text += fmt.Sprintf("%s=%d", name, f.Features[name])
		}
	case "migration":
		var m MigrationState
		m, err = DecodeMigration(path, data)
		text = fmt.Sprint(m.KRaftControllerID, m.KRaftControllerEpoch, m.KRaftMetadataOffset, m.KRaftMetadataEpoch)
	case "registration":
		var reg ControllerRegistration
		reg, err = DecodeControllerRegistration(path, data)
		text = fmt.Sprint(reg.Broker, reg.KRaftEpoch, reg.HasKRaftEpoch, reg.Version) + " " + reg.Timestamp
	case "change":
		var c ConfigChange
		c, present, err = DecodeConfigChange(path, data)
		text = fmt.Sprint(c.Version) + " " + c.EntityPath
	case "config":
		var m map[string]string
		m, err = DecodeConfig(path, data)
		text = fmt.Sprint(m)
	}
	if err == nil && !present {
		text = "absent"
	}
	return text, err
}

func TestDecodeErrorText(t *testing.T) {
	cases := []struct {
		err  func() error
		want string
	}{
		{func() error { _, _, err := DecodeTopic("/brokers/topics/t", nil); return err }, `znode /brokers/topics/t: has no data (null) (null_payload)`},
		{func() error {
			_, _, err := DecodeTopic("/brokers/topics/t", []byte(`{"partitions":{"0":["1"]}}`))
			return err
		},
			`znode /brokers/topics/t: field partitions.0[0] is "1": it is a string, not an int (wrong_type)`},
		{func() error { _, err := DecodeBroker("/brokers/ids/7", []byte("creator\x00:host")); return err },
			`znode /brokers/ids/7: payload is "creator\x00:host": byte 0: expected a value, found 'c' (not_json)`},
		{func() error { _, err := DecodeBroker("/brokers/ids/7", []byte(`{}`)); return err }, `znode /brokers/ids/7: field version is missing (missing_field)`},
		{func() error { _, _, err := DecodePartitionState("/s", []byte(` [1] `)); return err }, `znode /s: payload is [1]: the payload is an array, not an object (not_object)`},
		{func() error { _, _, err := DecodePartitionState("/s", []byte{}); return err }, `znode /s: payload is "": the payload is nothing, not an object (not_object)`},
		{func() error { _, err := DecodeConfig("/c", []byte("{\"config\":{\"a\\u0007\":1}}")); return err }, `znode /c: field config.a\a is 1: it is an int, not a string (wrong_type)`},
		{func() error { return WhyNotJSON("/t", []byte(`{"a":1,}`)) }, `znode /t: payload is {"a":1,}: byte 7: expected a field name, found '}' (not_json)`},
		{func() error { _, err := DecodeControllerEpoch("/e", []byte(strings.Repeat("é", 100))); return err },
			`znode /e: payload is "` + strings.Repeat("é", 38) + `…": the epoch is not a decimal number of 32 bits (not_a_number)`},
	}
	for _, c := range cases {
		if err := c.err(); err == nil || err.Error() != c.want {
			t.Errorf("error\n%v, want\n%s", err, c.want)
		}
	}
	if err := WhyNotJSON("/t", []byte(`{}`)); err != nil {
		t.Errorf("WhyNotJSON of an object: %v", err)
	}
}
