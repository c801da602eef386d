package realkafka

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// Snapshot reads what a recording holds of ZooKeeper, the name, the times and
// the transitions left empty. A znode that is missing or is no JSON counts as
// absent, as in the recordings; any other error is returned.
func Snapshot(conn *zk.Conn, chroot string) (Step, error) {
	r := reader{conn: conn, chroot: chroot}
	s := Step{Topics: map[string]Topic{}, Partitions: map[string]Partition{}, ConfigTopics: map[string]map[string]string{}}
	s.Brokers = r.list("/brokers/ids")
	s.DeleteTopics = r.list("/admin/delete_topics")
	r.decode("/admin/reassign_partitions", &s.Reassign)
	r.decode("/admin/preferred_replica_election", &s.Preferred)
	r.decode("/controller_epoch", &s.ControllerEpoch)
	var who struct {
		ID *int32 `json:"brokerid"`
	}
	r.decode("/controller", &who)
	s.Controller = who.ID
	for _, topic := range r.list("/brokers/topics") {
		var t Topic
		r.decode("/brokers/topics/"+topic, &t)
		s.Topics[topic] = t
		r.partitions(topic, s.Partitions)
	}
	for _, topic := range r.list("/config/topics") {
		var c struct {
			Config map[string]string `json:"config"`
		}
		r.decode("/config/topics/"+topic, &c)
		s.ConfigTopics[topic] = c.Config
	}
	return s, r.err
}

// ReadTree reads every znode under the chroot, by path without it. It is no
// atomic picture: a znode that goes meanwhile is left out.
func ReadTree(conn *zk.Conn, chroot string) (map[string]Znode, error) {
	r := reader{conn: conn, chroot: chroot}
	tree := map[string]Znode{}
	r.tree("", tree)
	return tree, r.err
}

// reader keeps the first error that is not a missing znode; after it, every
// read finds nothing.
type reader struct {
	conn   *zk.Conn
	chroot string
	err    error
}

func (r *reader) get(path string) ([]byte, *zk.Stat, bool) {
	if r.err != nil {
		return nil, nil, false
	}
	data, stat, err := r.conn.Get(r.chroot + path)
	if noNode(err) != nil {
		r.err = fmt.Errorf("read %s%s: %w", r.chroot, path, err)
	}
	return data, stat, err == nil
}

// list is the children in order of name; nil without the znode.
func (r *reader) list(path string) []string {
	if r.err != nil {
		return nil
	}
	names, _, err := r.conn.Children(r.chroot + path)
	if noNode(err) != nil {
		r.err = fmt.Errorf("list %s%s: %w", r.chroot, path, err)
	}
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return append([]string{}, names...)
}

// decode reads a znode's JSON into v, which stays as it is when the znode is
// missing or is no JSON of that shape.
func (r *reader) decode(path string, v any) {
	if data, _, ok := r.get(path); ok {
		_ = json.Unmarshal(data, v)
	}
}

func (r *reader) partitions(topic string, into map[string]Partition) {
	base := "/brokers/topics/" + topic + "/partitions"
	for _, p := range r.list(base) {
		if _, err := strconv.Atoi(p); err != nil {
			continue
		}
		var part Partition
		data, stat, ok := r.get(base + "/" + p + "/state")
		if !ok {
			part.Error = "NoNodeError"
		} else if err := json.Unmarshal(data, &part); err != nil {
			part = Partition{Error: err.Error()}
		} else {
			part.ZKVersion = stat.Version
		}
		into[topic+"-"+p] = part
	}
}

func (r *reader) tree(path string, into map[string]Znode) {
	data, stat, ok := r.get(path)
	if !ok {
		return
	}
	name := path
	if name == "" {
		name = "/"
	}
	into[name] = Znode{Data: string(data), Ephemeral: stat.EphemeralOwner != 0, Version: stat.Version, CZxid: stat.Czxid}
	for _, child := range r.list(path) {
		r.tree(path+"/"+child, into)
	}
}
