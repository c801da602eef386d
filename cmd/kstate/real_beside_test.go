package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/internal/observe"
	"kstate/internal/realkafka"
	"kstate/model"
)

// beside is a kstate command beside a running cluster, that prints to files
// until the test ends.
type beside struct {
	t        *testing.T
	out, err string // names of the files
	log      *realkafka.TransitionLog
	cancel   context.CancelFunc
	code     chan int
}

func runBeside(t *testing.T, args ...string) *beside {
	t.Helper()
	dir := t.TempDir()
	b := &beside{t: t, out: filepath.Join(dir, "out"), err: filepath.Join(dir, "err"), code: make(chan int, 1)}
	out, err := os.Create(b.out)
	if err != nil {
		t.Fatal(err)
	}
	errs, err := os.Create(b.err)
	if err != nil {
		t.Fatal(err)
	}
	b.log = realkafka.FollowLogs(b.out)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() {
		defer out.Close()
		defer errs.Close()
		b.code <- run(ctx, args, console{strings.NewReader(""), out, errs})
	}()
	t.Cleanup(cancel)
	return b
}

// end ends the command as Ctrl-C does.
func (b *beside) end() {
	b.t.Helper()
	b.cancel()
	if code := <-b.code; code != exitOK {
		said, _ := os.ReadFile(b.err)
		b.t.Errorf("kstate ended with %d: %s", code, said)
	}
}

// awaitSaid waits until the command has said something on standard error.
func (b *beside) awaitSaid(limit time.Duration, words string) {
	b.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		said, err := os.ReadFile(b.err)
		if err == nil && strings.Contains(string(said), words) {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("kstate did not say %q within %v, but: %s", words, limit, said)
		}
	}
}

// transitions are those printed since the last call; while they are not the
// wanted ones, as sets, more may be on their way. With nil, those that are there.
func (b *beside) transitions(want []realkafka.Transition) []realkafka.Transition {
	b.t.Helper()
	var got []realkafka.Transition
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		more, err := b.log.Next()
		if err != nil {
			b.t.Fatal(err)
		}
		got = append(got, more...)
		if want == nil || sameSet(got, want) || time.Now().After(deadline) {
			return got
		}
	}
}

func sameSet(a, b []realkafka.Transition) bool {
	in := func(list []realkafka.Transition) func(realkafka.Transition) bool {
		return func(t realkafka.Transition) bool { return !slices.Contains(list, t) }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// unmarked are lines of what brokers answered that are not marked as inferred.
func (b *beside) unmarked() []string {
	b.t.Helper()
	text, err := os.ReadFile(b.out)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "to ReplicaDeletionSuccessful") && !strings.Contains(line, " (inferred)") {
			out = append(out, line)
		}
	}
	return out
}

// events are those that kstate watch has printed so far.
func (b *beside) events() []observe.Event {
	b.t.Helper()
	file, err := os.Open(b.out)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	var out []observe.Event
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e observe.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil { // the last line may not be whole
			out = append(out, e)
		}
	}
	return out
}

// await waits until an event has been printed.
func (b *beside) await(limit time.Duration, what string, holds func(observe.Event) bool) {
	b.t.Helper()
	for deadline := time.Now().Add(limit); !slices.ContainsFunc(b.events(), holds); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			events := b.events()
			b.t.Fatalf("kstate watch printed no %s within %v; the last events: %+v", what, limit, events[max(0, len(events)-5):])
		}
	}
}

// silentController stops the controller's process while a topic is deleted: the
// cluster's operator is told within 15 s, and within 5 s that it is over.
func silentController(t *testing.T, c *realkafka.Cluster, p *pane, headless *beside) {
	t.Helper()
	events := runBeside(t, "watch", "--zookeeper", c.Connect())
	events.await(20*time.Second, "synced", func(e observe.Event) bool { return e.Type == observe.ConnectionEvent })
	c.CreateTopic("still", [][]int32{{1, 2}, {2, 1}}, nil)
	c.PauseBroker(c.ControllerID())
	stopped := time.Now()
	c.Put("/admin/delete_topics/still", "")
	const words = "NOT ANSWERING"
	p.await(15*time.Second, "the alarm", holding(words))
	events.await(time.Until(stopped.Add(15*time.Second)), "alarm", func(e observe.Event) bool { return e.Type == observe.NotAnsweringEvent && e.What == "on" })
	t.Logf("not answering was shown after %v", time.Since(stopped).Round(100*time.Millisecond))
	time.Sleep(time.Until(stopped.Add(25 * time.Second))) // that is the case: a controller that is away for so long
	c.ResumeBroker(c.ControllerID())
	resumed := time.Now()
	p.await(5*time.Second, "the end of the alarm", func(text string) bool { return !strings.Contains(text, words) })
	events.await(time.Until(resumed.Add(5*time.Second)), "end of the alarm", func(e observe.Event) bool { return e.Type == observe.NotAnsweringEvent && e.What == "off" })
	t.Logf("it was over %v after the controller went on", time.Since(resumed).Round(100*time.Millisecond))
	events.await(30*time.Second, "end of the deletion", func(e observe.Event) bool {
		return e.Type == observe.DeletionEvent && e.Topic == "still" && e.State == string(observe.DeletionDone)
	})
	events.await(10*time.Second, "transition after it", func(e observe.Event) bool {
		return e.Type == observe.TransitionEvent && e.Topic == "still" && e.To == model.NonExistentReplica.String()
	})
	headless.awaitSaid(time.Second, "is not answering")
	headless.awaitSaid(time.Second, "answers again")
	events.end()
}

// newTerm ends the controller's broker in order: what it does on its way, and
// what the next controller does when it takes over, is told as Kafka logs it.
func newTerm(t *testing.T, c *realkafka.Cluster, headless *beside) {
	t.Helper()
	var files []string
	for _, id := range c.IDs() {
		files = append(files, c.LogPath(id))
	}
	log := realkafka.FollowLogs(files...)
	if _, err := log.Next(); err != nil { // what was before
		t.Fatal(err)
	}
	headless.transitions(nil)
	old := c.ControllerID()
	c.TermBroker(old)
	headless.awaitSaid(60*time.Second, "the controller of epoch 2 is followed")
	var want, got []realkafka.Transition
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		more, err := log.Next()
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, more...)
		if more, err = headless.log.Next(); err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
		if sameSet(got, want) && len(want) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("after controller %d went, observe told\n%v\nand Kafka logged\n%v", old, got, want)
			return
		}
	}
	t.Logf("%d transitions of a new term, as Kafka logged them", len(want))
}
