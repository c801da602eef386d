package zkserver

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// version is what the server calls itself: the reference it follows.
const version = "3.8.4-kstate"

// builtOn is in the old US order on purpose: clients parse it, go-zookeeper's
// FLWSrvr among them, and cannot read the ISO date of ZooKeeper 3.7 and later.
const builtOn = "01/01/2026 00:00 GMT"

// serverStats counts packets and how long they took.
type serverStats struct {
	received, sent      atomic.Int64
	requests, totalNano atomic.Int64
	minNano, maxNano    atomic.Int64
}

// connStats counts the packets of one connection.
type connStats struct {
	since          time.Time
	received, sent atomic.Int64
}

func (t *serverStats) latency(d time.Duration) {
	n := max(int64(d), 1)
	t.requests.Add(1)
	t.totalNano.Add(n)
	for {
		low := t.minNano.Load()
		if low != 0 && low <= n || t.minNano.CompareAndSwap(low, n) {
			break
		}
	}
	for {
		high := t.maxNano.Load()
		if high >= n || t.maxNano.CompareAndSwap(high, n) {
			return
		}
	}
}

// millis gives least, average and most latency in ms.
func (t *serverStats) millis() (least int64, avg float64, most int64) {
	if n := t.requests.Load(); n > 0 {
		avg = float64(t.totalNano.Load()) / float64(n) / 1e6
	}
	return t.minNano.Load() / 1e6, avg, t.maxNano.Load() / 1e6
}

// storeFigures are the figures of a store that the words show.
type storeFigures struct {
	zxid                             int64
	nodes, ephemerals, watches       int
	sessions, watchPaths, watchConns int
	bytes                            int64
}

func (s *Store) figures() storeFigures {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := storeFigures{zxid: s.zxid, nodes: s.count, bytes: s.bytes, sessions: len(s.sessions),
		watchPaths: len(s.watches), watchConns: len(s.watching)}
	for _, own := range s.sessions {
		f.ephemerals += len(own.ephemerals)
	}
	for _, wg := range s.watching {
		f.watches += len(wg.paths)
	}
	return f
}

// fourLetterWord answers an operator's word; empty when it is none.
func (s *Server) fourLetterWord(word string) string {
	switch word {
	case "ruok":
		return "imok"
	case "isro":
		return "rw"
	case "srvr":
		return s.srvr("")
	case "stat":
		return s.srvr("Clients:\n" + s.clients(false) + "\n")
	case "cons":
		return s.clients(true) + "\n"
	case "mntr":
		return s.mntr()
	case "wchs":
		f := s.store.figures()
		return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", f.watchConns, f.watchPaths, f.watches)
	case "dump":
		return s.dump()
	}
	return ""
}

func (s *Server) srvr(clients string) string {
	f := s.store.figures()
	least, avg, most := s.stats.millis()
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s, built on %s\n%s", version, builtOn, clients)
	fmt.Fprintf(&b, "Latency min/avg/max: %d/%.4f/%d\n", least, avg, most)
	fmt.Fprintf(&b, "Received: %d\nSent: %d\n", s.stats.received.Load(), s.stats.sent.Load())
	fmt.Fprintf(&b, "Connections: %d\nOutstanding: %d\n", len(s.connections()), s.outstanding())
	fmt.Fprintf(&b, "Zxid: 0x%x\nMode: standalone\nNode count: %d\n", f.zxid, f.nodes)
	return b.String()
}

// outstanding counts the replies that wait for their clients.
func (s *Server) outstanding() int {
	total := 0
	for _, c := range s.connections() {
		_, replies := c.out.size()
		total += replies
	}
	return total
}

// clients lists the connections that have a session, a line each.
func (s *Server) clients(full bool) string {
	var b strings.Builder
	for _, c := range s.connections() {
		s.store.mu.Lock()
		id := c.who.session
		var timeout time.Duration
		if own := s.store.sessions[id]; own != nil {
			timeout = own.timeout
		}
		zxid := s.store.zxid
		s.store.mu.Unlock()
		if id == 0 {
			continue
		}
		_, queued := c.out.size()
		fmt.Fprintf(&b, " /%s[1](queued=%d,recved=%d,sent=%d", c.peer, queued, c.stats.received.Load(), c.stats.sent.Load())
		if full {
			fmt.Fprintf(&b, ",sid=0x%x,lop=NA,est=%d,to=%d,lcxid=0x0,lzxid=0x%x,lresp=0,llat=0,minlat=0,avglat=0,maxlat=0",
				id, c.stats.since.UnixMilli(), timeout.Milliseconds(), zxid)
		}
		b.WriteString(")\n")
	}
	return b.String()
}

func (s *Server) mntr() string {
	f := s.store.figures()
	least, avg, most := s.stats.millis()
	var b strings.Builder
	row := func(key string, value any) { fmt.Fprintf(&b, "zk_%s\t%v\n", key, value) }
	row("version", version+", built on "+builtOn)
	row("server_state", "standalone")
	row("znode_count", f.nodes)
	row("ephemerals_count", f.ephemerals)
	row("watch_count", f.watches)
	row("num_alive_connections", len(s.connections()))
	row("global_sessions", f.sessions)
	row("outstanding_requests", s.outstanding())
	row("packets_received", s.stats.received.Load())
	row("packets_sent", s.stats.sent.Load())
	row("min_latency", least)
	row("avg_latency", fmt.Sprintf("%.4f", avg))
	row("max_latency", most)
	row("approximate_data_size", f.bytes)
	row("uptime", time.Since(s.start).Milliseconds())
	row("goroutines", runtime.NumGoroutine())
	return b.String()
}

// dump lists the sessions and what they own.
func (s *Server) dump() string {
	st := s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	var ids []int64
	for id := range st.sessions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b strings.Builder
	fmt.Fprintf(&b, "Sessions (%d):\n", len(ids))
	for _, id := range ids {
		fmt.Fprintf(&b, "0x%x\t%dms\n", id, st.sessions[id].timeout.Milliseconds())
	}
	b.WriteString("Sessions with Ephemerals:\n")
	for _, id := range ids {
		if owned := st.sessions[id].owned(); len(owned) > 0 {
			fmt.Fprintf(&b, "0x%x:\n", id)
			for _, path := range owned {
				fmt.Fprintf(&b, "\t%s\n", path)
			}
		}
	}
	return b.String()
}
