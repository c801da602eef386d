package script

import (
	"math"
	"slices"
	"strconv"
	"time"

	"kstate/model"
)

// verbs are the first words of a statement, with what reads the rest.
var verbs = map[string]func(*tokens) Statement{
	"expect": expectation,
	"wait": func(t *tokens) Statement {
		if t.take("idle") {
			return &Wait{Idle: true}
		}
		return &Wait{For: t.duration(time.Minute)}
	},
	"pause":    act(func(*tokens) model.Command { return model.Pause{} }),
	"continue": act(func(*tokens) model.Command { return model.Continue{} }),
	"step":     act(stepBy),
	"until": act(func(t *tokens) model.Command {
		return model.RunUntil{Step: model.Pattern(t.text("text of a step's line"))}
	}),
	"fault": act(func(t *tokens) model.Command { return model.InjectFault{Fault: fault(t)} }),
	"clear": act(func(t *tokens) model.Command { t.must("faults"); return model.ClearFault{} }),
	"release": act(func(t *tokens) model.Command {
		t.must("answers")
		if !t.take("of") {
			return model.ReleaseAnswers{Broker: model.AnyBroker}
		}
		t.must("broker")
		return model.ReleaseAnswers{Broker: t.broker()}
	}),
}

func act(of func(*tokens) model.Command) func(*tokens) Statement {
	return func(t *tokens) Statement { return &Act{of(t)} }
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// statement reads one; nil after an error.
func statement(t *tokens) Statement {
	verb := t.one(slices.Sorted(slices.Values(append(append(sorted(verbs), sorted(actions)...), "say")))...)
	if of := verbs[verb]; of != nil {
		return of(t)
	}
	if of := actions[verb]; of != nil {
		return &Act{of(t)}
	}
	return nil
}

func stepBy(t *tokens) model.Command {
	grains := map[string]model.Grain{"event": model.EventGrain, "batch": model.BatchGrain, "transition": model.TransitionGrain, "io": model.IOGrain}
	return model.StepBy{Grain: grains[t.one("event", "batch", "transition", "io")]}
}

// actions are the commands that do something to the cluster.
var actions = map[string]func(*tokens) model.Command{
	"kill":  func(t *tokens) model.Command { t.must("broker"); return model.KillBroker{Broker: t.broker()} },
	"start": start,
	"shut": func(t *tokens) model.Command {
		t.must("down", "broker")
		return model.ShutDownBroker{Broker: t.broker()}
	},
	"create":   func(t *tokens) model.Command { t.must("topic"); return topic(t) },
	"grow":     grow,
	"delete":   deleteWhat,
	"reassign": reassign,
	"cancel": func(t *tokens) model.Command {
		t.must("reassignment", "of")
		return model.Reassign{TopicPartition: t.partition(), Cancel: true}
	},
	"elect": elect,
	"write": func(t *tokens) model.Command {
		t.must("znode")
		return model.WriteZnode{Path: t.path(), Data: []byte(t.data(`its data in quotes; "" is empty`))}
	},
	"fail": func(t *tokens) model.Command {
		t.must("log", "dir", "of", "broker")
		c := model.FailLogDir{Broker: t.broker()}
		if t.err == nil && t.at < len(t.list) {
			c.Dir = t.text("the path of a log directory")
		}
		return c
	},
	"repair": func(t *tokens) model.Command {
		t.must("log", "dirs", "of", "broker")
		return model.RepairLogDirs{Broker: t.broker()}
	},
	"cut": func(t *tokens) model.Command {
		t.must("broker")
		c := model.CutBroker{Broker: t.broker()}
		t.must("from")
		c.From = model.Side(t.one(string(model.ZooKeeperSide), string(model.ControllerSide)))
		return c
	},
	"heal": func(t *tokens) model.Command { t.must("broker"); return model.HealBroker{Broker: t.broker()} },
	"make": func(t *tokens) model.Command {
		t.must("broker")
		c := model.SetConduct{Broker: t.broker()}
		c.Conduct = model.Conduct(t.one(names(model.Conducts)...))
		return c
	},
	"expire": func(t *tokens) model.Command {
		t.must("session", "of")
		if t.one("broker", "controller") == "broker" {
			return model.ExpireSession{Broker: t.broker()}
		}
		return model.ExpireSession{Broker: -1}
	},
	"rival": func(t *tokens) model.Command {
		if t.one("takes", "leaves") == "leaves" {
			return model.RivalLeaves{}
		}
		t.must("over")
		return model.RivalTakesOver{}
	},
	"move":    func(t *tokens) model.Command { t.must("controller"); return model.MoveController{} },
	"restart": func(t *tokens) model.Command { t.must("controller"); return model.RestartController{} },
	"set": func(t *tokens) model.Command {
		return ofTopic(t, model.ChangeSetting{Name: t.text("the name of a setting"), Value: t.text("its value")})
	},
	"unset": func(t *tokens) model.Command {
		return ofTopic(t, model.ChangeSetting{Name: t.text("the name of a setting"), Unset: true})
	},
}

func names[S ~string](list []S) []string {
	var out []string
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

func ofTopic(t *tokens, c model.ChangeSetting) model.Command {
	if t.take("of") {
		t.must("topic")
		c.Topic = t.topic()
	}
	return c
}

func start(t *tokens) model.Command {
	if t.take("new") {
		t.must("broker")
		return model.StartBroker{Broker: -1}
	}
	t.must("broker")
	return model.StartBroker{Broker: t.broker()}
}

func grow(t *tokens) model.Command {
	t.must("topic")
	c := model.AddPartitions{Topic: t.topic()}
	t.must("to")
	c.Total = t.number("how many partitions in all", 1, 10000)
	return c
}

func deleteWhat(t *tokens) model.Command {
	if t.one("topic", "znode") == "znode" {
		return model.WriteZnode{Path: t.path(), Delete: true}
	}
	return model.DeleteTopic{Topic: t.topic()}
}

func reassign(t *tokens) model.Command {
	c := model.Reassign{TopicPartition: t.partition()}
	t.must("to")
	c.Target = t.ids()
	return c
}

func elect(t *tokens) model.Command {
	var words []string
	for _, s := range model.Strategies {
		words = append(words, s.String())
	}
	var c model.RunElection
	if w := t.one(words...); w != "" {
		c.Strategy, _ = model.ParseStrategy(w)
	}
	switch t.one("all", "topic", "partition", "broker") {
	case "topic":
		c.Scope.Subject = model.Subject{Kind: model.TopicSubject, Topic: t.topic()}
	case "partition":
		tp := t.partition()
		c.Scope.Subject = model.Subject{Kind: model.PartitionSubject, Topic: tp.Topic, Partition: tp.Partition}
	case "broker":
		c.Scope.Subject = model.Subject{Kind: model.BrokerSubject, Broker: t.broker()}
	}
	return c
}

var requestKinds = map[string]model.RequestKind{"LeaderAndIsr": model.LeaderAndIsrKind, "UpdateMetadata": model.UpdateMetadataKind, "StopReplica": model.StopReplicaKind, "request": 0}

// fault reads what is matched and what comes over it.
func fault(t *tokens) model.Fault {
	f := model.Fault{Match: model.FaultMatch{Nth: 1}}
	if t.take("every") {
		f.Match.Nth = model.EveryTime
	} else if n, ok := ordinal(t.peek()); ok {
		t.at++
		f.Match.Nth = n
	}
	kind := t.one(append(append(names(model.OpMatches), sorted(requestKinds)...), "step")...)
	request, isRequest := requestKinds[kind]
	m := &f.Match
	switch {
	case kind == "":
	case kind == "step":
		m.At, m.Text = model.AtStep, model.Pattern(t.text("text of a step's line"))
	case isRequest:
		m.Request = request
		if m.At = model.AtAnswer; t.one("answered", "to") == "to" {
			m.At = model.AtSend
		} else {
			t.must("by")
		}
		m.Broker = model.AnyBroker
		if !t.take("any") {
			t.must("broker")
			m.Broker = t.broker()
		} else {
			t.must("broker")
		}
	default:
		m.At, m.Op, m.Path = model.AtOp, model.OpMatch(kind), model.Pattern(t.text("a path, in which * is anything"))
	}
	at := t.at
	f.Effect = effect(t, m.At)
	if t.err == nil {
		if err := f.Check(); err != nil {
			t.fail(at, "what can be: "+err.Error())
		}
	}
	return f
}

// ordinal reads 2nd, 3rd, ...; 1st is not said.
func ordinal(s string) (int, bool) {
	if len(s) < 3 {
		return 0, false
	}
	n, err := strconv.Atoi(s[:len(s)-2])
	if err != nil || n < 1 || n > math.MaxInt32 || model.Ordinal(n) != s {
		return 0, false
	}
	return n, true
}

func effect(t *tokens, at model.FaultPoint) (e model.FaultEffect) {
	effects := map[model.FaultPoint][]string{model.AtOp: {"answers", "fence", "leaves", "lost", "session", "do"},
		model.AtAnswer: {"dropped", "delayed", "held", "error", "do"}, model.AtSend: {"do"}, model.AtStep: {"do"}}[at]
	if effects == nil {
		return e
	}
	switch t.one(effects...) {
	case "answers":
		e.Kind = model.AnswerCode
		var codes []string
		for _, c := range model.FaultCodes {
			codes = append(codes, c.String())
		}
		if name := t.one(codes...); name != "" {
			e.Code, _ = model.ParseCode(name)
		}
	case "fence":
		t.must("fails")
		e.Kind = model.FenceFails
	case "leaves":
		t.must("batch")
		t.must("dirty")
		e.Kind = model.LeavesDirty
	case "lost":
		if e.Kind = model.LostBefore; t.one("before", "after") == "after" {
			e.Kind = model.LostAfter
		}
	case "session":
		t.must("expires")
		e.Kind = model.ExpiresSession
	case "dropped":
		e.Kind = model.DropAnswer
	case "delayed":
		e.Kind, e.Millis = model.DelayAnswer, t.duration(time.Minute).Milliseconds()
	case "held":
		e.Kind = model.HoldAnswer
	case "error":
		e.Kind = model.ErrorAnswer
		e.Error = read(t, "an error of Kafka's protocol", model.ParseKafkaError)
		if t.err == nil && e.Error == model.ErrNone {
			t.fail(t.at-1, "an error of Kafka's protocol, which NONE is not")
		}
	case "do":
		e.Kind, e.Do = model.DoFirst, faultAction(t)
	}
	return e
}

// faultAction reads an action that can be a fault's.
func faultAction(t *tokens) model.Command {
	at := t.at
	verb := t.one("kill", "fail", "cut", "heal", "make", "expire", "write", "delete", "rival", "move")
	if verb == "" {
		return nil
	}
	c := actions[verb](t)
	if t.err == nil && !model.CanBeFault(c) {
		t.fail(at, "an action that is done at once")
	}
	return c
}
