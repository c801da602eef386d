package realkafka

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"
)

const (
	// quiet is how long ZooKeeper must have been unchanged for a step to be
	// over; the recordings were made with it. It is no wait for something to
	// happen: it defines where one step ends and the next begins.
	quiet = 1500 * time.Millisecond
	// look is how often ZooKeeper is read meanwhile.
	look = 100 * time.Millisecond
	// stepLimit bounds a step that names no longer one.
	stepLimit = 30 * time.Second
)

// Action is one entry of a script: something that an operator does or that
// happens to a broker, and the state of ZooKeeper that it leads to.
type Action struct {
	Name  string
	Do    func(*Cluster)
	Until func(Step) bool // nil: the quiet alone ends the step
	Limit time.Duration   // for quiet and Until; 0 means 30 s
}

// Tour is the script of the recordings: a deletion with a dead replica and its
// return, preferred election and reassignment by znode, an unclean election, a
// controlled shutdown. It takes brokers 1 to 3, freshly started.
func Tour() []Action {
	return []Action{
		{Name: "three topics created", Do: func(c *Cluster) {
			c.CreateTopic("orders", [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}, nil)
			c.CreateTopic("clicks", [][]int32{{1, 2}, {2, 1}}, nil)
			c.CreateTopic("unclean", [][]int32{{2, 3}}, map[string]string{"unclean.leader.election.enable": "true"})
		}, Until: func(s Step) bool { return len(s.Partitions) == 6 }},
		{Name: "broker 2 killed", Do: kill(2), Until: gone("2")},
		{Name: "orders deleted while broker 2 is dead", Do: func(c *Cluster) {
			if err := queued(c.DeleteTopic("orders")); err != nil {
				c.t.Fatal(err)
			}
		}},
		{Name: "broker 2 returned, orders goes, isr whole", Do: start(2), Until: func(s Step) bool {
			_, orders := s.Topics["orders"]
			return here("2")(s) && !orders && wholeISR(s)
		}, Limit: 90 * time.Second},
		{Name: "preferred election", Do: func(c *Cluster) {
			c.Put("/admin/preferred_replica_election", `{"version":1,"partitions":[{"topic":"clicks","partition":0},`+
				`{"topic":"clicks","partition":1},{"topic":"unclean","partition":0}]}`)
		}, Until: func(s Step) bool { return s.Preferred == nil && led(s, "unclean-0", 2) }},
		{Name: "clicks-0 reassigned to 2,3", Do: func(c *Cluster) {
			c.Put("/admin/reassign_partitions", `{"version":1,"partitions":[{"topic":"clicks","partition":0,"replicas":[2,3]}]}`)
		}, Until: func(s Step) bool {
			return s.Reassign == nil && slices.Equal(s.Topics["clicks"].Partitions["0"], []int32{2, 3})
		}},
		{Name: "broker 3 killed", Do: kill(3), Until: gone("3")},
		{Name: "broker 2 killed", Do: kill(2), Until: gone("2")},
		{Name: "broker 3 returned: unclean election of unclean-0", Do: start(3),
			Until: func(s Step) bool { return here("3")(s) && led(s, "unclean-0", 3) }, Limit: 40 * time.Second},
		{Name: "broker 2 returned, isr whole", Do: start(2),
			Until: func(s Step) bool { return here("2")(s) && led(s, "clicks-0", 2) && wholeISR(s) }, Limit: 60 * time.Second},
		{Name: "broker 3 shut down in a controlled way", Do: func(c *Cluster) { c.TermBroker(3) }, Until: gone("3")},
	}
}

func kill(id int32) func(*Cluster)  { return func(c *Cluster) { c.KillBroker(id) } }
func start(id int32) func(*Cluster) { return func(c *Cluster) { c.StartBroker(id) } }

func here(broker string) func(Step) bool {
	return func(s Step) bool { return slices.Contains(s.Brokers, broker) }
}

func gone(broker string) func(Step) bool { return func(s Step) bool { return !here(broker)(s) } }

