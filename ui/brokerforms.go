package ui

import (
	"fmt"
	"strconv"
	"strings"

	"kstate/model"
)

// isUp: the broker's process runs.
func isUp(b *model.BrokerStatus) bool {
	return b.State == "live" || b.State == "shutting-down" || b.State == "running"
}

const noBroker = "there is none"

// brokerForm asks for a broker out of those that fit.
func brokerForm(d *dashboard, f form, fits func(*model.BrokerStatus) bool, make func(id int32) model.Command) *form {
	var ids []int32
	preset := ""
	s := d.chosen()
	for i := range d.frame.Brokers {
		b := &d.frame.Brokers[i]
		if !fits(b) {
			continue
		}
		ids = append(ids, b.ID)
		if (s.Kind == model.BrokerSubject || s.Kind == model.ReplicaSubject) && s.Broker == b.ID {
			preset = itoa(b.ID)
		}
	}
	hint := "one of " + model.JoinIDs(ids)
	if ids == nil {
		hint = noBroker
	}
	f.fields = []formField{newField("broker", preset, hint)}
	f.build = func(d *dashboard, v []string) (model.Command, error) {
		id, err := strconv.ParseInt(v[0], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no broker id", v[0])
		}
		for i := range d.frame.Brokers {
			if b := &d.frame.Brokers[i]; int64(b.ID) == id {
				if !fits(b) {
					return nil, fmt.Errorf("broker %d is %s", id, b.State)
				}
				return make(b.ID), nil
			}
		}
		return nil, fmt.Errorf("there is no broker %d", id)
	}
	return &f
}

func newKill(d *dashboard) dialog {
	return brokerForm(d, form{name: "Kill a broker", yes: "kills",
		about: []string{"It ends as by kill -9; its znode goes when its session has expired."}},
		isUp, func(id int32) model.Command { return model.KillBroker{Broker: id} })
}

func newShutDown(d *dashboard) dialog {
	return brokerForm(d, form{name: "Shut a broker down", yes: "shuts down",
		about: []string{"It asks the controller to move its leaders away, then ends."}},
		isUp, func(id int32) model.Command { return model.ShutDownBroker{Broker: id} })
}

func newStart(d *dashboard) dialog {
	f := brokerForm(d, form{name: "Start a broker", yes: "starts",
		about: []string{"A broker that is down starts with the data it had.", "new adds one that never was."}},
		func(b *model.BrokerStatus) bool { return !isUp(b) }, func(id int32) model.Command { return model.StartBroker{Broker: id} })
	byID := f.build
	f.fields[0].hint = strings.Replace(f.fields[0].hint, noBroker, "none is down", 1) + ", or new"
	if f.fields[0].input.value() == "" {
		f.fields[0].input = newProposal(firstDown(d))
	}
	f.build = func(d *dashboard, v []string) (model.Command, error) {
		if strings.EqualFold(v[0], "new") {
			return model.StartBroker{Broker: -1}, nil
		}
		return byID(d, v)
	}
	return f
}

func firstDown(d *dashboard) string {
	for i := range d.frame.Brokers {
		if b := &d.frame.Brokers[i]; !isUp(b) {
			return itoa(b.ID)
		}
	}
	return "new"
}
