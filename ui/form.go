package ui

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// form is a dialog of input fields that makes one command.
type form struct {
	name   string
	about  []string
	fields []formField
	yes    string // what enter does, in a word
	build  func(d *dashboard, values []string) (model.Command, error)
	at     int
	err    string
}

// formField is one line of a form. Hint stands behind it.
type formField struct {
	label, hint string
	input       input
}

const (
	labelWidth = 20
	inputWidth = 26
	errorRows  = 3
)

func newField(label, value, hint string) formField {
	return formField{label: label, hint: hint, input: newProposal(value)}
}

func (f *form) title() string { return f.name }

func (f *form) size(*dashboard) (w, h int) {
	w = labelWidth + inputWidth
	for _, l := range f.about {
		w = max(w, width(l))
	}
	for i := range f.fields {
		w = max(w, labelWidth+inputWidth+2+width(f.fields[i].hint))
	}
	return w, len(f.about) + len(f.fields) + errorRows + 1
}

func (f *form) draw(a area, _ *dashboard) {
	y := 0
	for _, l := range f.about {
		a.put(0, y, plain, l)
		y++
	}
	y++
	for i := range f.fields {
		x := &f.fields[i]
		st := plain
		if i == f.at {
			st = strong
		}
		a.put(0, y, st, x.label)
		x.input.draw(a.sub(labelWidth, y, inputWidth, 1), i == f.at)
		a.put(labelWidth+inputWidth+2, y, faint, x.hint)
		y++
	}
	for i, l := range wrap(line{{bad, ""}, {bad, f.err}}, a.w, 0) {
		if i < errorRows {
			a.putLine(y+i, l, 0)
		}
	}
}

func (f *form) press(d *dashboard, k tea.KeyPressMsg) outcome {
	switch k.String() {
	case "esc":
		return outcome{close: 1}
	case "tab", "down":
		f.at = (f.at + 1) % len(f.fields)
	case "shift+tab", "up":
		f.at = (f.at + len(f.fields) - 1) % len(f.fields)
	case "enter":
		values := make([]string, len(f.fields))
		for i := range f.fields {
			values[i] = strings.TrimSpace(f.fields[i].input.value())
		}
		c, err := f.build(d, values)
		if err != nil {
			f.err = err.Error()
			return outcome{}
		}
		return outcome{close: 1, command: c}
	default:
		f.err = ""
		f.fields[f.at].input.press(k)
	}
	return outcome{}
}

func (f *form) paste(text string) { f.fields[f.at].input.insert(text) }

func (f *form) keys() []key.Help {
	keys := []key.Help{{Key: "enter", Desc: f.yes}}
	if len(f.fields) > 1 {
		keys = append(keys, key.Help{Key: "tab", Desc: "next field"})
	}
	return append(keys, leaveKey)
}

// topicChosen is the topic of what is chosen, empty when there is none.
func topicChosen(d *dashboard) string { return d.chosen().Topic }

// knownTopic checks that a topic exists.
func knownTopic(d *dashboard, topic string) error {
	switch {
	case topic == "":
		return errors.New("a topic is needed")
	case !viewOf(d.frame).KnowsTopic(topic):
		return fmt.Errorf("no topic is called %s", clean(topic))
	}
	return nil
}

// number reads a number of at least low.
func number(what, text string, low int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low {
		return 0, fmt.Errorf("%s must be a number of at least %d, not %q", what, low, text)
	}
	return n, nil
}

// brokerIDs reads a list as 1,2,3.
func brokerIDs(text string) ([]int32, error) {
	var ids []int32
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no broker id; a list is written as 1,2,3", strings.TrimSpace(part))
		}
		if slices.Contains(ids, int32(n)) {
			return nil, fmt.Errorf("broker %d is twice in %s", n, text)
		}
		ids = append(ids, int32(n))
	}
	return ids, nil
}

func newCreateTopic(d *dashboard) dialog {
	return &form{name: "Create a topic", yes: enterDoes(d, "creates"),
		fields: []formField{newField("name", "", ""), newField("partitions", "1", ""), newField("replication factor", "1", ""),
			newField("assignment", "", "instead: 1,2;2,3"), newField("config", "", "key=value,...")},
		build: buildCreateTopic}
}

