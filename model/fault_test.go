package model

import (
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern  Pattern
		text     string
		is, isIn bool
	}{
		{"/a/b", "/a/b", true, true},
		{"/a/b", "/a/b/c", false, true},
		{"/a/*", "/a/b/c", true, true},
		{"/a/*", "/a", false, false},
		{"*", "", true, true},
		{"*state", "/brokers/topics/t/partitions/0/state", true, true},
		{"/a*a", "/a", false, false},
		{"/a*b*c", "/a1b2b3c", true, true},
		{"/a*b*c", "/a1c2b3", false, false},
		{"Online", "move partition t-0 NewPartition -> OnlinePartition", false, true},
		{"t-0*Online", "move partition t-0 NewPartition -> OnlinePartition", false, true},
		{"Online*t-0", "move partition t-0 NewPartition -> OnlinePartition", false, false},
		{"", "x", false, true},
	} {
		if got := c.pattern.Is(c.text); got != c.is {
			t.Errorf("%q is all of %q: %v", c.pattern, c.text, got)
		}
		if got := c.pattern.In(c.text); got != c.isIn {
			t.Errorf("%q is in %q: %v", c.pattern, c.text, got)
		}
	}
}

func TestFaultsSayWhatTheyAre(t *testing.T) {
	for want, f := range map[string]Fault{
		"write /brokers/topics/* answers BADVERSION":            {FaultMatch{At: AtOp, Op: AnyWrite, Path: "/brokers/topics/*", Nth: 1}, FaultEffect{Kind: AnswerCode, Code: CodeBadVersion}},
		"write * leaves batch dirty":                            {FaultMatch{At: AtOp, Op: AnyWrite, Path: "*", Nth: 1}, FaultEffect{Kind: LeavesDirty}},
		"2nd get /x lost after":                                 {FaultMatch{At: AtOp, Op: GetOp, Path: "/x", Nth: 2}, FaultEffect{Kind: LostAfter}},
		"every StopReplica answered by broker 2 held":           {FaultMatch{At: AtAnswer, Broker: 2, Request: StopReplicaKind, Nth: EveryTime}, FaultEffect{Kind: HoldAnswer}},
		"request to any broker do kill broker 3":                {FaultMatch{At: AtSend, Broker: AnyBroker, Nth: 1}, FaultEffect{Kind: DoFirst, Do: KillBroker{3}}},
		`step "move replica" do cut broker 1 from zookeeper`:    {FaultMatch{At: AtStep, Text: "move replica", Nth: 1}, FaultEffect{Kind: DoFirst, Do: CutBroker{1, ZooKeeperSide}}},
		"request answered by broker 1 error STALE_BROKER_EPOCH": {FaultMatch{At: AtAnswer, Broker: 1, Nth: 1}, FaultEffect{Kind: ErrorAnswer, Error: ErrStaleBrokerEpoch}},
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
	for want, f := range map[string]Fault{
		"counted from 1":        {FaultMatch{At: AtOp, Op: AnyWrite, Path: "/x"}, FaultEffect{Kind: LostAfter}},
		"cannot come over that": {FaultMatch{At: AtAnswer, Nth: 1}, FaultEffect{Kind: FenceFails}},
		"not fenced":            {FaultMatch{At: AtOp, Op: AnyRead, Path: "/x", Nth: 1}, FaultEffect{Kind: FenceFails}},
		"are not fenced":        {FaultMatch{At: AtOp, Op: GetOp, Path: "/x", Nth: 1}, FaultEffect{Kind: LeavesDirty}},
		"never ends":            {FaultMatch{At: AtOp, Op: AnyRead, Path: "/x", Nth: EveryTime}, FaultEffect{Kind: LostBefore}},
		"while a step is held":  {FaultMatch{At: AtStep, Nth: 1}, FaultEffect{Kind: DoFirst, Do: ShutDownBroker{1}}},
		"more than 0 ms":        {FaultMatch{At: AtAnswer, Nth: 1}, FaultEffect{Kind: DelayAnswer}},
		"no effect":             {FaultMatch{At: AtAnswer, Nth: 1}, FaultEffect{}},
	} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", f.String(), err, want)
		}
	}
}

func TestFaultsMatch(t *testing.T) {
	fenced := &Call{Fenced: true, Ops: []Op{{Kind: OpSet, Path: "/brokers/topics/t"}}}
	plain := &Call{Ops: fenced.Ops}
	f := Fault{FaultMatch{At: AtOp, Op: AnyWrite, Path: "/brokers/*", Nth: 1}, FaultEffect{Kind: FenceFails}}
	if !f.OpIs(fenced, &fenced.Ops[0], false) || f.OpIs(plain, &plain.Ops[0], true) {
		t.Error("a fence fails where there is one, and only there")
	}
	f.Effect.Kind = LeavesDirty
	if !f.OpIs(fenced, &fenced.Ops[0], true) || f.OpIs(fenced, &fenced.Ops[0], false) || f.OpIs(plain, &plain.Ops[0], true) {
		t.Error("a batch is left dirty by a fenced write while something is in it, and only then")
	}
	f.Effect.Kind = AnswerCode
	if !f.OpIs(plain, &plain.Ops[0], false) || f.OpIs(plain, &Op{Kind: OpGet, Path: "/brokers/topics/t"}, false) || f.OpIs(plain, &Op{Kind: OpSet, Path: "/admin"}, false) {
		t.Error("a write below /brokers is neither a read nor elsewhere")
	}
	m := FaultMatch{At: AtSend, Broker: 2, Request: StopReplicaKind, Nth: 2}
	stop := &Send{Broker: 2, Request: &StopReplicaRequest{}}
	if !m.StepIs(stop) || m.StepIs(&Send{Broker: 1, Request: stop.Request}) || m.StepIs(&Send{Broker: 2, Request: &UpdateMetadataRequest{}}) || m.StepIs(&Draw{}) {
		t.Error("a request is matched by broker and kind")
	}
	if m.Hits(1) || !m.Hits(2) || m.Hits(3) || m.Spent(1) || !m.Spent(2) {
		t.Error("the 2nd match is hit, and no other")
	}
	if a := (FaultMatch{At: AtAnswer, Broker: AnyBroker}); !a.AnswerIs(3, LeaderAndIsrKind) || m.AnswerIs(2, StopReplicaKind) {
		t.Error("an answer is matched by broker and kind")
	}
}
