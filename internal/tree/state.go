package tree

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"kstate/model"
)

// State is the tree as it lies with what follows from it: what `kstate state`
// prints. The large lists are not in it: WriteJSON and WriteText walk the survey.
type State struct {
	Mode       string // observe for a live cluster, tree for a file
	Source     string // address with chroot, or file
	Controller Controller
	Brokers    []Broker
	Counts     Counts
	Deletion   Deletion
	Unreadable []Unreadable

	survey *Survey
}

// Controller is who holds the role; null is not known.
type Controller struct {
	Status string `json:"status"`
	ID     *int32 `json:"id"`
	Epoch  *int32 `json:"epoch"`
}

// Broker is a registered broker, or a dead one that partitions still name.
type Broker struct {
	ID        int32    `json:"id"`
	Epoch     *int64   `json:"epoch"`
	State     string   `json:"state"`
	Endpoints []string `json:"endpoints"`
	Replicas  int      `json:"replicas"` // assigned to it
	Leads     int      `json:"leads"`    // partitions whose state znode names it
}

// Counts are by state.
type Counts struct {
	Partitions PartitionCounts `json:"partitions"`
	Replicas   ReplicaCounts   `json:"replicas"`
}

// PartitionCounts count the assigned partitions by state.
type PartitionCounts struct {
	Online      int `json:"OnlinePartition"`
	Offline     int `json:"OfflinePartition"`
	New         int `json:"NewPartition"`
	NonExistent int `json:"NonExistentPartition"`
	Unreadable  int `json:"unreadable"`
}

// ReplicaCounts count the replicas of known topics by state.
type ReplicaCounts struct {
	New                int `json:"NewReplica"`
	Online             int `json:"OnlineReplica"`
	Offline            int `json:"OfflineReplica"`
	DeletionStarted    int `json:"ReplicaDeletionStarted"`
	DeletionSuccessful int `json:"ReplicaDeletionSuccessful"`
	DeletionIneligible int `json:"ReplicaDeletionIneligible"`
	NonExistent        int `json:"NonExistentReplica"`
}

// Deletion is the deletion queue. Started is empty where no engine runs.
type Deletion struct {
	Enabled    bool            `json:"enabled"`
	Queued     []string        `json:"queued"`
	Started    []string        `json:"started"`
	Ineligible []string        `json:"ineligible"`
	Topics     []TopicDeletion `json:"topics"`
}

// TopicDeletion is one queued topic: state waiting if anything makes it
// ineligible, else queued.
type TopicDeletion struct {
	Topic             string                   `json:"topic"`
	State             string                   `json:"state"`
	IneligibleReasons []model.IneligibleReason `json:"ineligible_reasons"`
	BlockedBy         []string                 `json:"blocked_by"`
	Replicas          map[string]int           `json:"replicas"` // by state, those that occur
}

// Deletion states of a tree.
const (
	DeletionQueued  = "queued"
	DeletionWaiting = "waiting"
)

// Unreadable is a znode that could not be read or decoded.
type Unreadable struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// UnreadablePartition stands for a partition state: the state znode is there and
// is a JSON object, but lacks a field or has one of a wrong type, or may not be
// read.
const UnreadablePartition = "unreadable"

// partitionStateName is the state as this project's outputs name it.
func partitionStateName(s model.PartitionState) string {
	if s == model.NoPartitionState {
		return UnreadablePartition
	}
	return s.String()
}

// BuildState sums up a survey. The State reads on in the survey while it is
// written.
func BuildState(s *Survey, mode, source string) *State {
	st := &State{Mode: mode, Source: source, Controller: describeController(s.Controller()), Counts: countsOf(s.View()),
		Deletion: s.deletion(), Brokers: []Broker{}, Unreadable: []Unreadable{}, survey: s}
	for _, b := range s.Brokers() {
		entry := Broker{ID: b.ID, State: b.State, Endpoints: b.Endpoints, Replicas: b.Replicas, Leads: b.Leads}
		if b.State != BrokerDead {
			entry.Epoch = &b.Epoch
		}
		if entry.Endpoints == nil {
			entry.Endpoints = []string{}
		}
		st.Brokers = append(st.Brokers, entry)
	}
	for _, t := range s.Troubles() {
		st.Unreadable = append(st.Unreadable, Unreadable{t.Path, t.Err})
	}
	return st
}

func describeController(c model.ControllerStatus) Controller {
	out := Controller{Status: c.Status}
	if c.Status != ControllerAbsent && c.Status != ControllerUnparsable {
		out.ID = &c.ID
	}
	if c.Epoch >= 0 {
		out.Epoch = &c.Epoch
	}
	return out
}

func countsOf(v *model.View) Counts {
	p, r := &v.PartitionCounts, &v.ReplicaCounts
	return Counts{
		PartitionCounts{p[model.OnlinePartition], p[model.OfflinePartition], p[model.NewPartition], p[model.NonExistentPartition], p[model.NoPartitionState]},
		ReplicaCounts{r[model.NewReplica], r[model.OnlineReplica], r[model.OfflineReplica], r[model.ReplicaDeletionStarted],
			r[model.ReplicaDeletionSuccessful], r[model.ReplicaDeletionIneligible], r[model.NonExistentReplica]},
	}
}

