package main

import (
	"slices"
	"strings"
	"testing"

	"kstate/internal/lab"
	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

func partition(tp model.TopicPartition) model.Scope {
	return model.Scope{Subject: model.Subject{Kind: model.PartitionSubject, Topic: tp.Topic, Partition: tp.Partition}}
}

// preview asks what an election would give.
func (d *desk) preview(s model.Strategy, scope model.Scope) *model.ElectionPreview {
	d.t.Helper()
	f := d.frame()
	before := f.Preview
	d.session.Do(model.PreviewElection{Strategy: s, Scope: scope})
	f = d.await("the preview is there", func(f *model.Frame) bool {
		p := f.Preview
		return p != nil && p != before && p.Strategy == s && p.Scope == scope
	})
	return f.Preview
}

// elected is what an election did to a partition.
type elected struct {
	verdict model.Verdict
	record  model.LeaderIsrAndControllerEpoch // as written
	sent    []int32                           // brokers that got LeaderAndIsr with it
}

// elect runs an election and tells what it did to a partition; false when it
// passed the partition over.
func (d *desk) elect(s model.Strategy, scope model.Scope, tp model.TopicPartition) (elected, bool) {
	d.t.Helper()
	f := d.frame()
	from := records(&f)
	d.do(model.RunElection{Strategy: s, Scope: scope})
	f = d.await("the election has ended", func(f *model.Frame) bool {
		return slices.ContainsFunc(steps[*model.End](f, from), func(e *model.End) bool {
			_, ok := e.Event.Event.(*model.OperatorElection)
			return ok
		})
	})
	return outcomeOf(&f, from, tp)
}

// outcomeOf reads the last operator's election after a position: everything
// between its begin and its end.
func outcomeOf(f *model.Frame, from uint64, tp model.TopicPartition) (out elected, ok bool) {
	within := false
	for i := range f.History.N {
		r := f.History.At(i)
		if r.Position <= from {
			continue
		}
		switch s := r.Step.(type) {
		case *model.Begin:
			if _, within = s.Event.Event.(*model.OperatorElection); within {
				out, ok = elected{}, false
			}
		case *model.End:
			within = false
		case *model.Elect:
			if within && s.TopicPartition == tp {
				out.verdict, ok = s.Verdict, true
			}
		case *model.MovePartition:
			if within && s.TopicPartition == tp {
				out.record = *s.Leadership
			}
		case *model.Send:
			if l, is := s.Request.(*model.LeaderAndIsrRequest); within && is && tells(l, tp, out.record.LeaderEpoch) {
				out.sent = append(out.sent, s.Broker)
			}
		}
	}
	slices.Sort(out.sent)
	return out, ok
}

// tells: the request carries a partition's record of that epoch, as of no new one.
func tells(r *model.LeaderAndIsrRequest, tp model.TopicPartition, epoch int32) bool {
	return slices.ContainsFunc(r.Entries, func(e model.LeaderAndIsrEntry) bool {
		return e.TopicPartition == tp && e.Leadership.LeaderEpoch == epoch && !e.IsNew
	})
}

// outcome is what the table of strategies says of one election.
type outcome struct {
	leader   int32
	isr      []int32
	recovery model.RecoveryState
	unclean  bool
	told     []int32 // registered brokers that get LeaderAndIsr
}

// elects previews an election, runs it, and compares both with the outcome that
// is wanted, the epoch with the one before.
func (d *desk) elects(s model.Strategy, tp model.TopicPartition, want outcome) {
	d.t.Helper()
	before, events := d.state(tp), d.eventCount()
	p := d.preview(s, partition(tp))
	if len(p.Results) != 1 || p.Total != 1 {
		d.t.Fatalf("the preview has %d results of %d", len(p.Results), p.Total)
	}
	r := p.Results[0]
	if r.Error != model.ErrNone || r.OldLeader != before.Leader || r.Verdict.New == nil {
		d.t.Fatalf("the preview says %s %s, leader before %d", r.Error, r.Why, r.OldLeader)
	}
	got, ok := d.elect(s, partition(tp), tp)
	if !ok {
		d.t.Fatal("nothing was elected")
	}
	if got.record.Leader != want.leader || !slices.Equal(got.record.ISR, want.isr) || got.record.Recovery != want.recovery || got.verdict.Unclean != want.unclean {
		d.t.Errorf("elected %s, record %+v, want %+v", &got.verdict, got.record, want)
	}
	if got.record.LeaderEpoch != before.LeaderEpoch+1 || got.record.PartitionEpoch != before.PartitionEpoch+1 {
		d.t.Errorf("leader epoch %d, version %d after %d, %d", got.record.LeaderEpoch, got.record.PartitionEpoch, before.LeaderEpoch, before.PartitionEpoch)
	}
	if f := d.frame(); got.record.ControllerEpoch != f.View.Epoch {
		d.t.Errorf("controller epoch %d in the record", got.record.ControllerEpoch)
	}
	if !slices.Equal(got.sent, want.told) {
		d.t.Errorf("LeaderAndIsr went to %v, want %v", got.sent, want.told)
	}
	if n := r.Verdict.New; n.Leader != got.record.Leader || !slices.Equal(n.ISR, got.record.ISR) || n.LeaderEpoch != got.record.LeaderEpoch ||
		n.Recovery != got.record.Recovery || r.Verdict.Unclean != got.verdict.Unclean || !slices.Equal(r.Verdict.Recipients, got.verdict.Recipients) {
		d.t.Errorf("previewed %s to %v, but came out %s to %v", &r.Verdict, r.Verdict.Recipients, &got.verdict, got.verdict.Recipients)
	}
	if now := d.state(tp); now.Leader != want.leader || now.LeaderEpoch != got.record.LeaderEpoch {
		d.t.Errorf("the state znode says leader %d epoch %d", now.Leader, now.LeaderEpoch)
	}
	for _, id := range want.told {
		d.await("the broker knows the leader", func(*model.Frame) bool {
			b := d.bench.lab.Cluster().Broker(id).Snapshot()
			h, hosts := b.Find(tp)
			return hosts && h.Leader == want.leader && h.LeaderEpoch >= got.record.LeaderEpoch
		})
	}
	d.settled()
	if told := d.toldOf(events, tp, got.record.LeaderEpoch); !slices.Equal(told, want.told) {
		d.t.Errorf("on their sockets %v got LeaderAndIsr, want %v", told, want.told)
	}
}

// passesOver previews and runs an election that must not touch a partition.
func (d *desk) passesOver(s model.Strategy, tp model.TopicPartition, code model.KafkaError) {
	d.t.Helper()
	d.await("nobody is to join the ISR", func(f *model.Frame) bool { // or the leader writes meanwhile
		l := f.View.Leadership(tp)
		return idle(f) && (l.Leader == model.NoLeader || !slices.ContainsFunc(f.View.Assignment(tp).Replicas, func(id int32) bool {
			return f.View.Broker(id) != nil && !slices.Contains(l.ISR, id)
		}))
	})
	d.settled()
	before := d.state(tp)
	r := d.preview(s, partition(tp)).Results[0]
	if r.Error != code || r.Why == "" || r.Verdict.New != nil {
		d.t.Errorf("the preview of %s on %s says %s %q, want %s", s, tp, r.Error, r.Why, code)
	}
	if got, _ := d.elect(s, partition(tp), tp); got.verdict.New != nil {
		d.t.Errorf("%s on %s: %s", s, tp, &got.verdict)
	}
	if now := d.state(tp); now.PartitionEpoch != before.PartitionEpoch {
		d.t.Errorf("the state znode of %s was written", tp)
	}
}

// followed waits until a partition's ISR has members back.
func (d *desk) followed(tp model.TopicPartition, isr ...int32) {
	d.t.Helper()
	d.await("the ISR is whole", func(f *model.Frame) bool {
		l := f.View.Leadership(tp)
		return l != nil && len(l.ISR) == len(isr) && !slices.ContainsFunc(isr, func(id int32) bool { return !slices.Contains(l.ISR, id) }) && idle(f)
	})
	d.settled()
}

var orders0, orders1, clicks0, unclean0 = model.TP("orders", 0), model.TP("orders", 1), model.TP("clicks", 0), model.TP("unclean", 0)

func TestPreferredElection(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.cut(1)
	d.passesOver(model.PreferredStrategy, orders0, model.ErrPreferredLeaderNotAvailable)
	d.back(1)
	d.followed(orders0, 1, 2, 3)
	isr := d.state(orders0).ISR
	d.elects(model.PreferredStrategy, orders0, outcome{leader: 1, isr: isr, told: []int32{1, 2, 3}})
	d.passesOver(model.PreferredStrategy, orders0, model.ErrElectionNotNeeded)
	d.passesOver(model.PreferredStrategy, orders1, model.ErrElectionNotNeeded)
}

func TestOfflineElection(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.cut(1)
	d.back(1)
	d.followed(orders0, 1, 2, 3)
	isr := d.state(orders0).ISR // 1 at its end: the order plays no part
	d.elects(model.OfflineStrategy, orders0, outcome{leader: 1, isr: isr, told: []int32{1, 2, 3}})

	d.lose(clicks0)
	d.passesOver(model.OfflineStrategy, clicks0, model.ErrEligibleLeadersNotAvailable)
	path := model.TopicConfigPath("clicks")
	if r, _ := d.bench.lab.Store().Apply(0, zkserver.Set(path, model.EncodeConfig(map[string]string{"unclean.leader.election.enable": "true"}), zkserver.AnyVersion)); r.Code != zkserver.OK {
		t.Fatalf("set %s: %s", path, r.Code)
	}
	d.elects(model.OfflineStrategy, clicks0, outcome{leader: 2, isr: []int32{2}, recovery: model.Recovering, unclean: true, told: []int32{2}})
}

// lose leaves clicks-0 without a leader: broker 1, the last of its ISR, is dead,
// and broker 2 is live but was not in the ISR.
func (d *desk) lose(model.TopicPartition) {
	d.t.Helper()
	d.followed(clicks0, 1, 2) // else the last one may be another
	d.cut(2)
	d.cut(1)
	f := d.back(2)
	if l := f.View.Leadership(clicks0); l.Leader != model.NoLeader || !slices.Equal(l.ISR, []int32{1}) || f.View.PartitionState(clicks0) != model.OfflinePartition {
		d.t.Fatalf("%s has leader %d, ISR %v", clicks0, l.Leader, l.ISR)
	}
}

func TestUncleanElection(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.lose(clicks0)
	d.passesOver(model.OfflineUncleanStrategy, orders1, model.ErrElectionNotNeeded)
	d.elects(model.OfflineUncleanStrategy, clicks0, outcome{leader: 2, isr: []int32{2}, recovery: model.Recovering, unclean: true, told: []int32{2}})
	d.passesOver(model.OfflineUncleanStrategy, clicks0, model.ErrElectionNotNeeded)
}

func TestReassignElection(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 4})
	d.up()
	if err := d.bench.lab.Cluster().Broker(4).SetBehaviour(broker.Behaviour{FetchSilent: true}); err != nil {
		t.Fatal(err)
	}
	d.do(model.Reassign{TopicPartition: unclean0, Target: []int32{4, 3}})
	d.await("the move is under way", func(f *model.Frame) bool { return f.View.IsBeingReassigned(unclean0) && idle(f) })
	d.settled()
	// The target is 4,3: 4 is not in the ISR, and 2, which leaves, is not told.
	d.elects(model.ReassignStrategy, unclean0, outcome{leader: 3, isr: []int32{2, 3}, told: []int32{3, 4}})
}

