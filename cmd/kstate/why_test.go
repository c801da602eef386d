package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhy(t *testing.T) {
	for _, x := range []struct {
		args   string
		report string
		code   int
		out    string
		err    string
	}{
		{"topic orders", "01-delete-dead-replica-after-failover", exitFound, "offline-replica: broker 3 is not registered, blocked by broker:3\n  /brokers/ids/3 does not exist", ""},
		{"topic clicks", "01-delete-dead-replica-after-failover", exitOK, "topic clicks: it is not being deleted; 1 partition: 1 OnlinePartition", ""},
		{"topic scratch", "04-delete-decommissioned-broker", exitOK, "nothing in the tree holds that", ""},
		{"topic ordrs", "01-delete-dead-replica-after-failover", exitError, "", "no such topic: ordrs (near: orders)"},
		{"partition payments-0", "20-isr-only-member-dead", exitFound, "changes when broker 2 registers", ""},
		{"partition payments-1", "20-isr-only-member-dead", exitOK, "available, led by broker 3", ""},
		{"partition payments-7", "20-isr-only-member-dead", exitError, "", "near: payments-0 to payments-2"},
		{"replica payments-0@2", "20-isr-only-member-dead", exitFound, "broker-not-registered", ""},
		{"replica payments-1@3", "20-isr-only-member-dead", exitOK, "OnlineReplica, leader", ""},
		{"broker 2", "20-isr-only-member-dead", exitFound, "2 partitions not available that it could lead", ""},
		{"broker 1", "01-delete-dead-replica-after-failover", exitOK, "broker 1: live", ""},
		{"broker 44", "01-delete-dead-replica-after-failover", exitError, "", "no such broker: 44"},
		{"leadership", "35-auto-rebalance-imbalance", exitFound, "elects 3 of 4", ""},
		{"controller", "01-delete-dead-replica-after-failover", exitOK, "controller: active: broker 1, epoch 7", ""},
		{"controller", "41-controller-znode-persistent", exitFound, "controller-znode-persistent", ""},
		{"topic", "01-delete-dead-replica-after-failover", exitUsage, "", "name one topic"},
		{"topic a b", "01-delete-dead-replica-after-failover", exitUsage, "", "name one topic"},
		{"partition orders", "01-delete-dead-replica-after-failover", exitUsage, "", `"orders" is not topic-partition`},
		{"replica orders-0", "01-delete-dead-replica-after-failover", exitUsage, "", "is not topic-partition@broker"},
		{"broker x", "01-delete-dead-replica-after-failover", exitUsage, "", `"x" is not a broker id`},
		{"leadership x", "01-delete-dead-replica-after-failover", exitUsage, "", "takes no arguments"},
	} {
		args := append([]string{"why"}, strings.Fields(x.args)...)
		kstate(t, append(args, "--tree", reports+x.report+".json")...).check(t, x.code, x.out, x.err)
	}
}

func TestWhyWithoutPermission(t *testing.T) {
	blind := `{"format": 1, "znodes": [{"path": "/brokers/ids", "error": "NoAuth"}, {"path": "/brokers/topics/t", "data": "{\"partitions\":{\"0\":[1]}}"}]}`
	kstateWith(t, blind, "why", "partition", "t-0", "--tree", "-").check(t, exitUnknown, "", "no permission to read /brokers/ids")
	state := `{"format": 1, "znodes": [{"path": "/brokers/ids/1", "data": "{\"version\":1,\"host\":\"h\",\"port\":1}", "ephemeral": true},
		{"path": "/brokers/topics/t", "data": "{\"partitions\":{\"0\":[1]}}"}, {"path": "/brokers/topics/t/partitions/0/state", "error": "NoAuth"}]}`
	kstateWith(t, state, "why", "partition", "t-0", "--tree", "-").check(t, exitUnknown, "whether it is available is not known", "NoAuth")
	kstateWith(t, state, "why", "topic", "nothing", "--tree", "-").check(t, exitError, "", "no such topic: nothing")
}

// Each subject of each report tree is explained, as text and as JSON alike.
func TestWhyOfEveryReport(t *testing.T) {
	files, err := filepath.Glob(reports + "*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("only %d report trees: %v", len(files), err)
	}
	for _, file := range files {
		for _, args := range [][]string{{"leadership"}, {"controller"}} {
			args = append([]string{"why"}, args...)
			text := kstate(t, append(args, "--tree", file)...)
			o := kstate(t, append(args, "--json", "--tree", file)...)
			var e struct{ Found, Undecided *bool }
			if err := json.Unmarshal([]byte(o.out), &e); err != nil || e.Found == nil || o.code != text.code || (o.code == exitFound) != (*e.Found && !*e.Undecided) || text.out == "" {
				t.Errorf("%v --tree %s: exit codes %d and %d, %v", args, file, text.code, o.code, err)
			}
		}
	}
}

// A live cluster is explained as its tree file is.
func TestWhyOfALiveCluster(t *testing.T) {
	addr := serve(t, loadReport(t, "20-isr-only-member-dead.json"))
	o := kstate(t, "why", "partition", "payments-0", "--json", "--zookeeper", addr)
	o.check(t, exitFound, `"why": [
  "leader-not-live",
  "no-live-isr-member",
  "unclean-election-disabled"
 ]`, "")
}
