package zkwatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

func TestReadsGiveDataStatAndSortedChildren(t *testing.T) {
	l := newLab(t)
	l.seed("/k/brokers/topics/b=B", "/k/brokers/topics/a=", "/k/brokers/topics/c")
	c := l.connect(Options{Servers: "lab:2181/k"})
	r := c.Do(call(children("/brokers/topics"), exists("/brokers/topics/b"), get("/brokers/topics/a"), get("/brokers/topics/b"), get("/brokers/topics/c"), get("/nothing"), exists("/nothing"), get("/")))
	wantCodes(t, r, "OK OK OK OK OK NONODE NONODE OK")
	if got := r.Ops[0].Children; !slices.Equal(got, []string{"a", "b", "c"}) || r.Ops[0].Stat.NumChildren != 3 {
		t.Errorf("children %v, stat %+v", got, r.Ops[0].Stat)
	}
	_, st, _ := l.store.Get("/k/brokers/topics/b")
	want := model.Stat{Czxid: st.Czxid, Mzxid: st.Mzxid, Pzxid: st.Pzxid, Ctime: st.Ctime, Mtime: st.Mtime, Version: st.Version, CVersion: st.Cversion, AVersion: st.Aversion}
	if r.Ops[1].Stat != want || r.Ops[3].Stat != want {
		t.Errorf("stat %+v and %+v, want %+v", r.Ops[1].Stat, r.Ops[3].Stat, want)
	}
	if string(r.Ops[3].Data) != "B" {
		t.Errorf("data %q", r.Ops[3].Data)
	}
}

// Null data and empty data are two things to Kafka, on every way to read them.
func TestNullIsNotEmpty(t *testing.T) {
	l := newLab(t)
	c := l.connect(Options{Gate: Controller()})
	l.seed("/brokers/topics")
	null := model.Op{Kind: model.OpCreate, Path: "/brokers/topics/null"}
	empty := model.Op{Kind: model.OpCreate, Path: "/brokers/topics/empty", Data: []byte{}}
	wantCodes(t, c.Do(call(null, empty)), "OK OK")
	for _, ops := range [][]model.Op{{get(null.Path), get(empty.Path)}, {get(null.Path)}, {get(empty.Path)}} {
		for i, r := range c.Do(call(ops...)).Ops {
			if wantNull := ops[i].Path == null.Path; (r.Data == nil) != wantNull || len(r.Data) != 0 {
				t.Errorf("%s read with %d others: %#v", ops[i].Path, len(ops)-1, r.Data)
			}
		}
	}
	if data, _, _ := l.store.Get(null.Path); data != nil {
		t.Errorf("the server got %#v for null data", data)
	}
}

func TestFencedWrites(t *testing.T) {
	l := newLab(t)
	l.seed("/controller_epoch=1", "/brokers/topics/t/partitions/0/state=a", "/brokers/topics/t/partitions/1/state=b")
	c := l.connect(Options{Gate: Controller()})
	s0, s1 := "/brokers/topics/t/partitions/0/state", "/brokers/topics/t/partitions/1/state"
	fenced := func(epoch int32, ops ...model.Op) model.Result {
		k := call(ops...)
		k.Fenced, k.Epoch = true, epoch
		return c.Do(k)
	}
	r := fenced(0, set(s0, "x", 0), set(s1, "y", 7), create("/brokers/topics/t/partitions", ""), remove("/admin/delete_topics/t", -1))
	wantCodes(t, r, "OK BADVERSION NODEEXISTS NONODE")
	if r.Ops[0].Stat.Version != 1 {
		t.Errorf("stat of the set %+v", r.Ops[0].Stat)
	}
	for _, line := range l.asked() {
		if strings.HasPrefix(line, "multi ") && !strings.HasPrefix(line, "multi check:/controller_epoch ") {
			t.Errorf("a write without its fence: %s", line)
		}
	}
	l.set("/controller_epoch", "2")
	wantCodes(t, fenced(0, set(s0, "z", 1), get(s0)), "BADVERSION/RUNTIMEINCONSISTENCY OK")
	l.remove("/controller_epoch")
	wantCodes(t, fenced(1, set(s0, "z", 1)), "NONODE/RUNTIMEINCONSISTENCY")
	if data, _, _ := l.store.Get(s0); string(data) != "x" {
		t.Errorf("state is %q", data)
	}
}

