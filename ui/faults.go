package ui

import (
	"fmt"
	"strings"

	"kstate/model"
)

// newFault lists the faults that fit the step at hand, and those that are armed.
func newFault(d *dashboard) dialog {
	f := d.frame
	m := &menu{name: "Faults", yes: "does it", empty: "no fault fits"}
	if f.Run == model.Paused && f.At != nil {
		m.about = []line{{{faint, "the step at hand: "}, {plain, f.At.String()}}}
	} else {
		m.about = []line{{{faint, "no step is held: a fault waits for the next one that fits"}}}
	}
	a := armer{menu: m, lab: f.Mode == model.LabMode}
	if f.Run == model.Paused {
		a.position = f.Position
	}
	switch s := f.At.(type) {
	case *model.Call:
		if f.Run == model.Paused {
			a.call(s)
		}
	case *model.Send:
		if f.Run == model.Paused {
			a.send(s)
		}
	}
	a.position = 0
	a.next()
	a.armed(f)
	return m
}

// armer puts faults into a menu.
type armer struct {
	menu     *menu
	lab      bool
	position uint64 // of the step that they are for; 0: whichever fits
}

func (a *armer) fault(m model.FaultMatch, e model.FaultEffect, text, note string) {
	if m.Nth == 0 {
		m.Nth = 1
	}
	f := model.Fault{Match: m, Effect: e}
	if f.Check() != nil {
		return
	}
	a.menu.add(text, note, model.InjectFault{Fault: f, Position: a.position})
}

const opsOffered = 8 // of a call with many

// call offers what can come over the ops of a call.
func (a *armer) call(c *model.Call) {
	for i := range c.Ops {
		if i == opsOffered {
			a.menu.head(fmt.Sprintf("and %d more operations: a scenario can name them", len(c.Ops)-i))
			return
		}
		op := &c.Ops[i]
		a.menu.head(op.String())
		m := model.FaultMatch{At: model.AtOp, Op: model.OpMatch(op.Kind.String()), Path: model.Pattern(op.Path)}
		for _, code := range codesOf(op.Kind) {
			a.fault(m, model.FaultEffect{Kind: model.AnswerCode, Code: code}, "answers "+code.String(), "it is not done")
		}
		if c.Fenced && op.Kind.Writes() {
			a.fault(m, model.FaultEffect{Kind: model.FenceFails}, "fence fails", "as after another controller came")
		}
		if a.lab {
			a.fault(m, model.FaultEffect{Kind: model.LostBefore}, "lost before", "the connection breaks; sent again")
			a.fault(m, model.FaultEffect{Kind: model.LostAfter}, "lost after", "done, then the connection breaks; sent again")
		}
		a.fault(m, model.FaultEffect{Kind: model.ExpiresSession}, "session expires", "just before it")
	}
}

// codesOf are the answers that ZooKeeper could give to an operation.
func codesOf(k model.OpKind) []model.Code {
	switch k {
	case model.OpCreate:
		return []model.Code{model.CodeNodeExists, model.CodeNoNode, model.CodeNoAuth}
	case model.OpSet:
		return []model.Code{model.CodeBadVersion, model.CodeNoNode, model.CodeNoAuth}
	case model.OpDelete:
		return []model.Code{model.CodeBadVersion, model.CodeNoNode, model.CodeNotEmpty, model.CodeNoAuth}
	}
	return []model.Code{model.CodeNoNode, model.CodeNoAuth}
}

// send offers what can come over a request and its answer.
func (a *armer) send(s *model.Send) {
	kind := s.Request.Kind()
	m := model.FaultMatch{At: model.AtAnswer, Broker: s.Broker, Request: kind}
	a.menu.head(fmt.Sprintf("the answer of broker %d to %s", s.Broker, kind))
	a.fault(m, model.FaultEffect{Kind: model.HoldAnswer}, "held", "until it is released here; what is queued behind waits")
	a.fault(m, model.FaultEffect{Kind: model.DropAnswer}, "dropped", "the connection breaks; the request is resent")
	a.fault(m, model.FaultEffect{Kind: model.DelayAnswer, Millis: 5000}, "delayed 5 s", "and what is queued behind, too")
	for _, e := range []model.KafkaError{model.ErrKafkaStorageError, model.ErrStaleControllerEpoch, model.ErrFencedLeaderEpoch, model.ErrUnknownServerError} {
		if kind != model.UpdateMetadataKind || e != model.ErrKafkaStorageError {
			a.fault(m, model.FaultEffect{Kind: model.ErrorAnswer, Error: e}, "error "+e.String(), "for each of its partitions")
		}
	}
	if !a.lab {
		return
	}
	m.At = model.AtSend
	a.menu.head("before it is sent")
	for _, c := range []model.Command{model.KillBroker{Broker: s.Broker}, model.FailLogDir{Broker: s.Broker}, model.CutBroker{Broker: s.Broker, From: model.ControllerSide}} {
		a.fault(m, model.FaultEffect{Kind: model.DoFirst, Do: c}, model.CommandText(c), "")
	}
}

