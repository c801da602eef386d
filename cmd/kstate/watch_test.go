package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kstate/internal/lab"
	"kstate/internal/observe"
	"kstate/internal/realkafka"
	"kstate/model"
)

// The controller of a lab with real connections, and an observer that sees its
// znodes alone: what it prints is what the controller did.
func TestObservePrintsWhatTheControllerDoes(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	addr := d.bench.lab.Addr()
	log := runBeside(t, "observe", "--headless", "--zookeeper", addr, "--state-change-log", "-")
	log.awaitSaid(patience, "is followed")
	events := runBeside(t, "watch", "--zookeeper", addr)
	events.await(patience, "synced", func(e observe.Event) bool { return e.Type == observe.ConnectionEvent && e.What == "synced" })
	from := d.frame().History
	begin := records(&model.Frame{History: from})
	d.cut(2)
	d.do(model.DeleteTopic{Topic: "clicks"})
	d.settled()
	d.back(2)
	f := d.await("clicks is gone", func(f *model.Frame) bool { return !f.View.KnowsTopic("clicks") && idle(f) })
	f = d.settled()
	var want []realkafka.Transition
	for i := range f.History.N {
		r := f.History.At(i)
		if r.Position <= begin {
			continue
		}
		switch m := r.Step.(type) {
		case *model.MovePartition:
			want = append(want, realkafka.Transition{Kind: "partition", Subject: m.TopicPartition.String(), From: m.From.String(), To: m.To.String()})
		case *model.MoveReplica:
			want = append(want, realkafka.Transition{Kind: "replica", Subject: m.Replica.String(), From: m.From.String(), To: m.To.String()})
		}
	}
	if got := log.transitions(want); !sameSet(got, want) {
		t.Errorf("observe printed\n%v\nand the controller did\n%v", got, want)
	}
	for _, line := range log.unmarked() {
		t.Errorf("not marked as inferred: %s", line)
	}
	events.await(patience, "end of the deletion", func(e observe.Event) bool {
		return e.Type == observe.DeletionEvent && e.Topic == "clicks" && e.State == "done"
	})
	events.await(patience, "deletion that waits", func(e observe.Event) bool {
		return e.Type == observe.DeletionEvent && e.State == "waiting" && slices.Equal(e.BlockedBy, []string{"broker:2"})
	})
	events.await(patience, "last transition", func(e observe.Event) bool {
		return e.Type == observe.TransitionEvent && e.Topic == "clicks" && e.To == "NonExistentReplica" && e.Evidence == "inferred"
	})
	log.end()
	events.end()
	text, err := os.ReadFile(events.out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var fields struct {
			Type, What *string
			At, Zxid   *int64
		}
		if err := json.Unmarshal([]byte(line), &fields); err != nil || fields.Type == nil || fields.What == nil || fields.At == nil || fields.Zxid == nil {
			t.Errorf("line %q: %v", line, err)
		}
	}
}

// refusing takes one line, then no more.
type refusing struct {
	bytes.Buffer
	with error
}

func (w *refusing) Write(b []byte) (int, error) {
	if w.Len() > 0 {
		return 0, w.with
	}
	return w.Buffer.Write(b)
}

func TestWatchEndsWhenNobodyReads(t *testing.T) {
	addr := serve(t, loadReport(t, "20-isr-only-member-dead.json"))
	for _, c := range []struct {
		with error
		code int
		said string
	}{{syscall.EPIPE, exitOK, ""}, {errors.New("the disk is full"), exitError, "the disk is full"}} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		out, errs := &refusing{with: c.with}, &strings.Builder{}
		code := run(ctx, []string{"watch", "--zookeeper", addr}, console{strings.NewReader(""), out, errs})
		if code != c.code || !strings.Contains(errs.String(), c.said) || ctx.Err() != nil {
			t.Errorf("%v: exit code %d, said %q, %v", c.with, code, errs.String(), ctx.Err())
		}
		cancel()
	}
	kstate(t, "watch").check(t, exitUsage, "", "which cluster?")
}
