package debugger

import (
	"context"
	"strconv"
	"time"

	"kstate/engine"
	"kstate/model"
)

// showFrame sends a frame if something changed and the last one is old enough;
// it returns how long to wait for the next.
func (s *Session) showFrame(ctx context.Context) time.Duration {
	const period = time.Second / framesPerSec
	since := time.Since(s.lastFrame)
	if s.resetting {
		return time.Second
	}
	if !s.dirty && since < time.Second { // connection and ages change without an event
		return time.Second - since
	}
	if since < period {
		return period - since
	}
	s.peekStep(ctx)
	s.peekSubject(ctx)
	s.explainAnew(ctx)
	f := s.frame()
	s.dirty, s.lastFrame = false, time.Now()
	select { // latest wins
	case <-s.frames:
	default:
	}
	s.frames <- f
	return time.Second
}

// frame folds everything into one picture.
func (s *Session) frame() model.Frame {
	e := s.opt.Engine
	v := e.View()
	channels, alert := s.channels()
	f := model.Frame{Mode: s.opt.Mode, ReadOnly: s.opt.Operate == nil && s.opt.Mode != model.ControlMode, Source: s.opt.Source, Now: s.opt.Clock(),
		Position: s.taken + 1, View: v, Event: e.Current(), At: e.At(), Edges: model.Edges{LastPartition: partitionEdge(s.partitionMove), LastReplica: replicaEdge(s.replicaMove)},
		History: s.history.Snapshot(), Open: e.OpenRequests(batchShown), Term: e.Term(),
		Inspection: s.inspection, Explanation: s.why.explanation, StepZnodes: s.stepZnodes, Preview: s.preview, Notices: s.notices}
	switch {
	case s.inFlight != nil:
		f.Run = model.Waiting
	case s.mode == paused:
		f.Run, f.StopReason = model.Paused, s.stopReason
	default:
		f.Run = model.Running
	}
	f.ContinuesAt = s.continuesAt()
	f.Queue, f.QueueLen = e.Queue(queueShown)
	f.Edges.ProposedPartition, f.Edges.ProposedReplica = partitionEdge(f.At), replicaEdge(f.At)
	f.Controller = s.controllerStatus()
	f.Journal = s.journalStatus()
	if s.opt.Connection != nil {
		f.Connection = s.opt.Connection()
	}
	f.Channels, f.Alert = channels, alert
	if s.opt.Brokers != nil {
		f.Brokers = s.opt.Brokers(v)
	}
	f.Settings = settingValues(e.Config())
	f.Faults, f.Held = s.faults.snapshot()
	f.NoFaults = s.opt.NoFaults
	if s.opt.Scenario != nil {
		f.Scenario = s.opt.Scenario(&f)
	}
	return f
}

// settingValues are the settings that change what a controller does.
func settingValues(c engine.Config) []model.SettingValue {
	unclean, err := engine.EffectiveUnclean(c.BrokerConfig, nil)
	value := strconv.FormatBool(unclean)
	if err != nil {
		value = err.Error()
	}
	return []model.SettingValue{
		{Name: "unclean.leader.election.enable", Value: value},
		{Name: "delete.topic.enable", Value: strconv.FormatBool(c.DeleteTopicEnable), AtStart: true},
		{Name: "auto.leader.rebalance.enable", Value: strconv.FormatBool(c.AutoRebalance), AtStart: true},
		{Name: "leader.imbalance.per.broker.percentage", Value: strconv.Itoa(c.ImbalancePercentage), AtStart: true},
		{Name: "leader.imbalance.check.interval.seconds", Value: strconv.FormatInt(c.ImbalanceCheckInterval/1000, 10), AtStart: true},
	}
}

// controllerStatus is who holds the role, as the engine knows.
func (s *Session) controllerStatus() model.ControllerStatus {
	e := s.opt.Engine
	st := model.ControllerStatus{Status: "absent", ID: e.ActiveController(), Epoch: -1}
	if st.ID >= 0 {
		st.Status = "active"
	}
	if e.IsActive() {
		st.Self, st.Epoch = true, e.Epoch()
	}
	return st
}

// peekStep reads what the call at hand is about to overwrite, once per stop.
func (s *Session) peekStep(ctx context.Context) {
	call, ok := s.opt.Engine.At().(*model.Call)
	if !ok || s.mode != paused || s.inFlight != nil || s.opt.Peek == nil || !call.Writes() {
		return
	}
	position := s.taken + 1
	if s.stepZnodes != nil && s.stepZnodes.Position == position {
		return
	}
	s.stepZnodes = &model.StepZnodes{Position: position}
	peek, out := s.opt.Peek, &model.StepZnodes{Position: position}
	s.aside(func() {
		for i := range call.Ops {
			if call.Ops[i].Kind.Writes() && len(out.Changes) < znodesPeeked {
				out.Changes = append(out.Changes, model.ZnodeChange{Op: call.Ops[i], Before: peek(ctx, call.Ops[i].Path)})
			}
		}
	}, func() {
		if s.stepZnodes != nil && s.stepZnodes.Position == position {
			s.stepZnodes = out
		}
	})
}

// peekSubject reads the inspected subject's znodes, unless they were read just now.
func (s *Session) peekSubject(ctx context.Context) {
	now := s.opt.Clock()
	if s.subject.Kind == model.NoSubject || s.inspecting || s.opt.Peek == nil ||
		s.inspection != nil && now-s.inspection.At < inspectPeriod.Milliseconds() {
		return
	}
	s.inspecting = true
	subject, peek, disk := s.subject, s.opt.Peek, s.opt.Disk
	in := &model.Inspection{Subject: subject, At: now}
	s.aside(func() {
		for _, path := range subject.Paths() {
			in.Znodes = append(in.Znodes, peek(ctx, path))
		}
		if disk != nil && subject.Kind == model.BrokerSubject {
			in.Dirs = disk(subject.Broker)
		}
	}, func() {
		s.inspecting = false
		if subject == s.subject {
			s.inspection = in
		}
	})
}
