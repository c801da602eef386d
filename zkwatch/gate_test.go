package zkwatch

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"kstate/model"
)

// frameBody is what follows the header of a write's frame.
func frameBody(op int32, path string) []byte {
	e := &encoder{}
	switch op {
	case opCreate, 15, 19, 21:
		e.str(path)
		e.bytes([]byte("x"))
		e.int32(1)
		e.int32(31)
		e.str("world")
		e.str("anyone")
		e.int32(0)
	case opSetData:
		e.str(path)
		e.bytes([]byte("x"))
		e.int32(-1)
	case opMulti:
		e.multiHeader(opSetData, false)
		e.b = append(e.b, frameBody(opSetData, path)...)
		e.multiHeader(opError, true)
	default:
		e.str(path)
		e.int32(-1)
	}
	return e.b
}

// Every operation code there is or may be: only reads and what keeps a session
// pass a closed gate; no gate lets an unknown one pass.
func TestGateKnowsEveryOperation(t *testing.T) {
	reads := map[int32]bool{3: true, 4: true, 6: true, 8: true, 9: true, 11: true, 12: true, 17: true, 18: true, 22: true,
		100: true, 101: true, 103: true, 104: true, 105: true, 106: true, 107: true, -11: true}
	writes := map[int32]bool{1: true, 2: true, 5: true, 14: true}
	ops := []int32{-11, -10, -1, -2, -100, 1000, 1 << 30, -1 << 31}
	for op := int32(0); op <= 127; op++ {
		ops = append(ops, op)
	}
	const allowed = "/brokers/topics/t/partitions/0/state"
	admin := Admin()
	for _, op := range ops {
		body := frameBody(op, allowed)
		if err := ReadOnly().admit(op, body, ""); (err == nil) != reads[op] {
			t.Errorf("read-only, op %d: %v", op, err)
		}
		if err := new(Gate).admit(op, body, ""); (err == nil) != reads[op] {
			t.Errorf("zero gate, op %d: %v", op, err)
		}
		if err := Controller().admit(op, body, ""); (err == nil) != (reads[op] || writes[op]) {
			t.Errorf("controller, op %d: %v", op, err)
		}
		if err := admin.admit(op, body, ""); (err == nil) != reads[op] {
			t.Errorf("admin without a permit, op %d: %v", op, err)
		}
		for cut := range len(body) {
			if err := Controller().admit(op, body[:cut], ""); writes[op] && err == nil {
				t.Errorf("controller, op %d cut to %d bytes passed", op, cut)
			}
		}
	}
}

