package explain

import (
	"cmp"
	"slices"
	"strings"

	"kstate/model"
)

const nearShown = 5

// near lists names that an operator may have meant.
func (c *Cluster) near(s model.Subject) []string {
	switch s.Kind {
	case model.TopicSubject:
		return nearest(s.Topic, c.topicNames())
	case model.PartitionSubject, model.ReplicaSubject:
		if t := c.view.Topic(s.Topic); t != nil && t.PartitionCount() > 0 {
			return partitionsOf(t)
		}
		return nearest(s.Topic, c.topicNames())
	case model.BrokerSubject:
		var names []string
		for _, b := range c.view.Brokers() {
			names = append(names, model.Subject{Kind: model.BrokerSubject, Broker: b.ID}.Name())
		}
		return names[:min(len(names), nearShown)]
	}
	return nil
}

// partitionsOf names the first and the last partition of a topic.
func partitionsOf(t *model.Topic) []string {
	var first, last int32
	n := 0
	for i := range t.Partitions() {
		if n == 0 {
			first = i
		}
		last, n = i, n+1
	}
	if n == 1 {
		return []string{model.TP(t.Name, first).String()}
	}
	return []string{model.TP(t.Name, first).String() + " to " + model.TP(t.Name, last).String()}
}

func (c *Cluster) topicNames() []string {
	var names []string
	if c.survey != nil {
		for t := range c.survey.Topics() {
			names = append(names, t.Name)
		}
		return names
	}
	for t := range c.view.Topics() {
		names = append(names, t.Name)
	}
	return names
}

// nearest are the names that contain the given one, whatever the case, are
// contained in it or differ in few letters, the closest first.
func nearest(name string, names []string) []string {
	type match struct {
		name     string
		distance int
	}
	var found []match
	low := strings.ToLower(name)
	limit := max(2, len(name)/4)
	for _, n := range names {
		l := strings.ToLower(n)
		d := limit + 1
		switch {
		case l == low:
			d = 0
		case name != "" && (strings.Contains(l, low) || len(l) > 2 && strings.Contains(low, l)):
			d = 1
		case abs(len(n)-len(name)) <= limit:
			d = distance(low, l)
		}
		if d <= limit {
			found = append(found, match{n, d})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, m := range found[:min(len(found), nearShown)] {
		out = append(out, m.name)
	}
	return out
}

func abs(n int) int { return max(n, -n) }

// distance is how many letters must be put in, taken out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			up := row[j+1]
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(up+1, row[j]+1, diagonal+cost)
			diagonal = up
		}
	}
	return row[len(b)]
}
