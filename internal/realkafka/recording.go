package realkafka

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

//go:embed testdata/kafka-*-tour.json
var recordings embed.FS

// Recording is what was seen after each action of a script, in order.
type Recording []Step

// Step is what ZooKeeper held when it had been quiet after one action, and
// which transitions the controller logged since the action before. The JSON is
// that of the files in testdata.
type Step struct {
	Name    string  `json:"step"`
	Seconds float64 `json:"t"`       // since the start
	Reached bool    `json:"reached"` // what the action waits for has come

	Brokers         []string                     `json:"brokers"` // children of /brokers/ids, sorted
	Controller      *int32                       `json:"controller"`
	ControllerEpoch int32                        `json:"controller_epoch"`
	Topics          map[string]Topic             `json:"topics"`        // by name
	Partitions      map[string]Partition         `json:"partitions"`    // by topic-partition
	DeleteTopics    []string                     `json:"delete_topics"` // children of /admin/delete_topics, sorted; nil without that znode
	Reassign        any                          `json:"reassign"`      // /admin/reassign_partitions decoded, nil when absent
	Preferred       any                          `json:"preferred"`     // /admin/preferred_replica_election decoded, nil when absent
	ConfigTopics    map[string]map[string]string `json:"config_topics"` // settings by topic
	Transitions     []Transition                 `json:"transitions"`
	Tree            map[string]Znode             `json:"tree"` // by path, the chroot left out; the chroot itself is /
}

// Topic is /brokers/topics/T without the topic id.
type Topic struct {
	Version    int                `json:"version"`
	Partitions map[string][]int32 `json:"partitions"`
	Adding     map[string][]int32 `json:"adding_replicas,omitempty"`
	Removing   map[string][]int32 `json:"removing_replicas,omitempty"`
}

// Partition is a state znode and its data version, or why it can't be read.
type Partition struct {
	ControllerEpoch int32   `json:"controller_epoch"`
	Leader          int32   `json:"leader"`
	LeaderEpoch     int32   `json:"leader_epoch"`
	ISR             []int32 `json:"isr"`
	Recovery        int     `json:"leader_recovery_state,omitempty"`
	Version         int     `json:"version"`
	ZKVersion       int32   `json:"zk_version"`
	Error           string  `json:"error,omitempty"`
}

// Znode is one znode of the tree.
type Znode struct {
	Data      string `json:"data"`
	Ephemeral bool   `json:"ephemeral"`
	Version   int32  `json:"version"` // of the data
	CZxid     int64  `json:"czxid"`
}

// Transition is one line of the state-change log.
type Transition struct {
	Kind     string // partition or replica
	Subject  string // topic-partition, or topic-partition@broker
	From, To string
}

// String is kind subject: from -> to.
func (t Transition) String() string {
	return fmt.Sprintf("%s %s: %s -> %s", t.Kind, t.Subject, t.From, t.To)
}

// MarshalJSON writes [kind, subject, from, to].
func (t Transition) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]string{t.Kind, t.Subject, t.From, t.To})
}

// UnmarshalJSON reads [kind, subject, from, to].
func (t *Transition) UnmarshalJSON(data []byte) error {
	var f []string
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if len(f) != 4 {
		return fmt.Errorf("transition %s has %d fields, not kind, subject, from, to", data, len(f))
	}
	*t = Transition{f[0], f[1], f[2], f[3]}
	return nil
}

// Golden is the recording of the tour under a Kafka release's own controller.
func Golden(t testing.TB, version string) Recording {
	t.Helper()
	name := "testdata/kafka-" + version + "-tour.json"
	data, err := recordings.ReadFile(name)
	if err != nil {
		t.Fatalf("read the recording of Kafka %s: %v", version, err)
	}
	var r Recording
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("read the recording %s: %v", name, err)
	}
	return r
}

// TreeFile is the tree of a step as a tree file (format 1), its paths under
// chroot.
func (s Step) TreeFile(chroot string) ([]byte, error) {
	type znode struct {
		Path string `json:"path"`
		Znode
	}
	file := struct {
		Format int     `json:"format"`
		Chroot string  `json:"chroot"`
		Znodes []znode `json:"znodes"`
	}{Format: 1, Chroot: chroot}
	for _, p := range slices.Sorted(maps.Keys(s.Tree)) {
		path := chroot + p
		if p == "/" {
			path = chroot
		}
		file.Znodes = append(file.Znodes, znode{path, s.Tree[p]})
	}
	return json.MarshalIndent(file, "", " ")
}