func TestControllerGatePaths(t *testing.T) {
	ephemeral := create("/controller", "x")
	ephemeral.Ephemeral = true
	allowed := []model.Op{
		ephemeral, remove("/controller", 0), create("/controller_epoch", "0"), set("/controller_epoch", "1", 0),
		create("/brokers/topics/t", "x"), set("/brokers/topics/t", "x", -1), remove("/brokers/topics/t", -1),
		{Kind: model.OpCreate, Path: "/brokers/topics/t/partitions"}, {Kind: model.OpCreate, Path: "/brokers/topics/t/partitions/0"},
		create("/brokers/topics/t/partitions/0/state", "x"), set("/brokers/topics/t/partitions/0/state", "x", 1), remove("/brokers/topics/t/partitions/0/state", -1),
		remove("/brokers/topics/t/whatever/lies/there", -1), create("/config/users/u/clients/c", "x"), set("/config/brokers/<default>", "x", -1), remove("/config/clients/c", -1), create("/config/topics/t", "x"), set("/config/topics/t", "x", -1), remove("/config/topics/t", -1),
		{Kind: model.OpCreate, Path: "/admin/delete_topics/t"}, remove("/admin/delete_topics/t", -1), set("/admin/reassign_partitions", "x", -1),
		remove("/admin/reassign_partitions", -1), remove("/admin/preferred_replica_election", -1), remove("/isr_change_notification/isr_change_0000000001", -1),
		remove("/log_dir_event_notification/log_dir_event_0000000001", -1), create("/feature", "x"), set("/feature", "x", 3), set("/latest_producer_id_block", "x", 3),
		{Kind: model.OpCreate, Path: "/latest_producer_id_block"}, {Kind: model.OpCreate, Path: "/consumers"}, {Kind: model.OpCreate, Path: "/brokers"},
		{Kind: model.OpCreate, Path: "/brokers/ids"}, {Kind: model.OpCreate, Path: "/config/changes"}, {Kind: model.OpCreate, Path: "/admin"},
	}
	persistent, odd := create("/controller", "x"), create("/brokers/topics/t", "x")
	odd.Ephemeral = true
	refused := []model.Op{
		persistent, odd, set("/controller", "x", -1), remove("/controller_epoch", -1), create("/", ""), remove("/", -1), create("", ""), create("/x", ""),
		create("/brokers", "data"), remove("/brokers", -1), remove("/brokers/topics", -1), set("/brokers/topics", "x", -1), create("/brokers/ids/1", "x"), remove("/brokers/ids/1", -1),
		set("/brokers/ids/1", "x", -1), create("/cluster/id", "x"), set("/cluster/id", "x", -1), remove("/cluster", -1), create("/migration", "x"), set("/migration", "x", -1),
		create("/config/brokers/1", "x"), remove("/config/brokers/<default>", -1), set("/config/brokers/1", "x", -1), remove("/config/topics", -1), create("/config/changes/config_change_", "x"),
		create("/admin/reassign_partitions", "x"), create("/admin/preferred_replica_election", "x"), remove("/admin/delete_topics", -1), create("/isr_change_notification/isr_change_1", "x"),
		remove("/isr_change_notification", -1), remove("/isr_change_notification/other", -1), remove("/feature", -1), remove("/latest_producer_id_block", -1), create("/kafka-acl/Topic/t", "x"),
		remove("/kafka-acl", -1), create("/delegation_token/tokens/t", "x"), create("/consumers/g", "x"), create("/zookeeper/x", ""), set("/zookeeper/config", "x", -1),
		remove("/brokers/topics//x", -1), remove("/brokers/topics/t/../../ids/1", -1), set("/brokers/topics/t/x", "x", -1), create("/brokers/topics/t/x", "x"), set("/nonsense", "", -1),
		get("/controller"), exists("/controller"), children("/brokers"),
	}
	g := Controller()
	for _, op := range allowed {
		if err := g.Allow(op); err != nil {
			t.Errorf("%v", err)
		}
	}
	for _, op := range refused {
		var ge *GateError
		if err := g.Allow(op); !errors.As(err, &ge) || !strings.Contains(err.Error(), op.Path) {
			t.Errorf("%s passed, or with an unclear error: %v", op.String(), err)
		}
		if err := g.Allow(allowed[0], op); err == nil {
			t.Errorf("%s passed in a transaction", op.String())
		}
	}
	if g.Allow() == nil {
		t.Error("an empty transaction passed")
	}
}