func TestElectionIsOneTransaction(t *testing.T) {
	l := newLab(t)
	l.seed("/controller_epoch=0", "/brokers/ids")
	c := l.connect(Options{Gate: Controller()})
	elect := func(version int32) model.Result {
		controller := create("/controller", "me")
		controller.Ephemeral = true
		k := call(controller, set("/controller_epoch", "1", version))
		k.Atomic = true
		return c.Do(k)
	}
	wantCodes(t, elect(5), "OK BADVERSION")
	if _, _, code := l.store.Get("/controller"); code != zkserver.NoNode {
		t.Fatalf("/controller after a refused election: %v", code)
	}
	r := elect(0)
	wantCodes(t, r, "OK OK")
	if owner := r.Ops[0].Stat.EphemeralOwner; owner != c.State().SessionID || owner == 0 {
		t.Errorf("owner 0x%x, session 0x%x", owner, c.State().SessionID)
	}
	st, _ := l.store.Exists("/controller")
	if r.Ops[0].Stat.Czxid != st.Czxid || r.Ops[1].Stat.Version != 1 {
		t.Errorf("stats %+v", r.Ops)
	}
	wantCodes(t, elect(1), "NODEEXISTS RUNTIMEINCONSISTENCY")
}

// A broker registers by a create with null data and a set of version 0, so its
// znode has version 1 and its epoch is the czxid in the set's Stat.
func TestNullCreateThenSetInOneTransaction(t *testing.T) {
	l := newLab(t)
	l.seed("/brokers/ids")
	gate := Admin()
	c := l.connect(Options{Gate: gate})
	ops := []model.Op{{Kind: model.OpCreate, Path: "/brokers/ids/1", Ephemeral: true}, set("/brokers/ids/1", "{}", 0)}
	if err := gate.Permit(ops...); err != nil {
		t.Fatal(err)
	}
	k := call(ops...)
	k.Atomic = true
	r := c.Do(k)
	wantCodes(t, r, "OK OK")
	st, _ := l.store.Exists("/brokers/ids/1")
	if st.Version != 1 || r.Ops[1].Stat.Czxid != st.Czxid {
		t.Errorf("stat %+v, of the result %+v", st, r.Ops[1].Stat)
	}
}

// A config is written only while the controller that was read still holds the role.
func TestATransactionMayCheckAnotherZnode(t *testing.T) {
	l := newLab(t)
	l.seed("/controller", "/config", "/config/topics", "/config/topics/a")
	c := l.connect(Options{Gate: Controller()})
	write := func(version int32) model.Result {
		return c.Do(&model.Call{Purpose: "set_config", Atomic: true, Ops: []model.Op{
			{Kind: model.OpCheck, Path: "/controller", Version: version}, set("/config/topics/a", "new", -1)}})
	}
	wantCodes(t, write(0), "OK OK")
	wantCodes(t, write(7), "BADVERSION RUNTIMEINCONSISTENCY")
}

func TestWritesLeaveInOrder(t *testing.T) {
	l := newLab(t)
	l.seed("/controller_epoch=1", "/brokers/topics")
	c := l.connect(Options{Gate: Controller()})
	k := &model.Call{Purpose: "create", Fenced: true}
	for i := range 300 {
		k.Ops = append(k.Ops, create(fmt.Sprintf("/brokers/topics/t%03d", i), "x"))
	}
	r := c.Do(k)
	var last int64
	for i, o := range r.Ops {
		if o.Code != model.CodeOK || o.Stat.Czxid <= last {
			t.Fatalf("op %d: %s, zxid %d after %d", i, o.Code, o.Stat.Czxid, last)
		}
		last = o.Stat.Czxid
	}
}

func TestManyReadsAreBatched(t *testing.T) {
	l := newLab(t)
	k := &model.Call{Purpose: "get_state"}
	for i := range 5000 {
		path := fmt.Sprintf("/brokers/topics/t/partitions/%d/state", i)
		l.seed(fmt.Sprintf("%s=%d", path, i))
		k.Ops = append(k.Ops, get(path))
	}
	k.Ops = append(k.Ops, get("/missing"))
	c := l.connect(Options{})
	l.asked()
	r := c.Do(k)
	for i := range 5000 {
		if string(r.Ops[i].Data) != fmt.Sprint(i) || r.Ops[i].Stat.Czxid == 0 {
			t.Fatalf("op %d: %+v", i, r.Ops[i])
		}
	}
	if r.Ops[5000].Code != model.CodeNoNode {
		t.Errorf("the missing one: %s", r.Ops[5000].Code)
	}
	if n := len(l.asked()); n > 20 {
		t.Errorf("%d requests for 5001 reads", n)
	}
}