func buildCreateTopic(d *dashboard, v []string) (model.Command, error) {
	c := model.CreateTopic{Topic: v[0]}
	err := model.ValidateTopicName(c.Topic)
	if err == nil && viewOf(d.frame).KnowsTopic(c.Topic) {
		err = fmt.Errorf("topic %s exists already", c.Topic)
	}
	if err == nil && v[3] != "" {
		if c.Assignment, err = assignmentLists(v[3]); err == nil {
			c.Partitions, c.ReplicationFactor = len(c.Assignment), len(c.Assignment[0])
		}
	} else if err == nil {
		if c.Partitions, err = number("partitions", v[1], 1); err == nil {
			c.ReplicationFactor, err = number("replication factor", v[2], 1)
		}
	}
	if err == nil {
		c.Config, err = configPairs(v[4])
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// assignmentLists reads a replica list for each partition, as 1,2;2,3.
func assignmentLists(text string) ([][]int32, error) {
	var lists [][]int32
	for part := range strings.SplitSeq(text, ";") {
		ids, err := brokerIDs(part)
		if err != nil {
			return nil, err
		}
		if len(lists) > 0 && len(ids) != len(lists[0]) {
			return nil, fmt.Errorf("partition 0 has %d replicas and partition %d has %d: they must be equal", len(lists[0]), len(lists), len(ids))
		}
		lists = append(lists, ids)
	}
	return lists, nil
}

func configPairs(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	m := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(part, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return nil, fmt.Errorf("%q is not key=value", strings.TrimSpace(part))
		}
		m[k] = strings.TrimSpace(v)
	}
	return m, nil
}

func newAddPartitions(d *dashboard) dialog {
	topic, total := topicChosen(d), ""
	if t := viewOf(d.frame).Topic(topic); t != nil {
		total = itoa(t.PartitionCount() + 1)
	}
	f := &form{name: "Add partitions", yes: enterDoes(d, "adds"),
		fields: []formField{newField("topic", topic, ""), newField("partitions in all", total, "more than there are")},
		build:  buildAddPartitions}
	if topic != "" {
		f.at = 1
	}
	return f
}

func buildAddPartitions(d *dashboard, v []string) (model.Command, error) {
	if err := knownTopic(d, v[0]); err != nil {
		return nil, err
	}
	have := viewOf(d.frame).Topic(v[0]).PartitionCount()
	n, err := number("partitions in all", v[1], have+1)
	if err != nil {
		return nil, err
	}
	return model.AddPartitions{Topic: v[0], Total: n}, nil
}

// enterDoes is what enter does in a form: in admin mode what is asked for is
// planned first.
func enterDoes(d *dashboard, deed string) string {
	if d.frame != nil && d.frame.Mode == model.AdminMode {
		return "plans it"
	}
	return deed
}

func newDeleteTopic(d *dashboard) dialog {
	topic := topicChosen(d)
	about := []string{"Its replicas are deleted on the brokers, then its znodes."}
	if d.frame.Mode == model.AdminMode { // its name is typed below the plan
		return &form{name: "Delete a topic", yes: enterDoes(d, "deletes"), about: about, fields: []formField{newField("topic", topic, "")},
			build: func(d *dashboard, v []string) (model.Command, error) {
				if v[0] == clean(topic) {
					v[0] = topic
				}
				return model.DeleteTopic{Topic: v[0]}, knownTopic(d, v[0])
			}}
	}
	if topic != "" {
		about = append(about, "To delete "+clean(topic)+", type its name.")
	} else {
		about = append(about, "Type the name of the topic to delete.")
	}
	return &form{name: "Delete a topic", yes: "deletes", about: about,
		fields: []formField{newField("topic", "", "")},
		build: func(d *dashboard, v []string) (model.Command, error) {
			if topic == "" {
				return model.DeleteTopic{Topic: v[0]}, knownTopic(d, v[0])
			}
			if v[0] != topic && v[0] != clean(topic) {
				return nil, fmt.Errorf("that is not %s", clean(topic))
			}
			return model.DeleteTopic{Topic: topic}, knownTopic(d, topic)
		}}
}

func newReassign(d *dashboard) dialog {
	s := d.chosen()
	name, target := "", ""
	f := &form{name: "Reassign a partition", yes: enterDoes(d, "moves"), build: buildReassign,
		about: []string{"Without brokers, a move that is running is taken back."}}
	if s.Kind == model.PartitionSubject || s.Kind == model.ReplicaSubject {
		tp := model.TP(s.Topic, s.Partition)
		a := viewOf(d.frame).Assignment(tp)
		name, target = tp.String(), model.JoinIDs(a.Target())
		f.at = 1
		f.about = append(f.about, "It is now on "+assignmentText(a)+".")
	}
	f.fields = []formField{newField("partition", name, "topic-number"), newField("brokers", target, "1,2,3; none: back")}
	return f
}

func buildReassign(d *dashboard, v []string) (model.Command, error) {
	tp, err := model.ParseTopicPartition(v[0])
	if err != nil {
		return nil, err
	}
	p := viewOf(d.frame).Partition(tp)
	if p == nil || p.Assignment == nil {
		return nil, fmt.Errorf("there is no partition %s", clean(v[0]))
	}
	if v[1] == "" {
		if !p.Reassigning && !p.Assignment.IsBeingReassigned() {
			return nil, errors.New("no move of this partition is running: brokers are needed")
		}
		return model.Reassign{TopicPartition: tp, Cancel: true}, nil
	}
	ids, err := brokerIDs(v[1])
	if err != nil {
		return nil, err
	}
	return model.Reassign{TopicPartition: tp, Target: ids}, nil
}