func TestGateSeesThroughTheChroot(t *testing.T) {
	g := Controller()
	const inside = "/controller_epoch"
	if err := g.admit(opSetData, frameBody(opSetData, "/k"+inside), "/k"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{inside, "/kk" + inside, "/k", "/other" + inside} {
		if err := g.admit(opSetData, frameBody(opSetData, path), "/k"); err == nil {
			t.Errorf("%s passed", path)
		}
	}
}

func TestPermitsAreExactAndUsedOnce(t *testing.T) {
	g := Admin()
	marker := model.Op{Kind: model.OpCreate, Path: "/admin/delete_topics/t"}
	if err := g.Permit(marker); err != nil {
		t.Fatal(err)
	}
	near := []model.Op{create(marker.Path, ""), create(marker.Path, "x"), remove(marker.Path, 0), {Kind: model.OpCreate, Path: marker.Path + "x"}, {Kind: model.OpCreate, Path: marker.Path, Ephemeral: true}}
	for _, op := range near {
		if g.pass([]model.Op{op}) == nil {
			t.Errorf("%s passed", op.String())
		}
	}
	if g.pass([]model.Op{marker, marker}) == nil {
		t.Error("two for one passed")
	}
	if err := g.Allow(marker); err != nil {
		t.Errorf("asking used it up: %v", err)
	}
	if err := g.pass([]model.Op{marker}); err != nil {
		t.Error(err)
	}
	if g.pass([]model.Op{marker}) == nil {
		t.Error("it passed twice")
	}
	for _, bad := range []error{Controller().Permit(marker), ReadOnly().Permit(marker), g.Permit(), g.Permit(get("/x"))} {
		if bad == nil {
			t.Error("a permit was taken that cannot be")
		}
	}
	if err := g.Permit(set("/x", "a", 3)); err != nil {
		t.Fatal(err)
	}
	for _, op := range []model.Op{set("/x", "a", -1), set("/x", "b", 3), {Kind: model.OpSet, Path: "/x", Version: 3}} {
		if g.pass([]model.Op{op}) == nil {
			t.Errorf("%s passed", op.String())
		}
	}
}

// A fault above the socket: a write asked of the ZooKeeper client itself, around
// Do and its check. It does not leave, and reads go on.
func TestClosedGateHoldsBelowTheClient(t *testing.T) {
	l := newLab(t)
	l.seed("/brokers/topics/t=a")
	c := l.connect(Options{})
	client := c.session().client
	l.asked()
	within(t, "the client's writes", func() {
		if _, err := client.Set("/brokers/topics/t", nil, -1); err == nil {
			t.Error("set was done")
		}
		if err := client.Delete("/brokers/topics/t", -1); err == nil {
			t.Error("delete was done")
		}
		if _, err := client.Multi(&zk.DeleteRequest{Path: "/brokers/topics/t", Version: -1}); err == nil {
			t.Error("multi was done")
		}
	})
	wantCodes(t, c.Do(call(get("/brokers/topics/t"))), "OK")
	for _, line := range l.asked() {
		if !strings.HasPrefix(line, "getData") {
			t.Errorf("the server was asked: %s", line)
		}
	}
	// The same through an announced flight, which only the gate can stop.
	f := newFlight(opDelete, "/brokers/topics/t", false, func(conn *zk.Conn, _ *flight) error { return conn.Delete("/brokers/topics/t", -1) })
	within(t, "the announced write", func() {
		c.session().launch(f)
		<-f.done
	})
	if f.code != model.CodeReadOnlyMode {
		t.Errorf("code %s", f.code)
	}
	if data, _, _ := l.store.Get("/brokers/topics/t"); string(data) != "a" {
		t.Errorf("data %q", data)
	}
}

func TestReadOnlyRefusesCalls(t *testing.T) {
	l := newLab(t)
	l.seed("/brokers/topics/t=a", "/controller_epoch=1")
	c := l.connect(Options{})
	before := l.store.Zxid()
	fenced := call(set("/brokers/topics/t", "x", 0))
	fenced.Fenced = true
	atomic := call(set("/controller_epoch", "x", 0), create("/controller", "x"))
	atomic.Atomic = true
	wantCodes(t, c.Do(call(create("/x", ""), get("/brokers/topics/t"), remove("/brokers/topics/t", -1))), "READONLYMODE OK READONLYMODE")
	wantCodes(t, c.Do(fenced), "READONLYMODE")
	wantCodes(t, c.Do(atomic), "READONLYMODE READONLYMODE")
	if now := l.store.Zxid(); now != before {
		t.Errorf("zxid went from %d to %d", before, now)
	}
}

func TestAdminWritesAreSentAtMostOnce(t *testing.T) {
	l := newLab(t)
	l.seed("/admin/delete_topics")
	gate := Admin()
	c := l.connect(Options{Gate: gate})
	marker := model.Op{Kind: model.OpCreate, Path: "/admin/delete_topics/t"}
	wantCodes(t, c.Do(call(marker)), "READONLYMODE")
	if err := gate.Permit(marker); err != nil {
		t.Fatal(err)
	}
	wantCodes(t, c.Do(call(marker)), "OK")
	wantCodes(t, c.Do(call(marker)), "READONLYMODE")
	cutOnce(l, "create", true)
	marker.Path += "2"
	if err := gate.Permit(marker); err != nil {
		t.Fatal(err)
	}
	wantCodes(t, c.Do(call(marker)), "CONNECTIONLOSS")
	if _, _, code := l.store.Get(marker.Path); code != 0 {
		t.Errorf("the write was cut off after it was done, but: %s", code)
	}
}

// A controller that is no broker may register under its own id only.
func TestOutsiderGate(t *testing.T) {
	op := func(kind model.OpKind, id int32, ephemeral bool) model.Op {
		return model.Op{Kind: kind, Path: model.BrokerIDPath(id), Ephemeral: ephemeral, Version: model.AnyVersion}
	}
	g := Outsider(1000)
	for _, kind := range []model.OpKind{model.OpCreate, model.OpSet, model.OpDelete} {
		if err := g.Allow(op(kind, 1000, true)); err != nil {
			t.Error(err)
		}
		for name, gate := range map[string]*Gate{"another's": g, "a controller's own": Controller()} {
			if err := gate.Allow(op(kind, 1, true)); err == nil {
				t.Errorf("%s registration passes: %s", name, kind)
			}
		}
	}
	if err := g.Allow(op(model.OpCreate, 1000, false)); err == nil {
		t.Error("a registration that outlives its session passes")
	}
	if err := g.Allow(model.Op{Kind: model.OpSet, Path: model.ControllerEpochPath}); err != nil {
		t.Error(err)
	}
}
