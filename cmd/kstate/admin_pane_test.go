package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kstate/internal/lab"
	"kstate/model"
)

// Changes by the keys of kstate admin, on a narrow terminal: plan, consent, end.
func TestChangesByKeys(t *testing.T) {
	needTmux(t)
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	log := filepath.Join(t.TempDir(), "audit.log")
	p := openPane(t, 80, 24, "admin", "--zookeeper", d.bench.lab.Addr(), "--audit-log", log, "--journal", filepath.Join(t.TempDir(), "session.journal"))
	p.await(patience, "the dashboard", func(text string) bool {
		return strings.Contains(text, "ADMIN") && strings.Contains(text, "connected") && !strings.Contains(text, "READ-ONLY") && nodeCount(text, "OnlinePartition") == 6
	})
	recorded := func() string { data, _ := os.ReadFile(log); return string(data) }

	p.keys("2")
	p.await(patience, "the topics", holding("clicks", "orders"))
	p.asked("D", "Delete a topic", "Enter")
	p.await(patience, "the exact write", holding("Consent", "create /admin/delete_topics/clicks", "only if /brokers/topics/clicks has version 0", "on cluster "+lab.ClusterID, "type clicks"))
	p.keys("orders", "Enter")
	p.await(patience, "that this is another name", holding("That is not clicks."))
	p.keys("Escape")
	p.await(patience, "that it is withdrawn", holding("withdrawn: delete topic clicks; nothing was written"))
	if f := d.frame(); f.View.IsQueued("clicks") || recorded() != "" {
		t.Fatalf("it was written without consent; recorded: %s", recorded())
	}

	p.asked("D", "Delete a topic", "Enter")
	p.await(patience, "the exact write", holding("Consent", "type clicks"))
	p.keys("clicks", "Enter")
	p.await(patience, "its end", holding("Written", "done: the topic and its marker are gone"))
	d.await("the topic is gone", func(f *model.Frame) bool { return !f.View.KnowsTopic("clicks") })
	p.leaveDialogs()

	p.asked("C", "Create a topic", "new", "Tab", "2", "Tab", "3", "Enter")
	p.await(patience, "the exact write", holding("Consent", "create /config/topics/new", "create /brokers/topics/new", "type new"))
	p.keys("new", "Enter")
	p.await(patience, "its end", holding("done: 2 of 2 partitions have a leader"))
	d.online(6, 17)
	p.leaveDialogs()

	p.asked("E", "Elect leaders", "1", "Enter")
	p.await(patience, "why not", holding("an offline election cannot be asked for"))
	p.leaveDialogs()
	p.asked("E", "Elect leaders", "Enter")
	p.await(patience, "that there is nothing to do", holding("There is nothing to do.", "led by its preferred replica already"))
	p.leaveDialogs()

	epoch := d.frame().Controller.Epoch
	p.asked("M", "Move the controller", "Enter")
	p.await(patience, "the exact write", holding("Consent", "delete /controller", "type controller"))
	p.keys("controller", "Enter")
	p.await(patience, "its end", holding("is the controller again, epoch"))
	d.await("another epoch", func(f *model.Frame) bool { return f.Controller.Epoch == epoch+1 })
	p.leaveDialogs()
	p.keys("q")
	p.await(patience, "its end", func(text string) bool { return !strings.Contains(text, "ADMIN") })
	if n := strings.Count(recorded(), "\n"); n != 9 || strings.Count(recorded(), `"stage":"intent"`) != 3 {
		t.Errorf("%d records:\n%s", n, recorded())
	}
}

func TestAdminNeedsATerminal(t *testing.T) {
	kstate(t, "admin").check(t, exitUsage, "", "which cluster?")
	_, c := plainCluster(t, false)
	kstate(t, "admin", "--zookeeper", c.addr, "--audit-log", c.log).check(t, exitUsage, "", "standard output is no terminal")
	kstate(t, "admin", "--zookeeper", "h:1", "--audit-log", "/dev/null/x").check(t, exitError, "", "audit log /dev/null/x")
	kstate(t, "admin", "--zookeeper", "h:1", "--bootstrap-server", "nowhere").check(t, exitUsage, "", "want HOST:PORT")
}