// Before ZooKeeper 3.6 there is no multiRead: the server says so and closes, or
// just closes. Both are found out once, at the start.
func TestOldServerIsReadOneByOne(t *testing.T) {
	for name, verdict := range map[string]zkserver.Verdict{
		"refused": {Code: zkserver.Unimplemented}, "closed": {Cut: zkserver.CutBefore},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.onRequest(func(r zkserver.Request) zkserver.Verdict {
				if r.Op == zkserver.OpMultiRead || r.Op == zkserver.OpAddWatch {
					return verdict
				}
				return zkserver.Verdict{}
			})
			k := &model.Call{}
			for i := range 200 {
				l.seed(fmt.Sprintf("/t/%d=%d", i, i))
				k.Ops = append(k.Ops, get(fmt.Sprintf("/t/%d", i)))
			}
			c := l.connect(Options{})
			if c.State().MultiRead {
				t.Error("the server is taken for a new one")
			}
			for i, o := range c.Do(k).Ops {
				if string(o.Data) != fmt.Sprint(i) {
					t.Fatalf("op %d: %+v", i, o)
				}
			}
		})
	}
}

// A request whose answer is lost is sent again, alone, in the same session: a
// create that had been done answers NODEEXISTS, a conditional set BADVERSION.
func TestLostAnswersAreAskedForAgain(t *testing.T) {
	l := newLab(t)
	l.seed("/controller_epoch=1", "/brokers/topics/t=a", "/brokers/topics/u=a")
	resent := newStream[Resend]()
	c := l.connect(Options{Gate: Controller(), OnResend: resent.put})
	session := c.State().SessionID
	for _, tc := range []struct {
		cut  zkserver.Cut
		op   model.Op
		want string
	}{
		{zkserver.CutBefore, create("/brokers/topics/n1", "x"), "OK"},
		{zkserver.CutAfter, create("/brokers/topics/n2", "x"), "NODEEXISTS"},
		{zkserver.CutBefore, set("/brokers/topics/t", "x", 0), "OK"},
		{zkserver.CutAfter, set("/brokers/topics/u", "x", 0), "BADVERSION"},
	} {
		done := false
		l.onRequest(func(r zkserver.Request) zkserver.Verdict {
			if r.Op == zkserver.OpMulti && !done {
				done = true
				return zkserver.Verdict{Cut: tc.cut}
			}
			return zkserver.Verdict{}
		})
		k := call(tc.op)
		k.Fenced = true
		wantCodes(t, c.Do(k), tc.want)
		if again := resent.next(t, "a resend"); again.Attempt != 2 || again.Ops[0].Path != tc.op.Path || again.Purpose != "test" {
			t.Errorf("resend %+v", again)
		}
	}
	if now := c.State().SessionID; now != session {
		t.Errorf("session 0x%x became 0x%x", session, now)
	}
}

// A cut amid many requests: each is answered, none is applied twice.
func TestCutAmidAPipeline(t *testing.T) {
	l := newLab(t)
	l.seed("/controller_epoch=1", "/brokers/topics")
	again := map[string]bool{}
	c := l.connect(Options{Gate: Controller(), OnResend: func(r Resend) { again[r.Ops[0].Path] = true }})
	n := 0
	l.onRequest(func(r zkserver.Request) zkserver.Verdict {
		if n++; n == 20 || n == 70 {
			return zkserver.Verdict{Cut: zkserver.CutBefore}
		}
		return zkserver.Verdict{}
	})
	k := &model.Call{Fenced: true}
	for i := range 200 {
		k.Ops = append(k.Ops, create(fmt.Sprintf("/brokers/topics/t%03d", i), "x"))
	}
	for i, o := range c.Do(k).Ops {
		if o.Code != model.CodeOK && !(o.Code == model.CodeNodeExists && again[k.Ops[i].Path]) {
			t.Errorf("op %d: %s", i, o.Code)
		}
	}
	if len(again) == 0 || len(again) > 2*defaultWindow {
		t.Errorf("%d requests were sent again", len(again))
	}
	if names, _, _ := l.store.Children("/brokers/topics"); len(names) != 200 {
		t.Errorf("%d topics", len(names))
	}
}

func TestWhatCannotBeSent(t *testing.T) {
	l := newLab(t)
	l.seed("/brokers/topics")
	log := newStream[string]()
	c := l.connect(Options{Gate: Controller(), Log: log.put})
	wantCodes(t, c.Do(call(create("/brokers/topics/big", strings.Repeat("x", 2<<20)))), "MARSHALLINGERROR")
	if line := log.next(t, "a log line"); !strings.Contains(line, "/brokers/topics/big") {
		t.Errorf("log %q", line)
	}
	wantCodes(t, c.Do(call(get("no/slash"))), "NONODE")
	atomic := call(get("/brokers"))
	atomic.Atomic = true
	wantCodes(t, c.Do(atomic), "BADARGUMENTS")
	if r := c.Do(call()); len(r.Ops) != 0 || r.At == 0 {
		t.Errorf("an empty call: %+v", r)
	}
}
