package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"kstate/internal/inquiry"
	"kstate/internal/tree"
)

func failoverCommand() command {
	return command{
		name:    "failover",
		summary: "what a controller that took over now would do, on a copy, with brokers that answer nothing",
		detail: `The real engine runs on a copy of the tree; nothing is written outside it. An ephemeral /controller is taken as
gone. The answer is whether it starts, what it then remembers, what it wrote and which requests it sent. A tree file
may say in its config which broker takes over and with which settings.
With --steps, the steps of that file are done one after the other, each with what holds after it.
Exit code 2: no controller starts on this tree.`,
		flags: append(sourceFlags(),
			flag{name: "steps", kind: isFile, value: "FILE", usage: "do the steps in this JSON file after it; a file without steps has none"},
			flag{name: "json", usage: "write JSON"},
			flag{name: "limit", kind: isNumber, value: "N", usage: "list at most N of each kind in the text form (default 40, 0: all)"}),
		run: failover,
	}
}

func failover(inv *invocation) error {
	steps, err := readSteps(inv)
	if err != nil {
		return err
	}
	c, t, err := takeOver(inv)
	if err != nil {
		return err
	}
	defer c.Close()
	if t.Starts {
		for _, s := range steps {
			after, err := c.Do(s)
			if err != nil {
				return err
			}
			t.Steps = append(t.Steps, after)
		}
	}
	if inv.has("json") {
		err = writeJSON(inv.console.out, t)
	} else {
		err = writeTakeover(inv.console.out, t, inv.number("limit", defaultLimit))
	}
	if err == nil && !t.Starts {
		err = &exitCode{code: exitFound}
	}
	return err
}

func readSteps(inv *invocation) ([]inquiry.Step, error) {
	if !inv.has("steps") {
		return nil, nil
	}
	file, err := os.Open(inv.text("steps"))
	if err != nil {
		return nil, fmt.Errorf("--steps: %w", err)
	}
	defer file.Close()
	steps, err := inquiry.ReadSteps(file)
	if err != nil {
		return nil, fmt.Errorf("--steps %s: %w", inv.text("steps"), err)
	}
	return steps, nil
}

// clusterFile reads what a controller reads.
func clusterFile(inv *invocation) (*tree.File, error) {
	if inv.has("zookeeper") == inv.has("tree") {
		return nil, inv.misuse("which cluster? Give one of --zookeeper and --tree")
	}
	if inv.has("tree") {
		return loadTree(inv)
	}
	conn, err := dial(inv)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.RequireKafka(inv.ctx); err != nil {
		return nil, liveError(err)
	}
	znodes, err := conn.ReadTree(inv.ctx, surveyPaths(), nil)
	if err != nil {
		return nil, liveError(err)
	}
	return fileOf(conn.Address().Chroot, znodes), nil
}

// takeOver has a controller take over a copy of the cluster that the flags name;
// what it may not read here it cannot know. The copy is the caller's to close.
func takeOver(inv *invocation) (*inquiry.Copy, *inquiry.Takeover, error) {
	f, err := clusterFile(inv)
	if err != nil {
		return nil, nil, err
	}
	c, err := inquiry.NewCopy(f)
	if err != nil {
		return nil, nil, fmt.Errorf("copy of the tree: %w", err)
	}
	t, err := c.TakeOver()
	if path := c.Needed(); err == nil && path != "" {
		err = unknown(fmt.Errorf("no permission to read %s, which a controller reads", path))
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, t, nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// writeTakeover writes it for a reader; limit bounds each of its lists (0: no
// bound), and what is left out is counted.
func writeTakeover(w io.Writer, t *inquiry.Takeover, limit int) error {
	var b strings.Builder
	if !t.Starts {
		b.WriteString("no controller starts on this tree")
		if t.CrashLoop != nil && *t.CrashLoop {
			b.WriteString(": the role goes round among the brokers, each failing alike")
		}
		b.WriteString("\n")
		if t.Error != "" {
			fmt.Fprintf(&b, "%s: %s\n", t.ErrorClass, tree.Printable(t.Error))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "a controller starts with epoch %d\n", t.Epoch)
	writeMemory(&b, t.Memory, limit)
	fmt.Fprintf(&b, "requests to brokers: %d\n", len(t.Requests))
	for i, s := range t.Steps {
		fmt.Fprintf(&b, "\nafter step %d:\n", i+1)
		if !s.Active {
			b.WriteString("the controller has resigned\n")
			continue
		}
		writeMemory(&b, s.Memory, limit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeMemory(b *strings.Builder, m *inquiry.Memory, limit int) {
	states, replicas := map[string]int{}, map[string]int{}
	for _, p := range m.Partitions {
		states[p.State]++
	}
	for _, byBroker := range m.Replicas {
		for _, s := range byBroker {
			replicas[s]++
		}
	}
	fmt.Fprintf(b, "brokers: %v", m.LiveBrokers)
	if len(m.ShuttingDown) > 0 {
		fmt.Fprintf(b, ", shutting down %v", m.ShuttingDown)
	}
	fmt.Fprintf(b, "\npartitions: %s\nreplicas: %s\n", counted(states), counted(replicas))
	var down []string
	for _, name := range slices.Sorted(maps.Keys(m.Partitions)) {
		if p := m.Partitions[name]; p.State != "OnlinePartition" {
			down = append(down, fmt.Sprintf("  %s %s\n", tree.Printable(name), p.State))
		}
	}
	shown, left := atMost(down, limit)
	b.WriteString(strings.Join(shown, ""))
	if left > 0 {
		fmt.Fprintf(b, "  and %d more that are not online\n", left)
	}
	for _, set := range []struct {
		name string
		list []string
	}{
		{"topics to be deleted", m.TopicsToBeDeleted}, {"deletion started", m.TopicsDeletionStarted}, {"deletion halted", m.TopicsIneligible},
		{"reassigning", m.Reassigning}, {"znodes created", m.Znodes.Created}, {"znodes deleted", m.Znodes.Deleted},
		{"znodes changed", slices.Sorted(maps.Keys(m.Znodes.Changed))},
	} {
		if len(set.list) > 0 {
			shown, left := atMost(set.list, limit)
			fmt.Fprintf(b, "%s: %s", set.name, tree.Printable(strings.Join(shown, " ")))
			if left > 0 {
				fmt.Fprintf(b, " and %d more", left)
			}
			b.WriteString("\n")
		}
	}
}

// atMost is the start of a list, and how many are left out (limit 0: none).
func atMost(list []string, limit int) (shown []string, left int) {
	if limit == 0 || len(list) <= limit {
		return list, 0
	}
	return list[:limit], len(list) - limit
}

func counted(counts map[string]int) string {
	var out []string
	for _, s := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d %s", counts[s], s))
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}
