package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"kstate/internal/inquiry"
	"kstate/internal/tree"
	"kstate/model"
)

func electPreviewCommand() command {
	words := strategyWords()
	return command{
		name:    "elect preview",
		summary: "the outcome of an election for each partition, as a controller that took over now would answer",
		detail: `The election is held on a copy of the tree; nothing is written outside it. Each partition is asked for by itself.
Every candidate is listed with the conditions that it meets.
Exit code 2: not all were elected.`,
		flags: append(sourceFlags(),
			flag{name: "strategy", kind: isWord, value: "STRATEGY", words: words, usage: "how to elect: " + strings.Join(words, ", ")},
			flag{name: "all", usage: "all partitions"},
			flag{name: "topic", kind: isText, value: "TOPIC", usage: "the partitions of a topic"},
			flag{name: "partition", kind: isNumber, value: "N", usage: "one partition of it"},
			flag{name: "json", usage: "write JSON"}),
		run: electPreview,
	}
}

// electionFlags reads --strategy, and sees that it is said of which partitions.
func electionFlags(inv *invocation) (model.Strategy, error) {
	switch {
	case !inv.has("strategy"):
		return 0, inv.misuse("which strategy? Give --strategy")
	case inv.has("all") == inv.has("topic"):
		return 0, inv.misuse("which partitions? Give one of --all and --topic")
	case inv.has("partition") && !inv.has("topic"):
		return 0, inv.misuse("--partition wants --topic")
	}
	strategy, err := model.ParseStrategy(inv.text("strategy"))
	if err != nil {
		return 0, inv.misuse("--strategy: %v", err)
	}
	return strategy, nil
}

func electPreview(inv *invocation) error {
	strategy, err := electionFlags(inv)
	if err != nil {
		return err
	}
	c, t, err := takeOver(inv)
	if err != nil {
		return err
	}
	defer c.Close()
	if !t.Starts {
		return fmt.Errorf("no controller starts on this tree, so nothing is elected; kstate failover says why: %s %s", t.ErrorClass, t.Error)
	}
	tps := c.Partitions(inv.text("topic"))
	if inv.has("partition") {
		tps = []model.TopicPartition{model.TP(inv.text("topic"), int32(inv.number("partition", 0)))}
	}
	if len(tps) == 0 && inv.has("topic") {
		return fmt.Errorf("topic %s: the controller knows no partition of it", inv.text("topic"))
	}
	elections, err := c.Elect(strategy, tps)
	if err != nil {
		return err
	}
	if inv.has("json") {
		err = writeJSON(inv.console.out, map[string]any{"strategy": strategy.String(), "elections": elections})
	} else {
		err = writeElections(inv.console.out, elections)
	}
	if err == nil && slices.ContainsFunc(slices.Collect(maps.Values(elections)), func(e *inquiry.Election) bool { return e.Error != nil }) {
		err = &exitCode{code: exitFound}
	}
	return err
}

func writeElections(w io.Writer, elections map[string]*inquiry.Election) error {
	for _, name := range slices.Sorted(maps.Keys(elections)) {
		e := elections[name]
		text := ""
		switch {
		case e.Error != nil:
			text = *e.Error
			if e.Why != "" {
				text += ": " + e.Why
			}
		default:
			text = fmt.Sprintf("leader %d, isr %v", *e.Leader, e.ISR)
			if e.Unclean {
				text += " (unclean: what was not replicated is lost)"
			}
		}
		if _, err := fmt.Fprintf(w, "%s  %s\n", tree.Printable(name), tree.Printable(text)); err != nil {
			return err
		}
		for _, c := range e.Candidates {
			if _, err := fmt.Fprintf(w, "    broker %d: %s\n", c.Broker, conditions(c)); err != nil {
				return err
			}
		}
	}
	return nil
}

func conditions(c inquiry.Candidate) string {
	yes := func(b bool, is, not string) string {
		if b {
			return is
		}
		return not
	}
	out := []string{yes(c.Registered, "registered", "not registered")}
	if c.ShuttingDown {
		out = append(out, "shutting down")
	}
	if c.OfflineDir {
		out = append(out, "log directory failed")
	}
	return strings.Join(append(out, yes(c.Online, "counts as online", "not online"), yes(c.InISR, "in the ISR", "not in the ISR")), ", ")
}
