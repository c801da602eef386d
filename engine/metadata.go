package engine

import (
	"fmt"
	"slices"

	"kstate/model"
)

// metadataCache is what the controller told the brokers last: the leader of each
// partition by topic. Requests for topics look here, and wait for changes here,
// as they do in the metadata cache of Kafka's controller broker.
// Kafka: ZkMetadataCache.
type metadataCache map[string]*cachedTopic

// cachedTopic has the leader of each partition by number; noEntry where there is
// none. Numbers beyond dense, which only a damaged topic znode has, are in sparse.
type cachedTopic struct {
	leaders []int32
	sparse  map[int32]int32
	entries int
}

const (
	noEntry int32 = -3
	dense         = 1 << 20
)

// merge takes in the partitions of one UpdateMetadata; a leader of -2 removes
// the partition, and the topic with its last one.
func (m metadataCache) merge(list []model.UpdateMetadataEntry) {
	var t *cachedTopic
	for i := range list {
		x := &list[i]
		if i == 0 || list[i-1].Topic != x.Topic {
			t = m[x.Topic]
		}
		if x.Leadership.Leader == model.LeaderDuringDelete {
			if t.remove(x.Partition) {
				delete(m, x.Topic)
				t = nil
			}
			continue
		}
		if t == nil {
			t = &cachedTopic{}
			m[x.Topic] = t
		}
		t.put(x.Partition, x.Leadership.Leader)
	}
}

// at is the place of a partition's leader; nil when there is none and grow is false.
func (t *cachedTopic) at(partition int32, grow bool) *int32 {
	if t == nil || partition < 0 || !grow && int(partition) >= len(t.leaders) {
		return nil
	}
	for len(t.leaders) <= int(partition) {
		t.leaders = append(t.leaders, noEntry)
	}
	return &t.leaders[partition]
}

func (t *cachedTopic) get(partition int32) int32 {
	if t != nil && partition >= dense {
		if leader, ok := t.sparse[partition]; ok {
			return leader
		}
		return noEntry
	}
	if p := t.at(partition, false); p != nil {
		return *p
	}
	return noEntry
}

func (t *cachedTopic) put(partition, leader int32) {
	if t.get(partition) == noEntry {
		t.entries++
	}
	if partition < dense {
		*t.at(partition, true) = leader
		return
	}
	if t.sparse == nil {
		t.sparse = map[int32]int32{}
	}
	t.sparse[partition] = leader
}

// remove says whether the topic has no partition left.
func (t *cachedTopic) remove(partition int32) bool {
	if t == nil {
		return false
	}
	if t.get(partition) != noEntry {
		t.put(partition, noEntry)
		t.entries--
		delete(t.sparse, partition)
	}
	return t.entries == 0
}

func (m metadataCache) has(topic string) bool { return m[topic] != nil }

// partitions is how many of the topic's partitions are known.
func (m metadataCache) partitions(topic string) int {
	if t := m[topic]; t != nil {
		return t.entries
	}
	return 0
}

// led tells whether the partition has a leader.
func (m metadataCache) led(topic string, partition int32) bool { return m[topic].get(partition) >= 0 }

// delayed is an answer that waits until every topic in it is done, or for its
// timeout. Kafka: DelayedCreatePartitions, DelayedDeleteTopics.
type delayed struct {
	id     uint64
	done   func(topic string) bool
	topics []string // accepted ones
	answer func(late map[string]bool) model.Answer
	told   bool // brokers have been told that it is done
}

// await answers now if nothing is to be waited for; else later.
func (e *Engine) await(d *delayed, timeoutMillis int32) {
	if len(d.topics) == 0 || e.complete(d) {
		e.reply(d.id, d.answer(nil))
		return
	}
	e.delayed = append(e.delayed, d)
	e.step(&model.Alarm{Name: requestAlarm(d.id), AfterMillis: int64(timeoutMillis)})
}

func requestAlarm(id uint64) string { return fmt.Sprintf("request-%d", id) }

func (e *Engine) complete(d *delayed) bool {
	return !slices.ContainsFunc(d.topics, func(t string) bool { return !d.done(t) })
}

