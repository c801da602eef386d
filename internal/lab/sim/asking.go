package sim

import (
	"slices"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// asked is a request to a controller that waits for its answer.
type asked struct {
	id   uint64
	to   *controller
	life int
	from *node // nil: a client
	then func(model.Answer)
}

// ask asks who the broker takes for the controller; then is called with nil when
// no answer comes. It is not called once the broker's process has ended.
func (n *node) ask(a model.Ask, then func(model.Answer)) {
	id := n.replicas.Controller()
	if !n.s.plan.ibp.AtLeast(model.IBP_3_0_IV0) {
		if _, shutdown := a.(*model.ControlledShutdown); shutdown { // old releases look it up
			id = n.s.registeredController()
		}
	}
	c := n.s.controller(id)
	if c == nil || n.cutFrom[id] {
		n.later(lookPause, func() { then(nil) })
		return
	}
	n.s.ask(c, n, a, then)
}

func (s *Sim) controller(id int32) *controller {
	for _, c := range s.controllers {
		if c.id == id {
			return c
		}
	}
	return nil
}

// registeredNow is registeredController for those who must not call the store.
func (s *Sim) registeredNow() int32 { return s.watch.holder }

// registeredController is who /controller names; NoLeader: nobody.
func (s *Sim) registeredController() int32 {
	data, _, code := s.store.Get(model.ControllerPath)
	if code != zkserver.OK {
		return model.NoLeader
	}
	id, present, err := model.DecodeController(model.ControllerPath, data)
	if err != nil || !present {
		return model.NoLeader
	}
	return id
}

// ask sends a request to a controller.
func (s *Sim) ask(c *controller, from *node, a model.Ask, then func(model.Answer)) {
	s.asks++
	x := &asked{id: s.asks, to: c, life: c.life, from: from, then: then}
	life := 0
	if from != nil {
		life = from.life
		x.then = func(a model.Answer) {
			if from.running && from.life == life {
				then(a)
			}
		}
	}
	s.waiting = append(s.waiting, x)
	s.moved()
	s.after(s.latency(), func() {
		if c.eng == nil || c.life != x.life {
			s.gotAnswer(x.id, nil)
			return
		}
		name := "client"
		if from != nil {
			name = "broker"
		}
		c.deliver(func() { c.input(&model.Asked{ID: x.id, From: name, Ask: a}) })
	})
	s.after(askTimeout, func() { s.gotAnswer(x.id, nil) })
}

// gotAnswer ends the waiting for an answer, if it still lasts.
func (s *Sim) gotAnswer(id uint64, a model.Answer) {
	i := slices.IndexFunc(s.waiting, func(x *asked) bool { return x.id == id })
	if i < 0 {
		return
	}
	x := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	x.then(a)
}

// answered takes a controller's answer on its way.
func (s *Sim) answered(c *controller, r *model.Reply) {
	s.watch.replied(c, r)
	if s.opt.Trace != nil {
		if x, ok := r.Answer.(*model.AlterPartitionAnswer); ok {
			s.tracef("%s answers #%d: %s %v", c, r.Ask, x.Error, x.Partitions)
			for _, p := range x.Partitions {
				s.tracef("%s answers #%d: %s: %s", c, r.Ask, p.TopicPartition, p.Error)
			}
		}
	}
	lost := false
	for _, x := range s.waiting {
		if x.id == r.Ask && x.from != nil {
			lost = x.from.cutFrom[c.id] || x.from.resets(s)
		}
	}
	id := r.Ask
	if lost {
		s.after(s.latency(), func() { s.gotAnswer(id, nil) })
		return
	}
	s.after(s.latency(), func() { s.gotAnswer(id, r.Answer) })
}

// hungUp: a controller's process has ended.
func (s *Sim) hungUp(c *controller) {
	for _, x := range slices.Clone(s.waiting) {
		if x.to == c {
			id := x.id
			s.after(s.latency(), func() { s.gotAnswer(id, nil) })
		}
	}
}
