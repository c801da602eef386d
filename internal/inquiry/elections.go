package inquiry

import (
	"fmt"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// Election is the outcome of an election for one partition: a leader with its
// ISR, or an error. Candidates are the replicas that the strategy looked at, in
// that order.
type Election struct {
	Leader     *int32      `json:"leader"`
	ISR        []int32     `json:"isr"`
	Error      *string     `json:"error"`
	Why        string      `json:"why,omitempty"` // in words, with an error
	OldLeader  *int32      `json:"old_leader"`
	Unclean    bool        `json:"unclean,omitempty"`
	Candidates []Candidate `json:"candidates"`
}

// Candidate is a replica with the conditions that it meets.
type Candidate struct {
	Broker       int32 `json:"broker"`
	Registered   bool  `json:"registered"`
	ShuttingDown bool  `json:"shutting_down"`
	OfflineDir   bool  `json:"offline_dir"`
	Online       bool  `json:"online"`
	InISR        bool  `json:"in_isr"`
}

// NoAnswer is the error of a partition for which the controller's event fails:
// whoever asked waits for nothing.
const NoAnswer = "NO_ANSWER"

// Partitions are those in the controller's memory, of one topic if it is named,
// in order.
func (c *Copy) Partitions(topic string) []model.TopicPartition {
	var out []model.TopicPartition
	for t := range c.engine.View().Entries() {
		if topic != "" && t.Name != topic {
			continue
		}
		for n := range t.Partitions() {
			out = append(out, model.TP(t.Name, n))
		}
	}
	return out
}

// Elect asks for elections by a strategy, each partition by itself, after
// TakeOver. Preferred and unclean elections are asked for as clients do, and
// answered by the controller; the other strategies have no request, and are
// computed on its memory.
func (c *Copy) Elect(s model.Strategy, tps []model.TopicPartition) (map[string]*Election, error) {
	previews := engine.Preview(c.engine.View(), c.engine.Config().IBP, s, tps, c.uncleanEnabled)
	out := make(map[string]*Election, len(tps))
	for _, p := range previews {
		e := show(&p)
		switch s {
		case model.PreferredStrategy:
			if err := c.answer(e, p.TopicPartition, model.PreferredElection); err != nil {
				return nil, err
			}
		case model.OfflineUncleanStrategy:
			if err := c.answer(e, p.TopicPartition, model.UncleanElection); err != nil {
				return nil, err
			}
		}
		out[p.TopicPartition.String()] = e
	}
	return out, nil
}

func show(p *model.PreviewResult) *Election {
	e := &Election{Candidates: []Candidate{}, Unclean: p.Verdict.Unclean, Why: p.Why}
	if p.OldLeader != model.NoLeader {
		e.OldLeader = &p.OldLeader
	}
	for _, c := range p.Verdict.Candidates {
		e.Candidates = append(e.Candidates, Candidate(c))
	}
	if n := p.Verdict.New; n != nil {
		e.Leader, e.ISR = &n.Leader, n.ISR
	}
	if p.Error != model.ErrNone {
		e.fail(p.Error.String(), p.Why)
	}
	return e
}

func (e *Election) fail(code, why string) {
	e.Leader, e.ISR, e.Error, e.Why, e.Unclean = nil, nil, &code, why, false
}

// answer replaces what was computed by what the controller answers.
func (c *Copy) answer(e *Election, tp model.TopicPartition, kind model.ElectionType) error {
	answer, err := c.ask(&model.ElectLeaders{Type: kind, Partitions: []model.TopicPartition{tp}})
	if err != nil {
		return err
	}
	results, ok := answer.(*model.ElectLeadersAnswer)
	if !ok || len(results.Results) == 0 {
		e.fail(NoAnswer, "cannot be elected: no leadership information")
		return nil
	}
	r := results.Results[0]
	if r.Error != model.ErrNone {
		e.fail(r.Error.String(), r.Why)
		return nil
	}
	l := c.engine.View().Leadership(tp)
	if l == nil {
		return fmt.Errorf("partition %s was elected and has no leadership", tp)
	}
	e.Leader, e.ISR, e.Error, e.Why = &r.Leader, l.ISR, nil, ""
	return nil
}

// uncleanEnabled is a topic's effective setting.
func (c *Copy) uncleanEnabled(topic string) (bool, error) {
	path := model.TopicConfigPath(topic)
	var overrides map[string]string
	if data, _, code := c.store.Get(model.JoinChroot(c.file.Chroot, path)); code == zkserver.OK {
		var err error
		if overrides, err = model.DecodeConfig(path, data); err != nil {
			return false, err
		}
	}
	return engine.EffectiveUnclean(c.engine.Config().BrokerConfig, overrides)
}
