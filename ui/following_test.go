package ui

import (
	"strings"
	"testing"

	"kstate/model"
)

// besideFrame is a deletion on a cluster whose own controller is followed.
func besideFrame() *model.Frame {
	f := deletionFrame()
	f.Mode, f.ReadOnly, f.Run, f.At, f.Event, f.Queue, f.QueueLen = model.ObserveMode, true, model.Running, nil, nil, nil, 0
	f.Connection.Connected = true
	topic, _ := f.View.TopicsToBeDeleted.Last()
	f.Following = &model.Following{On: true, Deletions: map[string]model.DeletionProgress{
		topic: {State: "waiting", Why: "waits for broker 2", Replicas: &[8]int{model.ReplicaDeletionSuccessful: 6, model.OfflineReplica: 3}}}}
	f.Edges.LastReplica = &model.ReplicaEdge{Edge: model.Edge[model.ReplicaState]{From: model.ReplicaDeletionStarted, To: model.ReplicaDeletionSuccessful},
		Subject: model.Replica{TopicPartition: model.TP(topic, 0), Broker: 1}, Inferred: true}
	return f
}

func holds(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in\n%s", what, w, text)
		}
	}
}

// What is inferred is marked, what is diverged is counted, and a controller that
// does not answer stands there for as long as that lasts.
func TestAFollowedController(t *testing.T) {
	for _, size := range sizes {
		f := besideFrame()
		topic, _ := f.View.TopicsToBeDeleted.Last()
		holds(t, "the graphs", newScreen(f, size.w, size.h).text(), "last ~ "+topic+"-0@1", "~ is inferred")
		holds(t, "the deletion", newScreen(f, size.w, size.h).typed("5").text(), "waiting ~ ", "DeletionSuccessful 6")
		f.Following.Diverged = 2
		holds(t, "two diverged", newScreen(f, size.w, size.h).text(), "2 diverged")
		f.Following = &model.Following{Why: "nobody holds the role", Deletions: map[string]model.DeletionProgress{topic: {State: "queued", Why: "no such topic"}}}
		holds(t, "not followed", newScreen(f, size.w, size.h).text(), "not followed: nobody")
		holds(t, "not followed", newScreen(f, size.w, size.h).typed("5").text(), "queued: no such topic")
		f.Alert = "NOT ANSWERING for 12 s: controller 1: the deletion of orders is not begun"
		text := newScreen(f, size.w, size.h).text()
		holds(t, "an alert", text, "NOT ANSWERING for 12 s: controller 1")
		if strings.Contains(text, "not followed") {
			t.Errorf("the alert does not stand alone:\n%s", text)
		}
	}
}
