package zkserver

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestLimitsRefuseWithQuotaExceeded(t *testing.T) {
	s, _ := quietStore(t, func(o *Options) { o.Limits = Limits{Nodes: 5, Bytes: 200, Watches: 1} })
	must(t, s, 0, Create("/a", nil, 0))
	if r, _ := s.Apply(0, Create("/b", nil, 0)); r.Code != QuotaExceeded {
		t.Errorf("sixth znode: %v", r.Code)
	}
	if r, _ := s.Apply(0, Set("/a", make([]byte, 200), -1)); r.Code != QuotaExceeded {
		t.Errorf("too much data: %v", r.Code)
	}
	long := []ACL{{PermAll, "digest", "user:" + strings.Repeat("h", 200)}}
	if r, _ := s.Apply(0, Op{Kind: OpSetACL, Path: "/a", ACL: long, Version: -1}); r.Code != QuotaExceeded {
		t.Errorf("too long an ACL: %v", r.Code)
	}
	w := &seen{}
	if code := s.Watch(w, "/a", DataWatch); code != OK {
		t.Error(code)
	}
	if code := s.Watch(w, "/a", ChildWatch); code != OK {
		t.Errorf("same path: %v", code)
	}
	if code := s.Watch(w, "/z", ExistsWatch); code != QuotaExceeded {
		t.Errorf("second path: %v", code)
	}
}

func TestZnodesAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the heap with 300,000 znodes: not in -short")
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s, _ := quietStore(t)
	data := []byte("x")
	before := heap()
	for topic := range 1000 {
		base := fmt.Sprintf("/t%04d", topic)
		must(t, s, 0, Create(base, data, 0))
		must(t, s, 0, Create(base+"/partitions", nil, 0))
		for p := range 149 {
			dir := fmt.Sprintf("%s/partitions/%d", base, p)
			must(t, s, 0, Create(dir, nil, 0))
			must(t, s, 0, Create(dir+"/state", data, 0))
		}
	}
	each := float64(heap()-before) / float64(s.Len())
	t.Logf("%d znodes, %.0f bytes each", s.Len(), each)
	if each > 350 {
		t.Errorf("%.0f bytes a znode, want at most 350", each)
	}
}
