package explain

import (
	"fmt"
	"maps"
	"slices"

	"kstate/engine"
	"kstate/model"
)

// balance is what prefers one broker.
type balance struct {
	total     int
	elsewhere []model.TopicPartition
}

// leadership explains how leadership is spread and what the automatic balancer
// would do at its next check.
func (c *Cluster) leadership(e *model.Explanation) {
	cfg := engine.DefaultConfig(0)
	if c.memory != nil {
		cfg = c.memory.Config
	} else {
		e.NotKnown = append(e.NotKnown, fmt.Sprintf("whether auto.leader.rebalance.enable is on, and leader.imbalance.per.broker.percentage (taken as %d): the brokers' server.properties have them", cfg.ImbalancePercentage))
	}
	preferring := map[int32]*balance{}
	leads := map[int32]int{}
	var unassigned []model.TopicPartition
	queued, total := 0, 0
	for t := range c.view.Topics() {
		if c.view.IsQueued(t.Name) && c.deleteEnabled() {
			queued++
			continue
		}
		for n, p := range t.Partitions() {
			tp := model.TP(t.Name, n)
			if l := p.Leader(); l >= 0 {
				leads[l]++
			}
			if len(p.Assignment.Replicas) == 0 {
				unassigned = append(unassigned, tp)
				continue
			}
			total++
			head := p.Assignment.Replicas[0]
			b := preferring[head]
			if b == nil {
				b = &balance{}
				preferring[head] = b
			}
			b.total++
			if p.Leadership != nil && p.Leadership.Leader != head {
				b.elsewhere = append(b.elsewhere, tp)
			}
		}
	}
	for _, b := range c.view.Brokers() {
		if preferring[b.ID] == nil {
			preferring[b.ID] = &balance{}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(preferring)) {
		row := c.balanceOf(id, preferring[id], leads[id], cfg.ImbalancePercentage)
		e.Balance = append(e.Balance, row)
		if row.Acts {
			e.Causes = append(e.Causes, c.imbalance(&row, preferring[id], &cfg))
		}
	}
	if len(unassigned) > 0 {
		e.Causes = append(e.Causes, model.Cause{What: "assignment-empty", Subject: "the balancer fails at " + some(unassigned) + " and does nothing at all", Holds: true,
			Evidence: []model.Evidence{c.at(model.TopicPath(unassigned[0].Topic), fmt.Sprintf("partition %d has no replica", unassigned[0].Partition), "")},
			Resumes:  []string{"the topic znode lists replicas for it, and another controller takes over"}})
	}
	e.Causes = append(e.Causes, c.controllerCauses()...)
	c.controllerUnread(e)
	c.concludeLeadership(e, total, queued)
}

func (c *Cluster) concludeLeadership(e *model.Explanation, total, queued int) {
	elsewhere, over := 0, 0
	for i := range e.Balance {
		elsewhere += e.Balance[i].Elsewhere
		if e.Balance[i].Acts {
			over++
		}
	}
	e.Found = slices.ContainsFunc(e.Causes, func(x model.Cause) bool { return x.Holds })
	e.State = "balanced"
	if over > 0 {
		e.State = "imbalanced"
	}
	e.Answer = fmt.Sprintf("%d of %s led by another than the preferred replica; %s over the balancer's limit", elsewhere, model.Plural(total, "partition"), model.Plural(over, "broker"))
	if queued > 0 {
		e.Answer += fmt.Sprintf(" (%s to be deleted left out)", model.Plural(queued, "topic"))
	}
	e.Facts = append(e.Facts, c.controllerEvidence())
}

func (c *Cluster) balanceOf(id int32, b *balance, leads, limit int) model.BrokerBalance {
	row := model.BrokerBalance{Broker: id, Live: c.view.IsLive(id), Leads: leads, Preferring: b.total, Elsewhere: len(b.elsewhere),
		Elects: []string{}, CannotBe: []model.NotElectable{}}
	if b.total > 0 {
		row.Percent = 100 * float64(len(b.elsewhere)) / float64(b.total)
		row.Acts = float64(len(b.elsewhere))/float64(b.total) > float64(limit)/100
	}
	for _, tp := range b.elsewhere {
		if why := c.notElectable(tp, c.view.Partition(tp)); why != "" {
			row.CannotBe = append(row.CannotBe, model.NotElectable{Partition: tp.String(), Why: why})
		} else if row.Acts {
			row.Elects = append(row.Elects, tp.String())
		}
	}
	return row
}

// imbalance is a broker over the limit.
func (c *Cluster) imbalance(row *model.BrokerBalance, b *balance, cfg *engine.Config) model.Cause {
	x := model.Cause{What: LeaderImbalance, Holds: true, Evidence: c.someStates(b.elsewhere),
		Subject: fmt.Sprintf("broker %d: %d of %s that prefer it are led elsewhere, %.1f%%, over %d%%", row.Broker, row.Elsewhere, model.Plural(row.Preferring, "partition"), row.Percent, cfg.ImbalancePercentage)}
	if len(row.Elects) > 0 {
		x.Resumes = append(x.Resumes, fmt.Sprintf("the balancer's next check (each %d s, if it is on) or a preferred election elects it for %s", cfg.ImbalanceCheckInterval/1000, some(row.Elects)))
	}
	for i := range min(len(row.CannotBe), numbersShown) {
		n := &row.CannotBe[i]
		x.Resumes = append(x.Resumes, n.Partition+" cannot be elected now ("+n.Why+"): that changes, and a preferred election runs")
	}
	if !row.Live {
		x.BlockedBy = []string{fmt.Sprintf("broker:%d", row.Broker)}
	}
	if c.memory != nil && !cfg.AutoRebalance {
		x.Evidence = append(x.Evidence, remembers("auto.leader.rebalance.enable is false: nothing elects by itself"))
	}
	return x
}
