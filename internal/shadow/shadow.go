package shadow

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Options of a Shadow.
type Options struct {
	// Bell is rung when there is something to take; it must not block.
	Bell  func()
	Clock func() int64 // ms since 1970; nil: the wall clock
}

// Shadow follows a controller beside its caller. Feed and Take never wait for it.
type Shadow struct {
	opt  Options
	wake chan struct{}

	mu      sync.Mutex
	inbox   []Change
	suspect bool
	news    News
	status  Status
}

// Status is how the following stands.
type Status struct {
	Following bool   // an engine follows the controller
	Why       string // why not
	Epoch     int32  // of the term that is followed
	Diverged  []Divergence
	// Deleting has, by topic, how many replicas are in which state of a deletion
	// that is under way.
	Deleting map[string][8]int
}

// New makes a shadow; Run starts it.
func New(opt Options) *Shadow {
	if opt.Clock == nil {
		opt.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if opt.Bell == nil {
		opt.Bell = func() {}
	}
	return &Shadow{opt: opt, wake: make(chan struct{}, 1), status: Status{Why: "the tree is being read"}}
}

// Feed gives changes, oldest first. They are the shadow's own afterwards.
func (s *Shadow) Feed(list []Change) {
	s.mu.Lock()
	s.inbox = append(s.inbox, list...)
	s.mu.Unlock()
	s.signal()
}

// Suspect says whether the controller seems to answer nobody: what it was
// expected to do is then waited for longer.
func (s *Shadow) Suspect(on bool) {
	s.mu.Lock()
	s.suspect = on
	s.mu.Unlock()
}

func (s *Shadow) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Take is what has come since it was last called, and how it stands.
func (s *Shadow) Take() (News, Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.news
	s.news = News{}
	return n, s.status
}

// Run follows until ctx ends.
func (s *Shadow) Run(ctx context.Context) {
	f := newFollower()
	defer func() { f.stop() }()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		s.mu.Lock()
		list := s.inbox
		s.inbox, f.suspect = nil, s.suspect
		s.mu.Unlock()
		f.feed(list, s.opt.Clock())
		next := f.advance(s.opt.Clock())
		s.publish(f)
		wait := time.Hour
		if next != 0 {
			wait = time.Duration(max(next-s.opt.Clock(), 1)) * time.Millisecond
		}
		timer.Reset(wait)
	}
}

// publish hands over what the follower has to tell.
func (s *Shadow) publish(f *follower) {
	st := f.state()
	s.mu.Lock()
	n := f.news
	ring := len(n.Records)+len(n.Notices)+len(n.Divergences) > 0 || st.Following != s.status.Following || st.Why != s.status.Why
	s.news.Records = append(s.news.Records, n.Records...)
	s.news.Notices = append(s.news.Notices, n.Notices...)
	s.news.Divergences = append(s.news.Divergences, n.Divergences...)
	s.status = st
	s.mu.Unlock()
	f.news = News{}
	if ring {
		s.opt.Bell()
	}
}

// state sums up how a follower stands.
func (f *follower) state() Status {
	st := Status{Following: f.eng != nil && !f.quiet, Epoch: f.term}
	switch {
	case !f.synced:
		st.Why = "the tree is being read"
	case f.broken != "":
		st.Why = f.broken
	case f.eng == nil:
		st.Why = "nobody holds the role"
	case f.quiet:
		st.Why = "the takeover is being replayed"
	}
	st.Diverged = slices.SortedFunc(maps.Values(f.diverged), func(a, b Divergence) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Subject, b.Subject))
	})
	if !st.Following {
		return st
	}
	v := f.eng.View()
	for topic := range v.TopicsToBeDeleted.All() {
		if t := v.Topic(topic); t != nil {
			if st.Deleting == nil {
				st.Deleting = map[string][8]int{}
			}
			st.Deleting[topic] = t.ReplicaCounts
		}
	}
	return st
}
