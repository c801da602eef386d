package zkserver

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

func BenchmarkApplySet(b *testing.B) {
	s, _ := quietStore(b)
	must(b, s, 0, Create("/n", nil, 0))
	data := make([]byte, 74)
	for b.Loop() {
		s.Apply(0, Set("/n", data, -1))
	}
}

func BenchmarkLoggedSet(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	must(b, s, 0, Create("/n", nil, 0))
	data := make([]byte, 74)
	for b.Loop() {
		s.Apply(0, Set("/n", data, -1))
	}
}

func BenchmarkCreateDelete(b *testing.B) {
	s, _ := quietStore(b)
	for b.Loop() {
		s.Multi(0, []Op{Create("/n", nil, 0), Delete("/n", 0)})
	}
}

func BenchmarkGetDeep(b *testing.B) {
	s, _ := quietStore(b)
	s.Load([]Znode{{Path: "/kafka/brokers/topics/orders/partitions/0/state"}})
	for b.Loop() {
		s.Get("/kafka/brokers/topics/orders/partitions/0/state")
	}
}

// BenchmarkPipelinedReads reads a window of 1,000 at a time over loopback.
func BenchmarkPipelinedReads(b *testing.B) {
	s, addr := listening(b)
	must(b, s.Store(), 0, Create("/n", make([]byte, 74), 0))
	c := connected(b, addr)
	const window = 1000
	var all []byte
	for i := range int32(window) {
		body := append(putInt32(putInt32(nil, i+1), int32(OpGetData)), watchBody("/n", false)...)
		all = append(putInt32(all, int32(len(body))), body...)
	}
	for b.Loop() {
		go c.nc.Write(all)
		for range window {
			c.rawBytes(4 + 16 + 4 + 74 + 68)
		}
	}
	b.ReportMetric(float64(b.N)*window/b.Elapsed().Seconds(), "reads/s")
}

func BenchmarkGoZookeeperGet(b *testing.B) {
	store, _ := quietStore(b)
	s := serveStore(b, store)
	must(b, store, 0, Create("/n", make([]byte, 74), 0))
	a, err := s.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	for name, dial := range map[string]func() (net.Conn, error){
		"tcp":  func() (net.Conn, error) { return net.Dial("tcp", a.String()) },
		"pipe": func() (net.Conn, error) { return s.Dial("bench") },
	} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprint(name, "/", callers), func(b *testing.B) {
				c, _, err := zk.Connect([]string{"127.0.0.1:1"}, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false),
					zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return dial() }))
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				b.SetParallelism(callers)
				if callers == 1 {
					for b.Loop() {
						c.Get("/n")
					}
				} else {
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							c.Get("/n")
						}
					})
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
			})
		}
	}
}
