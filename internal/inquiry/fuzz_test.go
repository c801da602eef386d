package inquiry

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

// fuzzPaths are znodes that a controller reads; the fuzzer chooses what lies there.
var fuzzPaths = []string{"/brokers/ids/1", "/brokers/ids/x", "/brokers/topics/t", "/brokers/topics/t/partitions/0/state", "/brokers/topics/u", "/brokers/topics/u/partitions/0/state",
	"/admin/reassign_partitions", "/admin/preferred_replica_election", "/admin/delete_topics/t", "/config/topics/t", "/isr_change_notification/isr_change_0000000001",
	"/log_dir_event_notification/log_dir_event_0000000001", "/feature", "/controller", "/latest_producer_id_block", "/isr_change_notification/é", "/brokers/topics/t/partitions/x"}

const fuzzTopic = `{"version":3,"partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}`
const fuzzState = `{"controller_epoch":7,"leader":2,"version":1,"leader_epoch":3,"isr":[2,1]}`

// FuzzTakeOver puts anything into two znodes: a controller that takes over the
// tree starts or says why not, elections by every strategy have an outcome, and
// nothing panics.
func FuzzTakeOver(f *testing.F) {
	for _, z := range reportZnodes(f) {
		f.Add(uint8(z.at), z.data, uint8(3), []byte(fuzzState))
		f.Add(uint8(z.at), z.data, uint8(z.at+1), z.data)
	}
	strategies := []model.Strategy{model.PreferredStrategy, model.OfflineUncleanStrategy, model.OfflineStrategy, model.ReassignStrategy, model.ControlledShutdownStrategy}
	f.Fuzz(func(t *testing.T, a uint8, first []byte, b uint8, second []byte) {
		data := map[string][]byte{"/brokers/ids/1": []byte(brokerData("1")), "/brokers/ids/2": []byte(brokerData("2")), "/brokers/topics/t": []byte(fuzzTopic),
			"/brokers/topics/t/partitions/0/state": []byte(fuzzState), "/controller_epoch": []byte("7"), "/admin/delete_topics": nil, "/isr_change_notification": nil}
		data[fuzzPaths[int(a)%len(fuzzPaths)]] = first
		data[fuzzPaths[int(b)%len(fuzzPaths)]] = second
		c := fuzzCopy(t, data)
		defer c.Close()
		got, err := c.TakeOver()
		if err != nil {
			t.Fatal(err)
		}
		if !got.Starts && got.CrashLoop != nil && *got.CrashLoop && (got.ErrorClass == "" || got.Error == "") {
			t.Errorf("no controller starts, and it is not said why: %+v", got)
		}
		if !got.Starts {
			return
		}
		for _, s := range strategies {
			elections, err := c.Elect(s, c.Partitions(""))
			if err != nil {
				t.Fatal(err)
			}
			for name, e := range elections {
				if (e.Error == nil) == (e.Leader == nil) {
					t.Errorf("%s of %s: %+v", s, name, e)
				}
			}
		}
		for _, step := range []Step{{Do: "broker_down", Broker: 2}, {Do: "auto_rebalance"}} {
			if _, err := c.Do(step); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func fuzzCopy(t *testing.T, data map[string][]byte) *Copy {
	type znode struct {
		Path      string  `json:"path"`
		Data      *string `json:"data_b64,omitempty"`
		Ephemeral bool    `json:"ephemeral"`
	}
	var list []znode
	for path, d := range data {
		z := znode{Path: path, Ephemeral: strings.HasPrefix(path, "/brokers/ids/")}
		if d != nil {
			text := base64.StdEncoding.EncodeToString(d)
			z.Data = &text
		}
		list = append(list, z)
	}
	text, err := json.Marshal(map[string]any{"format": 1, "znodes": list})
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.Load(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCopy(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type seedZnode struct {
	at   int
	data []byte
}

// reportZnodes are the payloads of all report trees, each for a path of its kind.
func reportZnodes(f *testing.F) []seedZnode {
	files, err := filepath.Glob("../tree/testdata/reports/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no reports: %v", err)
	}
	var out []seedZnode
	seen := map[string]bool{}
	for _, file := range files {
		r, err := os.Open(file)
		if err != nil {
			f.Fatal(err)
		}
		loaded, err := tree.Load(r)
		r.Close()
		if err != nil {
			f.Fatalf("%s: %v", file, err)
		}
		for _, z := range loaded.Znodes {
			path, _ := model.StripChroot(loaded.Chroot, z.Path)
			kind := model.ParsePath(path).Kind
			for i, p := range fuzzPaths {
				if model.ParsePath(p).Kind == kind && kind != model.UnknownZnode && !seen[kind.String()+string(z.Data)] {
					seen[kind.String()+string(z.Data)] = true
					out = append(out, seedZnode{i, z.Data})
				}
			}
		}
	}
	return out
}

func brokerData(id string) string {
	return `{"version":5,"endpoints":["PLAINTEXT://h:` + id + `"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"features":{},"host":"h","port":` + id + `,"jmx_port":-1,"timestamp":"1"}`
}
