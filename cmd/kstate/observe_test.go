package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// observeHeadless runs kstate observe --headless for a while.
func observeHeadless(t *testing.T, span time.Duration, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), span)
	defer cancel()
	var out, errs bytes.Buffer
	code := run(ctx, append([]string{"observe", "--headless"}, args...), console{strings.NewReader(""), &out, &errs})
	return output{code, out.String(), errs.String()}
}

// An empty cluster that looks well is the worst answer to a wrong chroot.
func TestObserveRefusesWhatIsNoCluster(t *testing.T) {
	f := loadReport(t, "20-isr-only-member-dead.json")
	for i := range f.Znodes {
		f.Znodes[i].Path = model.JoinChroot("/a/b", f.Znodes[i].Path)
	}
	addr := serve(t, f)
	observeHeadless(t, 300*time.Millisecond, "--zookeeper", addr+"/a/b").check(t, exitOK, "", "")
	observeHeadless(t, 30*time.Second, "--zookeeper", addr).check(t, exitError, "", "there is one under /a/b")
	observeHeadless(t, 30*time.Second, "--zookeeper", addr+"/nowhere").check(t, exitError, "", "no Kafka cluster under the chroot /nowhere")
	observeHeadless(t, 30*time.Second, "--zookeeper", serve(t, loadReport(t, "74-wrong-chroot.json"))).check(t, exitError, "", "Kafka trees exist under /")
	observeHeadless(t, 30*time.Second, "--zookeeper", "127.0.0.1:1", "--zookeeper-timeout", "300").check(t, exitUnknown, "", "127.0.0.1:1")
	observeHeadless(t, 30*time.Second).check(t, exitUsage, "", "which cluster?")
	for i := range f.Znodes {
		f.Znodes[i].Error = "NoAuth"
	}
	observeHeadless(t, 30*time.Second, "--zookeeper", serve(t, f)+"/a/b").check(t, exitUnknown, "", "NOAUTH")
}

// A cluster that has just been set up, without a broker or a topic yet, is one.
func TestObserveOfAFreshCluster(t *testing.T) {
	store := zkserver.NewStore(zkserver.Options{})
	if err := store.Load([]zkserver.Znode{{Path: "/kafka/brokers/ids"}, {Path: "/kafka/brokers/topics"}}); err != nil {
		t.Fatal(err)
	}
	server := zkserver.NewServer(store, zkserver.ServerOptions{})
	t.Cleanup(func() { server.Close() })
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	observeHeadless(t, 300*time.Millisecond, "--zookeeper", addr.String()+"/kafka").check(t, exitOK, "", "")
	kstate(t, "state", "--json", "--zookeeper", addr.String()+"/kafka").check(t, exitOK, `"partitions": []`, "")
}

func TestADashboardNeedsATerminal(t *testing.T) {
	addr := serve(t, loadReport(t, "20-isr-only-member-dead.json"))
	kstate(t, "observe", "--zookeeper", addr).check(t, exitUsage, "", "standard output is no terminal")
	kstate(t, "lab").check(t, exitUsage, "", "standard output is no terminal")
}
