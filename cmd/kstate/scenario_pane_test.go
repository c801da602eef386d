package main

import (
	"strings"
	"testing"
)

// A scenario in a terminal: its situation is brought about, a fault is injected by
// key on the step at hand, its goal is reached and said to be.
func TestAScenarioInATerminal(t *testing.T) {
	for _, size := range sizes() {
		p := openPane(t, size[0], size[1], "lab", "badversion-race")
		p.await(patience, "the situation", func(text string) bool {
			return holding("Goal: ", "next: call set /brokers/topics/orders")(text) && !strings.Contains(text, "brought about")
		})
		p.asked("H", "Scenario badversion-race", "h")
		p.await(patience, "a hint", holding("Hint: Arm a fault"))
		p.leaveDialogs()
		p.asked("F", "Faults", "Enter") // BADVERSION for the write at hand
		p.await(patience, "the fault armed", holding("faults: 1"))
		p.keys("Space")
		p.await(patience, "the goal reached", holding("✓ Goal reached"))
		if text, _ := p.capture(); strings.Contains(text, "faults: 1") {
			t.Errorf("a spent fault still counts:\n%s", text)
		}
		p.keys("q")
	}
}

// The lab's operator changes a setting by key; the inspector shows a broker's disk.
func TestSettingsAndDisksInATerminal(t *testing.T) {
	p := openPane(t, 160, 50, "lab", "delete-topic")
	p.await(patience, "the situation", func(text string) bool {
		return strings.Contains(text, "Goal: ") && nodeCount(text, "OnlinePartition") == 3
	})
	p.keys("4")
	p.keys("Enter")
	p.await(patience, "the disk", holding("log directories", "/lab/broker-1/0", "orders-0"))
	p.asked("O", "Settings", "Down", "Enter") // delete.topic.enable
	p.await(patience, "the restart", holding("the controller was restarted, for in Kafka too"))
	p.await(patience, "the controller again", holding("(self) epoch 2"))
	p.keys("2")
	p.asked("D", "Delete a topic", "clicks", "Enter")
	p.await(patience, "that the marker is dropped", holding("removing topics [clicks] since delete topic is disab"))
	p.keys("q")
}