func led(s Step, tp string, by int32) bool {
	p, ok := s.Partitions[tp]
	return ok && p.Error == "" && p.Leader == by
}

// wholeISR: after orders has gone, every partition has two replicas.
func wholeISR(s Step) bool {
	for _, p := range s.Partitions {
		if len(p.ISR) != 2 {
			return false
		}
	}
	return true
}

// RunOptions say who the controller is and where its transitions are read.
// The zero value is Kafka's own controller on one of the brokers.
type RunOptions struct {
	// OutsideController is the id in /controller of a controller that is none
	// of the brokers, and must stay; 0 means that one of the brokers is it. It
	// is left out of the brokers of the recording.
	OutsideController int32
	// Transitions are read from here; nil means the logs of the brokers.
	Transitions *TransitionLog
	// After, if not nil, is called when ZooKeeper is quiet after an action,
	// before the next begins.
	After func(i int, s Step)
}

// Run does each action of a script on the cluster, waits until ZooKeeper is
// quiet and what the action leads to has come, and records what is there. A
// step that does not come to its end in time fails the test; the rest of the
// script is run all the same.
func Run(t testing.TB, c *Cluster, script []Action, opts RunOptions) Recording {
	t.Helper()
	log := opts.Transitions
	if log == nil {
		var files []string
		for _, id := range c.IDs() {
			files = append(files, c.LogPath(id))
		}
		log = FollowLogs(files...)
	}
	begin := time.Now()
	var out Recording
	for i, a := range script {
		a.Do(c)
		s := settle(t, c, a, opts)
		s.Name, s.Seconds = a.Name, time.Since(begin).Round(100*time.Millisecond).Seconds()
		var err error
		if s.Transitions, err = log.Next(); err != nil {
			t.Fatalf("step %d (%s): %v", i, a.Name, err)
		}
		if s.Tree, err = ReadTree(c.Conn, c.Chroot); err != nil {
			t.Fatalf("step %d (%s): %v", i, a.Name, err)
		}
		out = append(out, s)
		t.Logf("%6.1f s: %s: %d transitions", s.Seconds, a.Name, len(s.Transitions))
		if !s.Reached {
			t.Errorf("step %d (%s): not reached after %v", i, a.Name, a.limit())
		}
		if opts.After != nil {
			opts.After(i, s)
		}
	}
	return out
}

func (a Action) limit() time.Duration {
	if a.Limit == 0 {
		return stepLimit
	}
	return a.Limit
}

// settle reads ZooKeeper until it has been quiet and the action's Until holds,
// or the limit is over.
func settle(t testing.TB, c *Cluster, a Action, opts RunOptions) Step {
	t.Helper()
	reached := func(s Step) bool { return a.Until == nil || a.Until(s) }
	var last []byte
	since, end := time.Now(), time.Now().Add(a.limit())
	for {
		s, err := Snapshot(c.Conn, c.Chroot)
		if err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		opts.holdsController(t, a, &s)
		key, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%s: render what ZooKeeper holds: %v", a.Name, err)
		}
		now := time.Now()
		if !bytes.Equal(key, last) {
			last, since = key, now
		}
		if (now.Sub(since) > quiet && reached(s)) || now.After(end) {
			s.Reached = reached(s)
			return s
		}
		time.Sleep(look)
	}
}

// holdsController takes the outside controller out of the brokers and fails
// the test if it has lost the role: nothing that follows would mean anything.
func (o RunOptions) holdsController(t testing.TB, a Action, s *Step) {
	t.Helper()
	if o.OutsideController == 0 {
		return
	}
	if s.Controller == nil {
		t.Fatalf("%s: %d is no longer the controller, nobody is", a.Name, o.OutsideController)
	}
	if *s.Controller != o.OutsideController {
		t.Fatalf("%s: %d is no longer the controller, %d is", a.Name, o.OutsideController, *s.Controller)
	}
	s.Brokers = slices.DeleteFunc(s.Brokers, func(b string) bool { return b == strconv.Itoa(int(o.OutsideController)) })
}