// next offers faults for what comes next, wherever.
func (a *armer) next() {
	a.menu.head("the next write to ZooKeeper, whichever it is")
	m := model.FaultMatch{At: model.AtOp, Op: model.AnyWrite, Path: "*"}
	a.fault(m, model.FaultEffect{Kind: model.AnswerCode, Code: model.CodeBadVersion}, "answers BADVERSION", "it is not done")
	a.fault(m, model.FaultEffect{Kind: model.FenceFails}, "fence fails", "as after another controller came")
	a.fault(m, model.FaultEffect{Kind: model.LeavesDirty}, "leaves batch dirty", "fence fails amid unsent requests")
	if a.lab {
		a.fault(m, model.FaultEffect{Kind: model.LostAfter}, "lost after", "done, then the connection breaks; sent again")
	}
	a.fault(m, model.FaultEffect{Kind: model.ExpiresSession}, "session expires", "just before it")
	a.menu.head("the next answer of any broker")
	x := model.FaultMatch{At: model.AtAnswer, Broker: model.AnyBroker}
	a.fault(x, model.FaultEffect{Kind: model.HoldAnswer}, "held", "until it is released here")
	a.fault(x, model.FaultEffect{Kind: model.DropAnswer}, "dropped", "the connection breaks; the request is resent")
}

// armed lists what is armed and what is held, to end it.
func (a *armer) armed(f *model.Frame) {
	if len(f.Held) > 0 {
		a.menu.head("answers that are held")
	}
	told := map[int32]bool{}
	for _, h := range f.Held {
		if !told[h.Broker] {
			told[h.Broker] = true
			a.menu.add(fmt.Sprintf("release those of broker %d", h.Broker), h.Request, model.ReleaseAnswers{Broker: h.Broker})
		}
	}
	if len(f.Faults) > 0 {
		a.menu.head("armed")
	}
	for i := range f.Faults {
		x := &f.Faults[i]
		a.menu.add("clear "+x.Fault.String(), fmt.Sprintf("seen %d, hit %d", x.Seen, x.Hit), model.ClearFault{ID: x.ID})
	}
}

// faultCount says how many faults wait and how many answers are held; empty: none.
func faultCount(f *model.Frame) string {
	n := 0
	for i := range f.Faults {
		if !f.Faults[i].Spent {
			n++
		}
	}
	text := ""
	if n > 0 {
		text = fmt.Sprintf(" faults: %d ", n)
	}
	if len(f.Held) > 0 {
		text += fmt.Sprintf(" held answers: %d ", len(f.Held))
	}
	return text
}

// newMishap lists what happens to brokers and controllers, of the broker that is
// chosen first.
func newMishap(d *dashboard) dialog {
	m := &menu{name: "Mishaps", yes: "does it"}
	var chosen int32 = -1
	if s := d.chosen(); s.Kind == model.BrokerSubject || s.Kind == model.ReplicaSubject {
		chosen = s.Broker
	}
	add := func(c model.Command, note string) { m.add(model.CommandText(c), note, c) }
	broker := func(b *model.BrokerStatus) {
		about := b.State
		if b.Conduct != "" {
			about += ", " + b.Conduct
		}
		m.head(fmt.Sprintf("broker %d: %s", b.ID, about))
		if b.Conduct != "" {
			add(model.HealBroker{Broker: b.ID}, "cuts and misconduct end")
		}
		if !isUp(b) {
			add(model.RepairLogDirs{Broker: b.ID}, "good at its next start")
			return
		}
		add(model.FailLogDir{Broker: b.ID}, "the first good one")
		add(model.CutBroker{Broker: b.ID, From: model.ZooKeeperSide}, "its session ends after its timeout")
		add(model.CutBroker{Broker: b.ID, From: model.ControllerSide}, "no request arrives")
		add(model.SetConduct{Broker: b.ID, Conduct: model.Silent}, "never answers the controller")
		add(model.SetConduct{Broker: b.ID, Conduct: model.Refusing}, "it takes no connection")
		add(model.SetConduct{Broker: b.ID, Conduct: model.Lagging}, "does not replicate")
		add(model.ExpireSession{Broker: b.ID}, "it registers again")
		add(model.RepairLogDirs{Broker: b.ID}, "good at its next start")
	}
	for i := range d.frame.Brokers {
		if b := &d.frame.Brokers[i]; b.ID == chosen {
			broker(b)
		}
	}
	forced(m, d)
	m.head("the controller")
	add(model.ExpireSession{Broker: -1}, "/controller goes; it runs again")
	add(model.MoveController{}, "deletes /controller")
	add(model.RestartController{}, "what it remembers is gone")
	add(model.RivalTakesOver{}, "another one takes the role")
	add(model.RivalLeaves{}, "and ends")
	for i := range d.frame.Brokers {
		if b := &d.frame.Brokers[i]; b.ID != chosen && i < brokersOffered {
			broker(b)
		}
	}
	m.head("a znode, as any client could")
	m.items = append(m.items, menuItem{text: "write znode …", note: "created or set, whatever it breaks", do: outcome{close: 1, open: znodeForm(false)}},
		menuItem{text: "delete znode …", note: "unless it has children", do: outcome{close: 1, open: znodeForm(true)}})
	return m
}

