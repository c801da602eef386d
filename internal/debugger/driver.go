package debugger

import (
	"kstate/engine"
	"kstate/model"
)

// Environment performs steps. For a Call it may take as long as ZooKeeper does;
// for every other step it only queues and returns.
type Environment interface {
	Perform(s model.Step) model.Result
}

// Driver takes an engine's steps one after the other, in the caller's
// goroutine: for commands without a screen, for tests and for simulations.
type Driver struct {
	Engine *engine.Engine
	Env    Environment
	// Next gives the next input, if there is one.
	Next func() (model.Input, bool)
	// Each, if set, sees every step with its result, after it was taken.
	Each func(s model.Step, r model.Result)
}

// Run takes steps and inputs until there is neither, or until limit steps were
// taken; it says whether all came to rest.
func (d *Driver) Run(limit int) bool {
	for range limit {
		for d.Next != nil {
			in, ok := d.Next()
			if !ok {
				break
			}
			d.Engine.Accept(in)
		}
		if d.aside() {
			continue
		}
		s := d.Engine.At()
		if s == nil {
			return true
		}
		r := d.Env.Perform(s)
		d.Engine.Settle(r)
		if d.Each != nil {
			d.Each(s, r)
		}
	}
	return d.Engine.At() == nil
}

// aside takes one step of an admin request, if there is one.
func (d *Driver) aside() bool {
	asides := d.Engine.Asides()
	if len(asides) == 0 {
		return false
	}
	a := asides[0]
	r := d.Env.Perform(a.Step)
	d.Engine.SettleAside(a.ID, r)
	if d.Each != nil {
		d.Each(a.Step, r)
	}
	return true
}
