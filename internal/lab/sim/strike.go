package sim

import (
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// strike lets one of the seed's faults happen, and the next later.
func (s *Sim) strike() {
	if s.healed {
		return
	}
	s.after(s.around(s.plan.faultEvery), s.strike)
	if len(s.plan.faults) == 0 {
		return
	}
	f := s.plan.faults[s.rng.IntN(len(s.plan.faults))]
	c := s.controllers[s.rng.IntN(len(s.controllers))]
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	if active := s.operator.active(); s.percent(50) {
		c = active
	}
	if s.strikeController(f, c) || s.strikeBroker(f, n, c) || s.strikeZnodes(f) {
		s.stats.fault(f)
		s.tracef("fault: %s", f)
	}
}

// strikeController returns whether the fault happened now; armed ones count when
// they strike.
func (s *Sim) strikeController(f Fault, c *controller) bool {
	if c.eng == nil {
		return false
	}
	switch f {
	case SessionExpiry:
		c.zk.expire()
	case MidCallExpiry, MidCallCrash, LostBefore, LostAfter:
		if len(c.armed) < 3 {
			c.armed = append(c.armed, f)
		}
		return false
	case ConnectionLost:
		c.zk.lose(s.upTo(s.plan.sessionTimeout + s.plan.sessionTimeout/4))
	case ControllerPause:
		c.pause(s.upTo(2 * s.plan.sessionTimeout))
	case ControllerCrash:
		c.crash()
		s.after(s.upTo(10*second), c.start)
	default:
		return false
	}
	return true
}

func (s *Sim) strikeBroker(f Fault, n *node, c *controller) bool {
	switch f {
	case BrokerCrash:
		if !n.running {
			return false
		}
		n.die(s.upTo(s.plan.sessionTimeout))
		s.after(s.upTo(30*second), n.start)
	case BrokerBounce:
		if !n.running {
			return false
		}
		n.die(s.upTo(s.plan.latency))
		s.after(s.upTo(2*s.plan.latency), n.start)
	case BrokerShutdown:
		if !n.up || n.stopping {
			return false
		}
		n.shutDown(func() { s.after(s.upTo(10*second), n.start) })
	case LogDirFailure:
		if !n.failDir() {
			return false
		}
		s.after(s.upTo(60*second), func() {
			if !s.healed && n.repair() {
				n.die(0)
				s.after(s.upTo(second), n.start)
			}
		})
	case SilentBroker:
		n.silent = s.now + s.upTo(40*second)
	case SlowBroker:
		n.slowness = s.upTo(2 * second)
		s.after(s.upTo(20*second), func() { n.slowness = 0 })
	case BrokerReset:
		n.flaky = 5 + s.rng.IntN(40)
		s.after(s.upTo(20*second), func() { n.flaky = 0 })
		return false // counted one by one
	case BrokerZooKeeperCut:
		if n.cutOff {
			return false
		}
		n.cutOff = true
		s.after(s.plan.sessionTimeout, func() {
			if n.cutOff {
				n.expire()
			}
		})
		s.after(s.upTo(2*s.plan.sessionTimeout), func() { n.cutOff = false })
	case BrokerControlCut:
		n.cutFrom[c.id] = true
		s.after(s.upTo(30*second), func() { delete(n.cutFrom, c.id) })
	default:
		return false
	}
	return true
}

func (s *Sim) strikeZnodes(f Fault) bool {
	switch f {
	case RoleTaken:
		return s.apply(zkserver.Delete(model.ControllerPath, -1)) == zkserver.OK
	case OutsideWrite:
		return s.operator.overwrite()
	case HalfDeletion:
		return s.operator.halfDelete()
	}
	return false
}

// heal ends all faults and brings everything back.
func (s *Sim) heal() {
	s.tracef("healing begins")
	s.healed, s.healedAt = true, s.now
	s.moved()
	s.tick()
	for _, c := range s.controllers {
		c.armed = nil
		c.resume()
		s.after(s.upTo(second), c.start)
	}
	for _, n := range s.nodes {
		n.cutOff, n.silent, n.slowness, n.flaky = false, 0, 0, 0
		clear(n.cutFrom)
		if n.repair() && n.running {
			n.die(0)
		}
		s.after(s.upTo(10*second), n.start)
	}
	if s.has(model.ReassignPartitionsPath) {
		// One that was written over is not noticed before the next term (8.53).
		s.after(60*second, func() { s.remove(model.ReassignPartitionsPath) })
	}
}

// tick keeps virtual time going while nothing happens.
func (s *Sim) tick() { s.after(5*second, s.tick) }
