package zkserver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// opened opens a data directory with a clock that stands still.
func opened(t *testing.T, dir string, log func(string)) *Store {
	t.Helper()
	c := &clock{at: time.UnixMilli(1_700_000_000_000)}
	s, err := Open(dir, Options{Now: c.now, FirstZxid: 1, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := s.check(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// busy makes a bit of everything and gives the id of a session that lives.
func busy(t *testing.T, s *Store) int64 {
	t.Helper()
	if err := s.Load([]Znode{{Path: "/loaded/x", Data: []byte("l"), Version: 4, Czxid: 9, Owner: 5}}); err != nil {
		t.Fatal(err)
	}
	id, _ := s.CreateSession(4 * time.Second)
	gone, _ := s.CreateSession(4 * time.Second)
	must(t, s, 0, Create("/a", []byte("1"), 0))
	must(t, s, 0, Create("/null", nil, 0))
	must(t, s, id, Create("/a/e", nil, EphemeralSequential))
	must(t, s, gone, Create("/a/g", nil, Ephemeral))
	must(t, s, 0, Op{Kind: OpCreateContainer, Path: "/c", Flags: Container})
	must(t, s, 0, Op{Kind: OpCreateTTL, Path: "/ttl", Flags: PersistentTTL, TTLMillis: 1000})
	must(t, s, 0, Op{Kind: OpSetACL, Path: "/a", ACL: []ACL{{PermAll, "digest", "u:h"}}, Version: 0})
	s.Multi(0, []Op{Create("/m", []byte("first"), 0), Set("/m", []byte("second"), 0), Delete("/null", -1)})
	s.Multi(0, []Op{Create("/never", nil, 0), Check("/none", 0)})
	s.CloseSession(gone)
	return id
}

func TestAReopenedStoreIsTheSame(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir, nil)
	id := busy(t, s)
	before, zxid, last := dump(s), s.Zxid(), s.lastSession
	s.Close()
	if r, _ := s.Apply(0, Create("/late", nil, 0)); r.Code != SystemError {
		t.Errorf("write to a closed store: %v", r.Code)
	}
	if _, code := s.Exists("/late"); code != NoNode {
		t.Error("a write that was not logged is there")
	}
	again := opened(t, dir, func(l string) { t.Errorf("unexpected: %s", l) })
	if after := dump(again); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if again.Zxid() != zxid || again.lastSession != last {
		t.Errorf("zxid %d session %x, want %d %x", again.Zxid(), again.lastSession, zxid, last)
	}
	if got := again.Sessions(); !slices.Equal(got, []int64{5, id}) {
		t.Errorf("sessions %x", got)
	}
	if again.sessions[id].passwd != s.sessions[id].passwd || again.sessions[id].timeout != 4*time.Second {
		t.Error("the session came back changed")
	}
	if len(again.timed) != 2 {
		t.Errorf("timed %v", again.timed)
	}
}

func TestZxidsNeverRepeatAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	c := &clock{at: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
	var last int64
	for range 3 {
		s, err := Open(dir, Options{Now: c.now})
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(0, Set("/none", nil, 0)) // refused: its zxid is spent all the same
		if s.Zxid() <= last {
			t.Errorf("zxid %x after %x", s.Zxid(), last)
		}
		last = s.Zxid()
		s.Close()
		c.at = c.at.Add(-time.Hour) // the clock goes back
	}
}

func TestATornTailLosesNothingBeforeIt(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir, nil)
	busy(t, s)
	before := dump(s)
	path := filepath.Join(dir, logName)
	whole := s.log.size
	must(t, s, 0, Create("/last", make([]byte, 100), 0))
	s.Close()
	full, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(full)
	flipped[len(flipped)-1] ^= 1
	zeros := append(slices.Clone(full[:whole]), make([]byte, 5000)...)
	tails := [][]byte{flipped, zeros}
	for n := whole + 1; n < int64(len(full)); n++ {
		tails = append(tails, full[:n])
	}
	for _, tail := range tails {
		if err := os.WriteFile(path, tail, 0o666); err != nil {
			t.Fatal(err)
		}
		said := ""
		again := opened(t, dir, func(l string) { said = l })
		if after := dump(again); after != before || !strings.Contains(said, "ends in the middle of a txn") {
			t.Fatalf("%d of %d bytes: said %q\nbefore\n%s\nafter\n%s", len(tail), len(full), said, before, after)
		}
		must(t, again, 0, Create("/more", nil, 0))
		again.Close()
		third := opened(t, dir, func(l string) { t.Errorf("repaired once, but then %q", l) })
		if _, code := third.Exists("/more"); code != OK {
			t.Fatal("what came after the repair is lost")
		}
		third.Close()
	}
}

func TestDamageInTheMiddleIsAnError(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir, nil)
	busy(t, s)
	s.Close()
	path := filepath.Join(dir, logName)
	full, _ := os.ReadFile(path)
	for name, at := range map[string]int{"a payload": len(logMagic) + 12, "a checksum": len(logMagic) + 5, "the head": 3} {
		bad := slices.Clone(full)
		bad[at] ^= 0x40
		os.WriteFile(path, bad, 0o666)
		if _, err := Open(dir, Options{}); err == nil {
			t.Errorf("damage of %s goes unnoticed", name)
		}
	}
}

func TestADataDirectoryHasOneUser(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir, nil)
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Skipf("no file locks here: %v", err)
	}
	s.Close()
	opened(t, dir, nil)
}

func TestARefusedAppendRefusesTheWrite(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir, func(string) {})
	must(t, s, 0, Create("/a", []byte("1"), 0))
	before := dump(s)
	s.log.file.Close() // as a failing disk would
	w := &seen{}
	s.Watch(w, "/", RecursiveWatch)
	if r, _ := s.Apply(0, Set("/a", nil, -1)); r.Code != SystemError {
		t.Errorf("%v", r.Code)
	}
	if id, _ := s.CreateSession(0); id != 0 {
		t.Error("a session that is not logged")
	}
	if after := dump(s); after != before || len(w.take()) > 0 {
		t.Errorf("the tree moved\n%s\n%s", before, after)
	}
}

func TestAServerWithALogSurvivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir, nil)
	srv := serveStore(t, s)
	a, err := srv.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := connected(t, a.String())
	c.want(OK, OpCreate, createBody("/e", nil, Ephemeral))
	srv.Close()
	s.Close()
	srv = serveStore(t, opened(t, dir, nil))
	if a, err = srv.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	n := c.reconnected(a.String())
	n.want(OK, OpExists, watchBody("/e", false))
}
