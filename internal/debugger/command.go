package debugger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kstate/engine"
	"kstate/model"
)

// command carries out one command of the operator, in the loop.
func (s *Session) command(ctx context.Context, c model.Command) {
	s.dirty, s.commandedAt = true, s.opt.Clock()
	switch c.(type) {
	case model.Inspect, model.Explain, model.PreviewElection: // looking changes nothing
	default:
		s.opt.Journal.Command(s.commandedAt, c)
	}
	if s.resigning {
		return
	}
	if _, anew := c.(model.ResetLab); s.gone && !anew {
		s.notice(model.Error, "refused: there is no lab any more; reset it")
		return
	}
	switch c := c.(type) {
	case model.Pause:
		if s.mode != paused {
			s.pause("paused by the operator")
		}
	case model.Continue:
		s.mode, s.stopReason, s.stepZnodes = running, "", nil
	case model.StepBy:
		s.stepBy(c)
	case model.Inspect:
		s.subject, s.inspection = c.Subject, nil
	case model.Explain:
		s.explain(c.Subject)
	case model.PreviewElection:
		s.previewElection(ctx, c)
	case model.RunElection:
		s.runElection(c)
	case model.Reassign:
		s.reassign(c)
	case model.ResetLab:
		s.reset(ctx)
	default:
		if s.asksItself(c) {
			s.askFor(c)
			return
		}
		s.operate(ctx, c)
	}
}

// stepBy takes the step that the operator saw, and holds at the next one of
// that grain or coarser. If the engine has moved on since, it refuses.
func (s *Session) stepBy(c model.StepBy) {
	at := s.opt.Engine.At()
	switch {
	case s.inFlight != nil:
		s.notice(model.Warn, "not stepped: ZooKeeper has not answered the last step yet")
	case at == nil:
		if s.mode == running {
			s.pause("paused by the operator")
		}
		s.notice(model.Info, "nothing to step: the controller is idle")
	case c.Position != s.taken+1:
		s.notice(model.Warn, fmt.Sprintf("not stepped: the controller has moved on to step %d, you saw step %d", s.taken+1, c.Position))
	default:
		s.mode, s.grain, s.stopReason, s.stepZnodes = stepping, c.Grain, "", nil
		s.perform(at)
	}
}

// scope lists the partitions that an election is for, in order.
func scope(v *model.View, sub model.Subject) []model.TopicPartition {
	var out []model.TopicPartition
	switch sub.Kind {
	case model.PartitionSubject, model.ReplicaSubject:
		return []model.TopicPartition{model.TP(sub.Topic, sub.Partition)}
	case model.TopicSubject:
		for n := range v.Topic(sub.Topic).Partitions() {
			out = append(out, model.TP(sub.Topic, n))
		}
		return out
	}
	for t := range v.Topics() {
		for n, p := range t.Partitions() {
			if sub.Kind != model.BrokerSubject || slices.Contains(p.Assignment.Replicas, sub.Broker) {
				out = append(out, model.TP(t.Name, n))
			}
		}
	}
	return out
}

const previewShown = 2000 // results of a preview in a frame

// previewElection computes the outcome on a frozen memory, outside the loop.
func (s *Session) previewElection(ctx context.Context, c model.PreviewElection) {
	v := s.opt.Engine.View()
	cfg := s.opt.Engine.Config()
	peek := s.opt.Peek
	p := &model.ElectionPreview{Strategy: c.Strategy, Scope: c.Scope}
	s.aside(func() {
		tps := scope(v, c.Scope.Subject)
		configs := map[string]bool{}
		unclean := func(topic string) (bool, error) {
			if on, ok := configs[topic]; ok {
				return on, nil
			}
			on, err := peekUnclean(ctx, peek, cfg.BrokerConfig, topic)
			if err == nil {
				configs[topic] = on
			}
			return on, err
		}
		p.Total = len(tps)
		p.Results = engine.Preview(v, cfg.IBP, c.Strategy, tps[:min(previewShown, len(tps))], unclean)
	}, func() { s.preview = p })
}

func peekUnclean(ctx context.Context, peek func(context.Context, string) model.Znode, broker map[string]string, topic string) (bool, error) {
	path := model.TopicConfigPath(topic)
	if peek == nil {
		return false, errors.New("no way to read " + path)
	}
	z := peek(ctx, path)
	switch {
	case z.Err != "":
		return false, errors.New(z.Err)
	case z.Missing:
		return engine.EffectiveUnclean(broker, nil)
	}
	overrides, err := model.DecodeConfig(path, z.Data)
	if err != nil {
		return false, err
	}
	return engine.EffectiveUnclean(broker, overrides)
}

// runElection queues the election as an event of the engine.
func (s *Session) runElection(c model.RunElection) {
	s.preview = nil
	if s.opt.Mode != model.LabMode && s.opt.Mode != model.ControlMode {
		s.notice(model.Warn, "refused: only a controller runs elections, and in this mode kstate is none")
		return
	}
	tps := scope(s.opt.Engine.View(), c.Scope.Subject)
	if len(tps) == 0 {
		s.notice(model.Warn, "refused: no partition in that scope")
		return
	}
	s.accept(model.Input{At: s.opt.Clock(), Of: &model.OperatorElects{Strategy: c.Strategy, Partitions: tps}})
	s.notice(model.Info, fmt.Sprintf("%s election of %d partitions queued", c.Strategy, len(tps)))
}

// operate has the environment's owner do it, outside the loop.
func (s *Session) operate(ctx context.Context, c model.Command) {
	if s.opt.Operate == nil && s.opt.Mode == model.ControlMode {
		s.notice(model.Warn, "refused: outside the lab kstate starts and stops no brokers")
		return
	}
	if s.opt.Operate == nil {
		s.notice(model.Warn, "refused: "+string(s.opt.Mode)+" mode is read only")
		return
	}
	do := s.opt.Operate
	var text string
	var err error
	s.aside(func() { text, err = do(ctx, c) }, func() {
		if err != nil {
			s.notice(model.Error, err.Error())
		} else if text != "" {
			s.notice(model.Info, text)
		}
	})
}

// reset replaces engine and environment by fresh ones.
func (s *Session) reset(ctx context.Context) {
	if s.opt.Reset == nil {
		s.notice(model.Warn, "refused: there is no lab to reset in this mode")
		return
	}
	s.generation++
	s.resetting, s.inspecting, s.inFlight = true, false, nil
	s.opt.Engine.Close()
	var fresh Options
	var err error
	anew := s.opt.Reset
	s.aside(func() { fresh, err = anew(ctx) }, func() {
		s.resetting = false
		if s.gone = err != nil; s.gone {
			s.notice(model.Error, "the lab could not be started anew: "+err.Error())
			return
		}
		fresh.Clock, fresh.Journal = s.opt.Clock, s.opt.Journal
		s.opt = fresh
		s.mu.Lock()
		s.inputs = nil // whatever the old environment still said
		s.mu.Unlock()
		s.start()
		s.notice(model.Info, "the lab was started anew")
	})
}