func TestControlledShutdownElection(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.pause()
	d.session.Do(model.ShutDownBroker{Broker: 1})
	d.await("the broker has asked", func(f *model.Frame) bool { return f.At != nil && strings.Contains(f.At.String(), "ControlledShutdown") })
	// The election waits behind the shutdown, so that nothing comes between.
	d.do(model.RunElection{Strategy: model.ControlledShutdownStrategy, Scope: partition(orders0)})
	d.await("the election is queued", func(f *model.Frame) bool { return f.QueueLen >= 2 })
	var f model.Frame
	for range 3 { // through the shutdown, to the election's begin
		if f = d.step(model.EventGrain); f.At != nil && strings.Contains(f.At.String(), "OperatorElection") {
			break
		}
	}
	if !slices.Equal(f.View.ShuttingDown(), []int32{1}) {
		t.Fatalf("shutting down: %v, at %v", f.View.ShuttingDown(), f.At)
	}
	before := *f.View.Leadership(orders0)
	if before.Leader != 2 || !slices.Equal(before.ISR, []int32{2, 3}) {
		t.Fatalf("the shutdown left leader %d, ISR %v", before.Leader, before.ISR)
	}
	r := d.preview(model.ControlledShutdownStrategy, partition(orders0)).Results[0]
	f = d.frame()
	from := records(&f)
	d.goOn()
	f = d.await("the election has ended", func(f *model.Frame) bool {
		got, ok := outcomeOf(f, from, orders0)
		return ok && len(got.sent) == 3
	})
	got, _ := outcomeOf(&f, from, orders0)
	if got.record.Leader != 2 || !slices.Equal(got.record.ISR, []int32{2, 3}) || got.record.LeaderEpoch != before.LeaderEpoch+1 || !slices.Equal(got.sent, []int32{1, 2, 3}) {
		t.Errorf("record %+v sent to %v, before %+v", got.record, got.sent, before)
	}
	if r.Error != model.ErrNone || r.Verdict.String() != got.verdict.String() || !slices.Equal(r.Verdict.Recipients, []int32{1, 2, 3}) {
		t.Errorf("previewed %s %s to %v, came out %s", r.Error, &r.Verdict, r.Verdict.Recipients, &got.verdict)
	}
	d.await("the broker is gone", func(f *model.Frame) bool { return f.View.Broker(1) == nil && idle(f) })
	d.back(1)
	d.followed(orders0, 1, 2, 3)
	// Nobody shuts down: the first of the assignment leads again, the ISR stays.
	d.elects(model.ControlledShutdownStrategy, orders0, outcome{leader: 1, isr: d.state(orders0).ISR, told: []int32{1, 2, 3}})
}

