package ui

import (
	"fmt"
	"strings"

	"kstate/model"
)

// topicList is the pane of topics.
type topicList struct {
	list[string]
	filter filter
}

func (l *topicList) source(v *model.View) topicSource { return topicSource{v, &l.filter} }

var topicTable = table{{title: "TOPIC", weight: 1}, {title: "PARTS", width: 6, right: true}, {title: "OFFL", width: 5, right: true},
	{title: "REPL", width: 6, right: true}, {title: "OFFL", width: 5, right: true}, {title: "NOTES", weight: 1}}

func (l *topicList) draw(a area, f *model.Frame, focused bool) {
	v := viewOf(f)
	a = a.title("Topics", focused, listInfo(v.TopicCount, "topic", &l.filter))
	topicTable.header(a, 0)
	a = a.below(1)
	rows := l.rows(l.source(v), a.h)
	for y, name := range rows {
		t := v.Topic(name)
		topicTable.row(a, y, topicStyle(t), name, itoa(t.PartitionCount()), itoa(t.PartitionCounts[model.OfflinePartition]),
			itoa(replicaCount(t)), itoa(t.ReplicaCounts[model.OfflineReplica]), topicNotes(v, t))
		if focused && name == l.cursor {
			a.mark(y)
		}
	}
	noRows(a, len(rows), &l.filter, "no topics")
}

func replicaCount(t *model.Topic) int {
	n := 0
	for _, c := range t.ReplicaCounts {
		n += c
	}
	return n
}

func topicStyle(t *model.Topic) style {
	if t.Unreadable != "" || t.PartitionCounts[model.OfflinePartition] > 0 {
		return bad
	}
	return plain
}

// topicNotes says what is going on with a topic, most urgent first.
func topicNotes(v *model.View, t *model.Topic) string {
	var notes []string
	add := func(on bool, note string) {
		if on {
			notes = append(notes, note)
		}
	}
	add(t.Unreadable != "", "unreadable: "+t.Unreadable)
	add(v.TopicsIneligibleForDeletion.Has(t.Name), "ineligible: "+string(v.IneligibleReason(t.Name)))
	started := v.TopicsWithDeletionStarted.Has(t.Name)
	add(started, "deletion started")
	add(!started && v.IsQueued(t.Name), "to be deleted")
	add(t.Reassigning > 0, "reassigning "+itoa(t.Reassigning))
	return strings.Join(notes, ", ")
}

// listInfo is what the title of a list says: its length, and its filter.
func listInfo(n int, noun string, f *filter) string {
	info := itoa(n) + " " + noun
	if n != 1 {
		info += "s"
	}
	if f.on() {
		info += ", filter " + f.text
		if f.busy && f.first {
			info += " (searching)"
		}
	}
	return info
}

// noRows explains an empty list.
func noRows(a area, n int, f *filter, why string) {
	switch {
	case n > 0:
	case f.on() && f.busy && f.first:
		a.put(1, 0, faint, "searching …")
	case f.on():
		a.put(1, 0, faint, "nothing matches "+f.text+" (esc clears the filter)")
	default:
		a.put(1, 0, faint, why)
	}
}

// partitionList is the pane of partitions. One replica of the chosen partition
// may be chosen too: replica is its place in the assignment plus one.
type partitionList struct {
	list[model.TopicPartition]
	filter  filter
	replica int
}

func (l *partitionList) source(v *model.View) partitionSource { return partitionSource{v, &l.filter} }

var partitionTable = table{{title: "PARTITION", weight: 2}, {title: "STATE", width: 11}, {title: "LEADER", width: 6, right: true},
	{title: "EPOCH", width: 5, right: true}, {title: "ISR", width: 9}, {title: "REPLICAS", width: 9}, {title: "NOTES", weight: 1}}

func (l *partitionList) draw(a area, f *model.Frame, focused bool) {
	v := viewOf(f)
	n := 0
	for _, c := range v.PartitionCounts {
		n += c
	}
	a = a.title("Partitions", focused, listInfo(n, "partition", &l.filter))
	partitionTable.header(a, 0)
	a = a.below(1)
	rows := l.rows(l.source(v), a.h)
	for y, tp := range rows {
		l.drawRow(a, y, v, tp, focused && tp == l.cursor)
	}
	noRows(a, len(rows), &l.filter, "no partitions")
}