// znodeForm asks for a znode to write or delete as an outside client would.
func znodeForm(remove bool) *form {
	f := &form{name: "Write a znode", yes: "writes", fields: []formField{newField("path", "", "/brokers/topics/..."), newField("data", "", "{...}, or empty")}}
	if remove {
		f = &form{name: "Delete a znode", yes: "deletes", fields: f.fields[:1]}
	}
	f.build = func(_ *dashboard, v []string) (model.Command, error) {
		if path := v[0]; !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.Contains(path, "//") {
			return nil, fmt.Errorf("the path of a znode begins with / and does not end in it")
		}
		if remove {
			return model.WriteZnode{Path: v[0], Delete: true}, nil
		}
		return model.WriteZnode{Path: v[0], Data: []byte(v[1])}, nil
	}
	return f
}

// forced offers the transitions of the chosen partition or replica that its machine
// refuses.
func forced(m *menu, d *dashboard) {
	sub, v := d.chosen(), d.frame.View
	if v == nil || sub.Kind != model.PartitionSubject && sub.Kind != model.ReplicaSubject {
		return
	}
	t := model.Transition{TopicPartition: model.TP(sub.Topic, sub.Partition), Broker: model.NoBroker}
	offer := func() {
		if t.Illegal(v) {
			m.add(model.CommandText(model.ForceMove{Transition: t}), "not legal: refused", model.ForceMove{Transition: t})
		}
	}
	if sub.Kind == model.ReplicaSubject {
		t.Broker = sub.Broker
		m.head("replica " + t.Replica().String() + ": " + v.ReplicaState(t.Replica()).String())
		for _, t.ToReplica = range model.ReplicaStates {
			offer()
		}
		t.Broker = model.NoBroker
	}
	m.head("partition " + t.TopicPartition.String() + ": " + v.PartitionState(t.TopicPartition).String())
	for _, t.ToPartition = range model.PartitionStates {
		offer()
	}
}

const brokersOffered = 20 // the others by choosing them first

// newSettings lists the settings that can be changed here.
func newSettings(d *dashboard) dialog {
	m := &menu{name: "Settings", yes: "changes it", about: []line{{{faint, "As in Kafka, some are read at the start of the controller only."}}}}
	toggle := func(s *model.SettingValue) {
		to := map[string]string{"true": "false", "false": "true"}[s.Value]
		note := "now " + s.Value
		if s.AtStart {
			note += "; restarts the controller"
		}
		if to != "" {
			m.add("set "+s.Name+" "+to, note, model.ChangeSetting{Name: s.Name, Value: to})
			return
		}
		m.items = append(m.items, menuItem{text: "set " + s.Name + " …", note: note, do: outcome{close: 1, open: settingForm("", s.Name, s.Value)}})
	}
	m.head("of all brokers and the controller")
	for i := range d.frame.Settings {
		toggle(&d.frame.Settings[i])
	}
	if topic := topicChosen(d); topic != "" {
		m.head("of topic " + clean(topic))
		const name = "unclean.leader.election.enable"
		for _, v := range []string{"true", "false"} {
			m.add("set "+name+" "+v, "", model.ChangeSetting{Topic: topic, Name: name, Value: v})
		}
		m.add("unset "+name, "", model.ChangeSetting{Topic: topic, Name: name, Unset: true})
		m.items = append(m.items, menuItem{text: "another setting …", do: outcome{close: 1, open: settingForm(topic, "", "")}})
	} else {
		m.items = append(m.items, menuItem{text: "a setting of a topic …", note: "or choose the topic first", do: outcome{close: 1, open: settingForm("", "", "")}})
	}
	return m
}

func settingForm(topic, name, value string) *form {
	return &form{name: "Change a setting", yes: "changes",
		fields: []formField{newField("setting", name, ""), newField("value", value, "empty: back to its default"), newField("topic", topic, "empty: all brokers")},
		build: func(d *dashboard, v []string) (model.Command, error) {
			if v[0] == "" {
				return nil, fmt.Errorf("the name of a setting is needed")
			}
			if v[2] != "" {
				if err := knownTopic(d, v[2]); err != nil {
					return nil, err
				}
			}
			return model.ChangeSetting{Topic: v[2], Name: v[0], Value: v[1], Unset: v[1] == ""}, nil
		}}
}

// newUntil asks for the step that is run until.
func newUntil(*dashboard) dialog {
	return &form{name: "Run until", yes: "runs",
		about:  []string{"On to the next step in whose line a text is found; * is anything.", "As: begin TopicDeletion, or: move replica orders-0@*"},
		fields: []formField{newField("step", "", "")},
		build: func(_ *dashboard, v []string) (model.Command, error) {
			if v[0] == "" {
				return nil, fmt.Errorf("a text of the step is needed")
			}
			return model.RunUntil{Step: model.Pattern(v[0])}, nil
		}}
}