func TestElectionOnATopicAndOnABroker(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.cut(1)
	d.back(1)
	d.followed(orders0, 1, 2, 3)
	d.followed(clicks0, 1, 2)
	scope := model.Scope{Subject: model.Subject{Kind: model.TopicSubject, Topic: "orders"}}
	p := d.preview(model.PreferredStrategy, scope)
	var codes []model.KafkaError
	for _, r := range p.Results {
		codes = append(codes, r.Error)
	}
	if want := []model.KafkaError{model.ErrNone, model.ErrElectionNotNeeded, model.ErrElectionNotNeeded}; !slices.Equal(codes, want) {
		t.Errorf("the preview of the topic says %v, want %v", codes, want)
	}
	if n := d.preview(model.PreferredStrategy, model.Scope{}).Total; n != 6 {
		t.Errorf("all partitions are %d", n)
	}
	scope = model.Scope{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 1}}
	if n := d.preview(model.PreferredStrategy, scope).Total; n != 5 {
		t.Errorf("broker 1 has %d partitions", n)
	}
	if got, ok := d.elect(model.PreferredStrategy, scope, orders0); !ok || got.record.Leader != 1 {
		t.Errorf("%s has leader %d", orders0, got.record.Leader)
	}
	if _, ok := d.elect(model.PreferredStrategy, scope, clicks0); ok {
		t.Errorf("%s was elected again", clicks0)
	}
	d.do(model.DeleteTopic{Topic: "unclean"})
	d.await("the topic is gone", func(f *model.Frame) bool { return !f.View.KnowsTopic("unclean") && idle(f) })
	if n := d.ask(model.RunElection{Strategy: model.PreferredStrategy, Scope: partition(model.TP("nosuch", 7))}); n.Level != model.Info {
		t.Errorf("%s", n.Text)
	}
	if r := d.preview(model.PreferredStrategy, partition(model.TP("nosuch", 7))).Results; len(r) != 1 || r[0].Error != model.ErrUnknownTopicOrPartition {
		t.Errorf("a partition that is not there: %+v", r)
	}
}