// metadataSent notes what brokers were told, and answers requests that had
// waited for it. Kafka's controller is a broker and answers when it has taken in
// itself what it tells; one that is none answers when most brokers have.
func (e *Engine) metadataSent(list []model.UpdateMetadataEntry, sent map[*model.UpdateMetadataRequest]int32) {
	if len(list) == 0 {
		return
	}
	e.metadata.merge(list)
	var done []*delayed
	for _, d := range e.delayed {
		if !d.told && e.complete(d) {
			done = append(done, d)
		}
	}
	if e.outside() && len(done) > 0 && len(sent) > 0 {
		for _, d := range done {
			d.told = true
		}
		e.untaken = append(e.untaken, &untaken{by: sent, left: len(sent)/2 + 1, wait: done})
		return
	}
	for _, d := range done {
		e.answerDelayed(d)
	}
}

func (e *Engine) answerDelayed(d *delayed) {
	e.undelay(d)
	e.step(&model.Alarm{Name: requestAlarm(d.id), Cancel: true})
	e.reply(d.id, d.answer(nil))
}

// untaken is metadata that brokers have been told and not all have taken in.
type untaken struct {
	by   map[*model.UpdateMetadataRequest]int32 // who has not answered
	left int                                    // how many must, until what waits is answered
	wait []*delayed
}

// metadataTaken: a broker has taken in what that request told it.
func (e *Engine) metadataTaken(r *model.UpdateMetadataRequest) {
	for _, u := range e.untaken {
		if _, ok := u.by[r]; ok {
			delete(u.by, r)
			u.left--
		}
	}
	e.answerTaken()
}

// metadataLost: a broker went, and what it was told with it.
func (e *Engine) metadataLost(broker int32) {
	for _, u := range e.untaken {
		for r, id := range u.by {
			if id == broker {
				delete(u.by, r)
				u.left--
			}
		}
	}
	e.answerTaken()
}

// answerTaken answers, beside the event thread, what needs to wait no longer.
func (e *Engine) answerTaken() {
	var taken []*untaken
	e.untaken = slices.DeleteFunc(e.untaken, func(u *untaken) bool {
		if u.left <= 0 {
			taken = append(taken, u)
		}
		return u.left <= 0
	})
	for _, u := range taken {
		for _, d := range u.wait {
			if slices.Contains(e.delayed, d) { // not timed out meanwhile
				e.startAside(d.id, func() { e.answerDelayed(d) })
			}
		}
	}
}

func (e *Engine) undelay(d *delayed) {
	e.delayed = slices.DeleteFunc(e.delayed, func(x *delayed) bool { return x == d })
}

// requestTimedOut answers a request whose time is over: topics that are not
// done get REQUEST_TIMED_OUT, and go on all the same.
func (e *Engine) requestTimedOut(alarm string) {
	for _, d := range e.delayed {
		if requestAlarm(d.id) != alarm {
			continue
		}
		e.undelay(d)
		late := map[string]bool{}
		for _, t := range d.topics {
			if !d.done(t) {
				late[t] = true
			}
		}
		e.startAside(d.id, func() { e.reply(d.id, d.answer(late)) })
		return
	}
}

// bucket holds the tokens of one requester's mutations. Kafka: TokenBucket.
type bucket struct {
	tokens float64
	at     int64 // ms
}

// charge takes n tokens. Strict requests are refused while the bucket is empty;
// wait is how long until it no longer is.
// Kafka: StrictControllerMutationQuota, PermissiveControllerMutationQuota.
func (e *Engine) charge(m *model.Mutation, n int) (refused bool, waitMillis int32) {
	if m.Rate <= 0 {
		return false, 0
	}
	burst := m.Rate * float64(e.cfg.QuotaWindows)
	b := e.buckets[m.From]
	if b == nil {
		b = &bucket{tokens: burst, at: e.now}
		e.buckets[m.From] = b
	}
	b.tokens = min(burst, b.tokens+m.Rate*float64(e.now-b.at)/1000)
	b.at = e.now
	if m.Strict && b.tokens < 0 {
		return true, int32(-b.tokens / m.Rate * 1000)
	}
	b.tokens -= float64(n)
	if b.tokens < 0 {
		waitMillis = int32(-b.tokens / m.Rate * 1000)
	}
	return false, waitMillis
}
