package zkserver

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// faults is an Intercept hook that a test sets as it goes.
type faults struct {
	mu    sync.Mutex
	rule  func(Request) Verdict
	asked []Request
}

func (f *faults) install(o *Options) {
	o.Intercept = func(r Request) Verdict {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asked = append(f.asked, r)
		if f.rule == nil {
			return Verdict{}
		}
		return f.rule(r)
	}
}

// on lets the next requests of an op have a verdict.
func (f *faults) on(op OpCode, v Verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rule = func(r Request) Verdict {
		if r.Op == op {
			return v
		}
		return Verdict{}
	}
}

func TestFaultCodesAreAnsweredAndNothingIsDone(t *testing.T) {
	f := &faults{}
	s, addr := listening(t, f.install)
	c := connected(t, addr)
	f.on(OpCreate, Verdict{Code: NoAuth})
	before := s.Store().Zxid()
	if a := c.want(NoAuth, OpCreate, createBody("/a", nil, 0)); a.zxid != before+1 {
		t.Errorf("zxid %d, want %d", a.zxid, before+1)
	}
	f.on(OpGetData, Verdict{Code: NoNode})
	c.want(NoNode, OpGetData, watchBody("/", true))
	f.on(OpMulti, Verdict{Code: BadVersion, At: 1})
	a := c.want(OK, OpMulti, multiBody(part{OpCreate, createBody("/m", nil, 0)}, part{OpCheck, versionBody("/", 0)}, part{OpCheck, versionBody("/", 0)}))
	wantBytes(t, "multi", a.body, "ffffffff 00 00000000 00000000"+"ffffffff 00 ffffff99 ffffff99"+"ffffffff 00 fffffffe fffffffe"+"ffffffff 01 ffffffff")
	f.on(OpReconfig, Verdict{Code: NoAuth})
	c.want(NoAuth, OpReconfig, make([]byte, 20))
	if names, _, _ := s.Store().Children("/"); len(names) != 1 {
		t.Errorf("made %v", names)
	}
	last := f.asked[len(f.asked)-2]
	if last.Op != OpMulti || len(last.Ops) != 3 || last.Ops[0].Path != "/m" || last.Session != c.id || last.Peer != c.nc.LocalAddr().String() {
		t.Errorf("the hook saw %+v", last)
	}
}

func TestCutBeforeAndAfterTheCommit(t *testing.T) {
	f := &faults{}
	s, addr := listening(t, f.install)
	c := connected(t, addr)
	f.on(OpCreate, Verdict{Cut: CutBefore})
	c.send(OpCreate, createBody("/before", nil, 0))
	c.wantClosed()
	c = c.reconnected(addr)
	f.on(OpCreate, Verdict{Cut: CutAfter})
	c.send(OpCreate, createBody("/after", nil, 0))
	c.wantClosed()
	c = c.reconnected(addr)
	f.on(OpCreate, Verdict{DropReply: true})
	c.want(OK, OpAddWatch, versionBody("/", 1))
	c.send(OpCreate, createBody("/dropped", nil, 0))
	c.wantEvents("NodeCreated /dropped")
	c.quiet()
	if names, _, _ := s.Store().Children("/"); !slices.Equal(names, []string{"after", "dropped", "zookeeper"}) {
		t.Errorf("made %v", names)
	}
}

func TestAHeldRequestKeepsItsSessionAlive(t *testing.T) {
	f := &faults{}
	s, addr := listening(t, f.install)
	c := connected(t, addr)
	release := make(chan struct{})
	f.on(OpCreate, Verdict{Hold: release, Delay: time.Millisecond})
	xid := c.send(OpCreate, createBody("/held", nil, 0))
	other := connected(t, addr)
	other.want(NoNode, OpExists, watchBody("/held", false)) // others go on
	store := s.Store()
	heldNow := func() bool {
		store.mu.Lock()
		defer store.mu.Unlock()
		return store.sessions[c.id].held == 1
	}
	for deadline := time.Now().Add(patience); !heldNow(); {
		if time.Now().After(deadline) {
			t.Fatal("never held")
		}
		other.quiet()
	}
	store.mu.Lock()
	store.sessions[c.id].deadline = time.Time{} // long overdue
	store.mu.Unlock()
	if due := store.ExpireDue(); due != nil {
		t.Fatalf("expired %x while the server holds its request", due)
	}
	close(release)
	if a := c.next(); a.xid != xid || a.code != OK {
		t.Errorf("%+v", a)
	}
}

func TestFaultsInProcess(t *testing.T) {
	f := &faults{}
	s, _ := quietStore(t, f.install)
	f.on(OpCreate, Verdict{Cut: CutBefore})
	if r, _ := s.Apply(0, Create("/a", nil, 0)); r.Code != ConnectionLoss || s.Zxid() != 0 {
		t.Errorf("%v at zxid %d", r.Code, s.Zxid())
	}
	f.on(OpCreate, Verdict{Cut: CutAfter})
	if r, _ := s.Apply(0, Create("/a", nil, 0)); r.Code != ConnectionLoss {
		t.Errorf("%v", r.Code)
	}
	if _, code := s.Exists("/a"); code != OK {
		t.Errorf("after a cut that comes after: %v", code)
	}
	f.on(OpMulti, Verdict{Code: BadVersion, At: 7})
	if res, _ := s.Multi(0, []Op{Check("/", -1), Check("/", -1)}); res[0].Code != OK || res[1].Code != BadVersion {
		t.Errorf("%v", res)
	}
}

func TestTxnHookSeesBeforeAndAfter(t *testing.T) {
	var lines []string
	text := func(v *Value) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%s/%d/%d", v.Data, v.Stat.Version, v.Stat.Aversion)
	}
	s, c := quietStore(t, func(o *Options) {
		o.OnTxn = func(x Txn) {
			line := fmt.Sprintf("%d %v %v %v", x.Zxid, x.Kind, x.Op, x.Code.String())
			for _, ch := range x.Changes {
				line += fmt.Sprintf(" %s %s>%s", ch.Path, text(ch.Before), text(ch.After))
			}
			lines = append(lines, line)
		}
	})
	id, _ := s.CreateSession(time.Second)
	s.Apply(id, Create("/a", []byte("x"), Ephemeral))
	s.Multi(id, []Op{Set("/a", []byte("y"), 0), {Kind: OpSetACL, Path: "/a", Version: 0}, Set("/a", []byte("z"), 1)})
	s.Apply(0, Set("/a", nil, 9))
	s.Apply(0, Op{Kind: OpCreateTTL, Path: "/t", Flags: PersistentTTL, TTLMillis: 10})
	c.at = c.at.Add(time.Second)
	s.Sweep()
	s.ExpireDue()
	want := []string{
		"1 createSession op 0 ok",
		"2 request create ok /a ->x/0/0",
		"3 request multi ok /a x/0/0>y/1/0 /a y/1/0>y/1/1 /a y/1/1>z/2/1",
		"4 request setData bad version",
		"5 request createTTL ok /t ->/0/0",
		"6 sweep delete ok /t /0/0>-",
		"7 expireSession closeSession ok /a z/2/1>-",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%q\nwant\n%q", lines, want)
	}
}
