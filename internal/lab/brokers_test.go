package lab

import (
	"context"
	"testing"
	"time"

	"kstate/model"
)

// A controller that holds no role remembers no broker. That says nothing about
// the processes: those that run can still be killed, and are not called dead.
func TestBrokersThatTheControllerDoesNotKnow(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := Start(ctx, Options{Brokers: 2, NoTopics: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Operate(ctx, model.KillBroker{Broker: 2}); err != nil {
		t.Fatal(err)
	}
	got := map[int32]string{}
	for _, b := range l.Brokers(model.NewCluster().Freeze()) {
		got[b.ID] = b.State
	}
	if len(got) != 2 || got[1] != "running" || got[2] != "down" {
		t.Errorf("states %v, want 1 running and 2 down", got)
	}
}
