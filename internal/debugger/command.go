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
func (s *Session) command(ctx context.Context, o order) {
	s.dirty, s.commandedAt = true, s.opt.Clock()
	switch o.command.(type) {
	case model.Inspect, model.Explain, model.PreviewElection: // looking changes nothing
	default:
		s.opt.Journal.Command(s.commandedAt, o.command)
	}
	if s.resigning {
		o.answer("", errors.New("refused: kstate is ending"))
		return
	}
	told := s.noticeSeq
	if _, anew := o.command.(model.ResetLab); s.gone && !anew {
		s.notice(model.Error, "refused: there is no lab any more; reset it")
	} else if s.carryOut(ctx, o) {
		return
	}
	o.answer("", s.refusalSince(told))
}

// carryOut does what a command says; true when the answer comes later.
func (s *Session) carryOut(ctx context.Context, o order) bool {
	switch c := o.command.(type) {
	case model.Pause:
		if s.mode != paused {
			s.pause("paused by the operator")
		}
	case model.Continue:
		s.mode, s.stopReason, s.stepZnodes = running, "", nil
	case model.StepBy:
		s.stepBy(ctx, c)
	case model.RunUntil:
		s.runUntil(c)
	case model.InjectFault:
		s.inject(c)
	case model.ClearFault:
		s.clearFault(c)
	case model.ReleaseAnswers:
		s.releaseAnswers(c)
	case model.Inspect:
		s.subject, s.inspection = c.Subject, nil
	case model.Explain:
		s.explain(c.Subject)
	case model.PreviewElection:
		s.previewElection(ctx, c)
	case model.ForceMove:
		s.forceMove(c)
	case model.RunElection:
		s.runElection(c)
	case model.Reassign:
		s.reassign(c)
	case model.ResetLab:
		return s.reset(ctx, o)
	case model.RestartController:
		return s.restart(ctx, o)
	case model.ChangeSetting:
		return s.changeSetting(ctx, o, c)
	default:
		if s.asksItself(c) {
			s.askFor(c)
			return false
		}
		return s.operate(ctx, o)
	}
	return false
}

// stepBy takes the step that the operator saw, and holds at the next one of
// that grain or coarser. If the engine has moved on since, it refuses.
func (s *Session) stepBy(ctx context.Context, c model.StepBy) {
	at := s.opt.Engine.At()
	switch {
	case s.inFlight != nil:
		s.notice(model.Warn, "not stepped: ZooKeeper has not answered the last step yet")
	case at == nil:
		if s.mode != paused {
			s.pause("paused by the operator")
		}
		s.notice(model.Info, "nothing to step: the controller is idle")
	case c.Position != s.taken+1:
		s.notice(model.Warn, fmt.Sprintf("not stepped: the controller has moved on to step %d, you saw step %d", s.taken+1, c.Position))
	default:
		s.mode, s.grain, s.stopReason, s.stepZnodes = stepping, c.Grain, "", nil
		s.perform(ctx, at)
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

// forceMove queues a transition for its machine to refuse.
func (s *Session) forceMove(c model.ForceMove) {
	switch v := s.opt.Engine.View(); {
	case s.opt.Mode != model.LabMode:
		s.notice(model.Warn, "refused: transitions are forced in the lab only")
	case !c.Illegal(v):
		s.notice(model.Warn, "refused: "+c.Transition.String()+" is a legal transition, or its subject is not known; only illegal ones are tried")
	default:
		s.accept(model.Input{At: s.opt.Clock(), Of: &model.OperatorMoves{Transition: c.Transition}})
		s.notice(model.Info, c.Transition.String()+" queued, to be refused: it is not legal")
	}
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

// changeSetting changes it at once where that is how it takes effect, else by a
// restart of the controller.
func (s *Session) changeSetting(ctx context.Context, o order, c model.ChangeSetting) bool {
	if s.opt.Restarts == nil {
		return s.operate(ctx, o)
	}
	restart, err := s.opt.Restarts(c)
	switch {
	case err != nil:
		s.notice(model.Warn, "refused: "+err.Error())
		return false
	case restart:
		return s.restart(ctx, o)
	}
	return s.operate(ctx, o)
}

// operate has the environment's owner do it, outside the loop; true when it is
// being done.
func (s *Session) operate(ctx context.Context, o order) bool {
	if s.opt.Operate == nil && s.opt.Mode == model.ControlMode {
		s.notice(model.Warn, "refused: outside the lab kstate starts and stops no brokers, and does nothing to them")
		return false
	}
	if s.opt.Operate == nil {
		s.notice(model.Warn, "refused: "+string(s.opt.Mode)+" mode is read only")
		return false
	}
	do := s.opt.Operate
	var text string
	var err error
	s.aside(func() { text, err = do(ctx, o.command) }, func() {
		if err != nil {
			s.notice(model.Error, err.Error())
		} else if text != "" {
			s.notice(model.Info, text)
			s.accept(model.Input{At: s.opt.Clock(), Of: &model.Remarked{Text: text}})
		}
		o.answer(text, err)
	})
	return true
}

// reset replaces engine and environment by fresh ones.
func (s *Session) reset(ctx context.Context, o order) bool {
	if s.opt.Reset == nil {
		s.notice(model.Warn, "refused: there is no lab to reset in this mode")
		return false
	}
	s.replace(o, func() (Options, error) { return s.opt.Reset(ctx) }, func(err error) {
		if err != nil {
			s.notice(model.Error, "the lab could not be started anew: "+err.Error())
			return
		}
		s.start()
		s.notice(model.Info, "the lab was started anew")
	})
	return true
}

// restart replaces the engine by a fresh one in the same surroundings. The
// history goes on, and a held controller stays held.
func (s *Session) restart(ctx context.Context, o order) bool {
	if s.opt.Restart == nil {
		s.notice(model.Warn, "refused: only the lab's controller can be restarted")
		return false
	}
	if s.mode == stepping {
		s.mode = paused
	}
	s.heldAt = 0 // the new one is held nowhere yet
	restart := s.opt.Restart
	s.replace(o, func() (Options, error) { return restart(ctx, o.command) }, func(err error) {
		if err != nil {
			s.notice(model.Error, "the controller could not be started again: "+err.Error())
			return
		}
		text := "the controller was restarted"
		if c, ok := o.command.(model.ChangeSetting); ok {
			text = "the controller was restarted, for in Kafka too this setting is read at the start only: " + model.CommandText(c)
		}
		s.begin()
		s.accept(model.Input{At: s.opt.Clock(), Of: &model.Remarked{Text: text}})
		s.notice(model.Info, text)
	})
	return true
}

// replace closes the engine and goes on with another one.
func (s *Session) replace(o order, anew func() (Options, error), then func(error)) {
	s.generation++
	s.resetting, s.inspecting, s.inFlight = true, false, nil
	s.opt.Engine.Close()
	var fresh Options
	var err error
	s.aside(func() { fresh, err = anew() }, func() {
		s.resetting = false
		if s.gone = err != nil; !s.gone {
			fresh.Clock, fresh.Journal = s.opt.Clock, s.opt.Journal
			s.opt = fresh
			s.mu.Lock()
			s.inputs = nil // whatever the old environment still said
			s.mu.Unlock()
		}
		then(err)
		o.answer("", err)
	})
}