func (s *Survey) deletion() Deletion {
	v := s.View()
	d := Deletion{Enabled: s.config.DeleteTopicEnable, Queued: v.TopicsToBeDeleted.Slice(), Started: v.TopicsWithDeletionStarted.Slice(),
		Ineligible: v.TopicsIneligibleForDeletion.Slice(), Topics: []TopicDeletion{}}
	for _, topic := range d.Queued {
		d.Topics = append(d.Topics, s.topicDeletion(topic))
	}
	return d
}

func (s *Survey) topicDeletion(topic string) TopicDeletion {
	td := TopicDeletion{Topic: topic, State: DeletionQueued, IneligibleReasons: s.IneligibleReasons(topic),
		BlockedBy: s.BlockedBy(topic), Replicas: map[string]int{}}
	if len(td.IneligibleReasons) > 0 {
		td.State = DeletionWaiting
	} else {
		td.IneligibleReasons, td.BlockedBy = []model.IneligibleReason{}, []string{}
	}
	if t := s.View().Topic(topic); t != nil {
		for state, n := range t.ReplicaCounts {
			if n > 0 {
				td.Replicas[model.ReplicaState(state).String()] = n
			}
		}
	}
	return td
}

// WriteJSON writes the state as one JSON object, a line for each partition and
// replica.
func (st *State) WriteJSON(w io.Writer) error {
	o := &jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	o.text("{")
	o.field("mode", st.Mode)
	o.text(", ")
	o.field("source", st.Source)
	for _, f := range []struct {
		name string
		v    any
	}{{"controller", st.Controller}, {"brokers", st.Brokers}, {"counts", st.Counts}} {
		o.text(",\n ")
		o.field(f.name, f.v)
	}
	o.list("partitions", func(next func()) { st.partitions(o, next) })
	o.list("replicas", func(next func()) { st.replicas(o, next) })
	o.text(",\n ")
	o.field("deletion", st.Deletion)
	o.text(",\n ")
	o.field("unreadable", st.Unreadable)
	o.text("}\n")
	return o.flush()
}

func (st *State) partitions(o *jsonStream, next func()) {
	for t := range st.survey.View().Topics() {
		topic := jsonText(t.Name)
		for n, p := range t.Partitions() {
			next()
			o.partition(topic, n, p, st.survey.Why(model.TP(t.Name, n)))
		}
	}
}

// partition appends one entry of partitions; topic is JSON already. Everything
// that the state znode would say is null without a usable one.
func (o *jsonStream) partition(topic []byte, n int32, p *model.Partition, why []string) {
	o.head(topic, n)
	o.text(`, "state": "` + partitionStateName(p.State) + `"`)
	l := p.Leadership
	if l == nil {
		o.text(`, "leader": null, "leader_epoch": null, "isr": null`)
	} else {
		o.int(`, "leader": `, l.Leader)
		o.int(`, "leader_epoch": `, l.LeaderEpoch)
		o.ints(`, "isr": `, l.ISR)
	}
	o.ints(`, "replicas": `, p.Assignment.Replicas)
	o.ints(`, "adding": `, p.Assignment.Adding)
	o.ints(`, "removing": `, p.Assignment.Removing)
	if l == nil {
		o.text(`, "controller_epoch": null, "version": null`)
	} else {
		o.int(`, "controller_epoch": `, l.ControllerEpoch)
		o.int(`, "version": `, l.PartitionEpoch)
	}
	if len(why) > 0 {
		o.text(", ")
		o.field("why", why)
	}
	o.text("}")
}

func (st *State) replicas(o *jsonStream, next func()) {
	for t := range st.survey.View().Topics() {
		topic := jsonText(t.Name)
		for n, p := range t.Partitions() {
			for _, r := range p.Replicas {
				next()
				o.head(topic, n)
				o.int(`, "broker": `, r.Broker)
				o.text(`, "state": "` + r.State.String() + `", "evidence": "observed"}`)
			}
		}
	}
}

func (o *jsonStream) head(topic []byte, n int32) {
	o.text(`{"topic": `)
	o.bytes(topic)
	o.int(`, "partition": `, n)
}

// jsonStream writes JSON piece by piece and keeps the first error.
type jsonStream struct {
	w   *bufio.Writer
	num []byte
	err error
}

func (o *jsonStream) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

func (o *jsonStream) text(s string) {
	if o.err == nil {
		_, o.err = o.w.WriteString(s)
	}
}

func (o *jsonStream) int(name string, n int32) {
	o.text(name)
	o.num = strconv.AppendInt(o.num[:0], int64(n), 10)
	o.bytes(o.num)
}

func (o *jsonStream) ints(name string, list []int32) {
	o.text(name)
	b := append(o.num[:0], '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	o.num = append(b, ']')
	o.bytes(o.num)
}

func (o *jsonStream) field(name string, v any) {
	o.text(`"` + name + `": `)
	o.bytes(jsonText(v))
}

// list writes a field with a list; each calls next before each entry.
func (o *jsonStream) list(name string, each func(next func())) {
	o.text(",\n \"" + name + `": [`)
	first := true
	each(func() {
		if !first {
			o.text(",")
		}
		first = false
		o.text("\n  ")
	})
	o.text("]")
}

func (o *jsonStream) flush() error {
	if o.err == nil {
		o.err = o.w.Flush()
	}
	return o.err
}

// jsonText is v as JSON; < and & stay readable. The values given are structs,
// lists and strings of this package, which always encode.
func jsonText(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("tree: a value of its own does not encode: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