func (l *partitionList) drawRow(a area, y int, v *model.View, tp model.TopicPartition, chosen bool) {
	p := v.Partition(tp)
	leader, epoch, isr := "-", "-", "-"
	if r := p.Leadership; r != nil {
		leader, epoch, isr = itoa(r.Leader), itoa(r.LeaderEpoch), model.JoinIDs(r.ISR)
	}
	st := plain
	if p.State == model.OfflinePartition || p.Unreadable != "" {
		st = bad
	}
	partitionTable.row(a, y, st, tp.String(), shortState(p), leader, epoch, isr, model.JoinIDs(p.Assignment.Replicas), partitionNotes(p))
	if !chosen {
		return
	}
	a.mark(y)
	if b, ok := l.chosenReplica(p); ok {
		partitionTable.place(a.w, func(i, x, w int) {
			if partitionTable[i].title == "REPLICAS" {
				a.sub(x, y, w, 1).fill(0, 0, w, plain, " ")
				a.sub(x, y, w, 1).put(0, 0, strong, fmt.Sprintf("replica %d", b))
			}
		})
	}
}

// chosenReplica is the broker of the chosen replica of the chosen partition.
func (l *partitionList) chosenReplica(p *model.Partition) (int32, bool) {
	if p == nil || p.Assignment == nil || l.replica == 0 || l.replica > len(p.Assignment.Replicas) {
		return 0, false
	}
	return p.Assignment.Replicas[l.replica-1], true
}

// sideways chooses a replica of the chosen partition.
func (l *partitionList) sideways(v *model.View, by int) {
	if l.settle(l.source(v)) {
		n := len(v.Assignment(l.cursor).Replicas)
		l.replica = min(max(l.replica+by, 0), n)
	}
}

func shortState(p *model.Partition) string {
	if p.Unreadable != "" {
		return "unreadable"
	}
	return strings.TrimSuffix(p.State.String(), "Partition")
}

func partitionNotes(p *model.Partition) string {
	var notes []string
	if p.Reassigning {
		notes = append(notes, "reassigning")
	}
	for _, r := range p.Replicas {
		if r.OfflineDir {
			notes = append(notes, "dir failed on "+itoa(r.Broker))
		}
	}
	if p.Unreadable != "" {
		notes = append(notes, p.Unreadable)
	}
	return strings.Join(notes, ", ")
}

// brokerList is the pane of brokers. There are few: the filter looks at all.
type brokerList struct {
	list[int32]
	text string
}

// brokerSource walks brokers by id.
type brokerSource []model.BrokerStatus

func (l *brokerList) source(f *model.Frame) brokerSource {
	if l.text == "" {
		return f.Brokers
	}
	var out []model.BrokerStatus
	for _, b := range f.Brokers {
		if strings.Contains(itoa(b.ID), l.text) || strings.Contains(b.State, l.text) || strings.Contains(strings.Join(b.Endpoints, " "), l.text) {
			out = append(out, b)
		}
	}
	return out
}

func (s brokerSource) compare(a, b int32) int { return int(a) - int(b) }

func (s brokerSource) index(k int32) int {
	for i := range s {
		if s[i].ID == k {
			return i
		}
	}
	return -1
}

func (s brokerSource) has(k int32) bool { return s.index(k) >= 0 }

func (s brokerSource) first() (int32, bool) { return s.at(0) }
func (s brokerSource) last() (int32, bool)  { return s.at(len(s) - 1) }

func (s brokerSource) at(i int) (int32, bool) {
	if i < 0 || i >= len(s) {
		return 0, false
	}
	return s[i].ID, true
}

func (s brokerSource) after(k int32) (int32, bool) {
	for i := range s {
		if s[i].ID > k {
			return s[i].ID, true
		}
	}
	return 0, false
}

func (s brokerSource) before(k int32) (int32, bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].ID < k {
			return s[i].ID, true
		}
	}
	return 0, false
}

var brokerTable = table{{title: "BROKER", width: 6, right: true}, {title: "STATE", width: 13}, {title: "EPOCH", width: 18, right: true},
	{title: "LEADS", width: 5, right: true}, {title: "REPL", width: 5, right: true}, {title: "ENDPOINTS", weight: 1}}

func (l *brokerList) draw(a area, f *model.Frame, focused bool) {
	info := itoa(len(f.Brokers)) + " brokers"
	if l.text != "" {
		info += ", filter " + l.text
	}
	a = a.title("Brokers", focused, info)
	brokerTable.header(a, 0)
	a = a.below(1)
	s := l.source(f)
	rows := l.rows(s, a.h)
	for y, id := range rows {
		b := &s[s.index(id)]
		epoch := "-"
		if b.Epoch != 0 {
			epoch = itoa(int(b.Epoch))
		}
		brokerTable.row(a, y, brokerStyle(b.State), itoa(id), b.State, epoch, itoa(b.Leads), itoa(b.Replicas), strings.Join(b.Endpoints, " "))
		if focused && id == l.cursor {
			a.mark(y)
		}
	}
	noRows(a, len(rows), &filter{text: l.text}, "no brokers")
}

func brokerStyle(state string) style {
	switch state {
	case "live":
		return plain
	case "shutting-down", "running":
		return warn
	}
	return bad
}
