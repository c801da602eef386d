package main

import (
	"errors"

	"kstate/internal/debugger"
	"kstate/internal/explain"
	"kstate/model"
)

// defaultCauses is how many causes and rows of a table the text form lists.
const defaultCauses = 40

const whyDetail = `Each cause has its evidence (path, data version, what it says) and what would change it; what the znodes cannot
show is named as such and never guessed. The exit code is 2 if something holds it (blocked, unavailable), 0 if
not, 1 for a name that does not exist, 3 if the evidence may not be read.`

// whyCommands explain one subject each, from the tree as it lies.
func whyCommands() []command {
	return []command{
		whyCommand(model.TopicSubject, "TOPIC", "what holds the deletion of a topic, or how its partitions are"),
		whyCommand(model.PartitionSubject, "TOPIC-PARTITION", "why a partition is not available, replica by replica, and what would bring it back"),
		whyCommand(model.ReplicaSubject, "TOPIC-PARTITION@BROKER", "why a replica is not online or not in sync"),
		whyCommand(model.BrokerSubject, "BROKER", "what is wrong with a broker, and what waits for it"),
		whyCommand(model.LeadershipSubject, "", "how leadership is spread over the brokers, and what the automatic balancer would do"),
		whyCommand(model.ControllerSubject, "", "who the controller is, and what waits for it"),
	}
}

func whyCommand(kind model.SubjectKind, args, summary string) command {
	return command{
		name: "why " + kind.String(), args: args, summary: summary, detail: whyDetail,
		flags: append(sourceFlags(),
			flag{name: "json", usage: "write JSON"},
			flag{name: "limit", kind: isNumber, value: "N", usage: "list at most N causes and N rows of a table in the text form (default 40, 0: all)"}),
		run: func(inv *invocation) error { return why(inv, kind) },
	}
}

func why(inv *invocation, kind model.SubjectKind) error {
	name := ""
	switch {
	case inv.command.args == "": // parse has seen that there is none
	case len(inv.args) != 1:
		return inv.misuse("name one %s: %s", kind, inv.command.args)
	default:
		name = inv.args[0]
	}
	subject, err := model.ParseSubject(kind, name)
	if err != nil {
		return inv.misuse("%v", err)
	}
	src, err := openSource(inv)
	if err != nil {
		return err
	}
	e, explainErr := explain.OfTree(src.survey).Explain(subject)
	if explainErr == nil {
		if inv.has("json") {
			err = explain.WriteJSON(inv.console.out, e)
		} else {
			err = explain.WriteText(inv.console.out, e, inv.number("limit", defaultCauses))
		}
	}
	if err := errors.Join(err, src.close(nil)); err != nil { // without the tree nothing is known of the name either
		return err
	}
	switch {
	case explainErr != nil:
		return explainErr
	case e.Undecided:
		return &exitCode{code: exitUnknown}
	case e.Found:
		return &exitCode{code: exitFound}
	}
	return nil
}

// explainMemory explains what a controller of this process remembers.
func explainMemory(k debugger.Known, s model.Subject) (*model.Explanation, error) {
	return explain.OfMemory(explain.Memory{View: k.View, Controller: k.Controller, Config: k.Config, Channels: k.Channels, Now: k.Now, Queued: k.Queued, Peek: k.Peek}).Explain(s)
}
