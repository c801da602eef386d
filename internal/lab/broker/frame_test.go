package broker

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// frames are messages that Kafka 3.9.2's own classes encoded, by
// request/Name/version and response/Name/version; without the length prefix.
func frames(t testing.TB) map[string][]byte {
	raw, err := os.ReadFile("testdata/kafka-3.9.2-frames.json")
	if err != nil {
		t.Fatal(err)
	}
	var text map[string]string
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for name, s := range text {
		if out[name], err = hex.DecodeString(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return out
}

// TestKafkasFrames reads each message as Kafka wrote it and writes the same
// bytes again.
func TestKafkasFrames(t *testing.T) {
	seen := 0
	for name, frame := range frames(t) {
		parts := strings.Split(name, "/")
		if parts[0] != "request" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h, body, err := parseHeader(frame)
			if err != nil {
				t.Fatal(err)
			}
			if strconv.Itoa(int(h.version)) != parts[2] {
				t.Fatalf("version %d", h.version)
			}
			req, err := parseBody(h, body)
			if err != nil {
				t.Fatal(err)
			}
			again := appendRequest(nil, req, h.correlation, h.clientID)
			if !bytes.Equal(again[4:], frame) {
				t.Errorf("got  %x\nwant %x", again[4:], frame)
			}
		})
		seen++
	}
	if seen < 50 {
		t.Errorf("only %d request frames in testdata", seen)
	}
}

func TestKafkasStopReplica(t *testing.T) {
	h, body, err := parseHeader(frames(t)["request/StopReplica/4"])
	if err != nil {
		t.Fatal(err)
	}
	req, err := parseBody(h, body)
	if err != nil {
		t.Fatal(err)
	}
	v3, body3, err := parseHeader(frames(t)["request/StopReplica/3"])
	if err != nil {
		t.Fatal(err)
	}
	old, err := parseBody(v3, body3)
	if err != nil {
		t.Fatal(err)
	}
	got, want := req.(*kmsg.StopReplicaRequest), old.(*kmsg.StopReplicaRequest)
	if got.ControllerEpoch != want.ControllerEpoch || got.BrokerEpoch != want.BrokerEpoch {
		t.Errorf("controller epoch %d, broker epoch %d; want %d, %d", got.ControllerEpoch, got.BrokerEpoch, want.ControllerEpoch, want.BrokerEpoch)
	}
}

// TestKafkasResponses does the same for the answers, by the kind of request.
func TestKafkasResponses(t *testing.T) {
	all := frames(t)
	for name, frame := range all {
		parts := strings.Split(name, "/")
		if parts[0] != "response" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			question, ok := all["request/"+parts[1]+"/"+parts[2]]
			if !ok {
				t.Skip("no request of that version")
			}
			h, body, err := parseHeader(question)
			if err != nil {
				t.Fatal(err)
			}
			req, err := parseBody(h, body)
			if err != nil {
				t.Fatal(err)
			}
			correlation := int32(frame[0])<<24 | int32(frame[1])<<16 | int32(frame[2])<<8 | int32(frame[3])
			resp, err := parseResponse(frame, req, correlation)
			if err != nil {
				t.Fatal(err)
			}
			if again := appendResponse(nil, resp, correlation); !bytes.Equal(again[4:], frame) {
				t.Errorf("got  %x\nwant %x", again[4:], frame)
			}
		})
	}
}

func TestHostileFrames(t *testing.T) {
	for name, frame := range map[string]string{
		"length beyond the limit":     "7fffffff",
		"negative length":             "ffffffff",
		"ends inside":                 "00000010 0012",
		"ends inside a claim of 50MB": "03000000 0012",
	} {
		raw, err := hex.DecodeString(strings.ReplaceAll(frame, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readFrame(bytes.NewReader(raw), maxRequestBytes); err == nil {
			t.Errorf("%s: read %x", name, got)
		}
	}
	for name, frame := range map[string]string{
		"empty":                               "",
		"no correlation id":                   "00120000",
		"client id beyond the end":            "0012 0000 00000001 7fff 61",
		"client id of negative length":        "0012 0000 00000001 8000",
		"tags beyond the end":                 "0004 0007 00000001 ffff 01",
		"tag of a size beyond the end":        "0004 0007 00000001 ffff 01 00 ffffffff0f",
		"endless count of tags":               "0004 0007 00000001 ffff ffffffffffffffffff01",
		"more partitions than bytes":          "0004 0001 00000001 ffff 00000001 00000001 7fffffff",
		"more topics than bytes, flexible":    "0006 0008 00000001 ffff 00 00000001 00 00000001 0000000000000001 ffffffff07",
		"stop replica without its body":       "0005 0004 00000001 ffff 00 00",
		"stop replica that ends in the epoch": "0005 0004 00000001 ffff 00 00000001 00 0000",
	} {
		raw, err := hex.DecodeString(strings.ReplaceAll(frame, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		h, body, err := parseHeader(raw)
		if err == nil {
			_, err = parseBody(h, body)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzRequest(f *testing.F) {
	for _, frame := range frames(f) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := parseHeader(frame)
		if err != nil {
			return
		}
		if limit, ok := maxVersion(latest, h.key); !ok || h.version < 0 || h.version > limit {
			return
		}
		req, err := parseBody(h, body)
		if err != nil {
			return
		}
		r := NewReplicas(1, NewDisk("d", 1), 0)
		r.Handle(epoch0, req, nil)
	})
}
