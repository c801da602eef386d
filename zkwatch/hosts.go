package zkwatch

import (
	"sync"
	"time"

	"kstate/model"
)

// hosts tells go-zookeeper which server to try next. go-zookeeper's own provider
// resolves names once and for all, and makes it sleep a second before each
// reconnect when there is one address.
type hosts struct {
	s       *session
	servers []string

	mu        sync.Mutex // go-zookeeper calls from one goroutine; tests look
	next      int
	failures  int
	connected time.Time
}

// The pauses between rounds over servers none of which works.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
	// settled is how long a connection must have lasted for the next loss of it
	// not to count as a repeated failure.
	settled = time.Second
)

// Init takes the servers, which go-zookeeper has shuffled.
func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

// Len is the number of servers.
func (h *hosts) Len() int { return len(h.servers) }

// Next names the server to try. It waits after rounds that failed. The flag
// would make go-zookeeper sleep; it is set only at the end, when it makes it
// look whether it was closed.
func (h *hosts) Next() (string, bool) {
	pause, server := h.advance()
	if pause > 0 {
		t := time.NewTimer(pause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-h.s.ctx.Done():
		}
	}
	return server, h.s.ctx.Err() != nil
}

func (h *hosts) advance() (time.Duration, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.connected.IsZero() && time.Since(h.connected) >= settled {
		h.failures = 0
	}
	h.connected = time.Time{}
	pause := time.Duration(0)
	if rounds := h.failures / len(h.servers); rounds > 0 && h.failures%len(h.servers) == 0 {
		pause = min(firstPause<<min(rounds-1, 10), lastPause)
	}
	h.failures++
	server := h.servers[h.next%len(h.servers)]
	h.next++
	return pause, server
}

// Connected notes a completed handshake.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connected = time.Now()
}

// abilities remembers of each server whether it has multiRead and addWatch.
type abilities struct {
	mu     sync.Mutex
	able   map[string]bool
	silent map[string]int
}

// of tells what is known of a server.
func (a *abilities) of(server string) (able, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	able, known = a.able[server]
	return able, known
}

// learn takes the answer to a first multiRead. A server before 3.6 answers that
// it does not know it and closes the connection; should the close come first
// twice, that is taken for the answer.
func (a *abilities) learn(server string, ans answer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ans.lost:
		if a.silent[server]++; a.silent[server] >= 2 {
			a.able[server] = false
		}
	case ans.code == model.CodeUnimplemented:
		a.able[server] = false
	default:
		a.able[server] = true
	}
	return a.able[server]
}
