package zkwatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

func TestReadTree(t *testing.T) {
	ways(t, func(t *testing.T, l *lab) {
		seedCluster(l, "/k")
		if r, _ := l.store.Apply(0, zkserver.Op{Kind: zkserver.OpCreate, Path: "/k/hidden", ACL: []zkserver.ACL{{Perms: zkserver.PermAll, Scheme: "digest", ID: zkserver.Digest("a:b")}}}); r.Code != 0 {
			t.Fatal(r.Code)
		}
		c := l.connect(Options{Servers: "lab/k"})
		n := 0
		l.onRequest(func(r zkserver.Request) zkserver.Verdict {
			if n++; n == 5 { // a cut amid it is not seen
				return zkserver.Verdict{Cut: zkserver.CutAfter}
			}
			if c.State().MultiRead {
				return zkserver.Verdict{}
			}
			return oldServer(r)
		})
		znodes, err := c.ReadTree(context.Background(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for i, z := range znodes {
			if i > 0 && znodes[i-1].Path >= z.Path {
				t.Errorf("%s after %s", z.Path, znodes[i-1].Path)
			}
			if z.Path == "/hidden" {
				var pe *PathError
				if !errors.As(z.Err, &pe) || pe.Code != model.CodeNoAuth || pe.Path != "/k/hidden" {
					t.Errorf("hidden: %+v", z)
				}
				continue
			}
			got[z.Path] = shown(z.Data, z.Stat.Version, z.Stat.Czxid)
		}
		want := map[string]string{}
		for path, v := range treeOf(l.store, "/k", []string{""}) {
			if path == "" {
				path = "/"
			}
			if path != "/hidden" {
				want[path] = v
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
		some, err := c.ReadTree(context.Background(), []string{"/brokers/ids", "/nothing", "/controller"}, nil)
		if err != nil || len(some) != 4 || some[3].Path != "/controller" {
			t.Errorf("%v, %v", some, err)
		}
	})
}

func TestReadTreeEndsWithItsContext(t *testing.T) {
	l := newLab(t)
	l.seed("/a")
	c := l.connect(Options{})
	release := make(chan struct{})
	defer close(release)
	l.onRequest(func(zkserver.Request) zkserver.Verdict { return zkserver.Verdict{Hold: release} })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	within(t, "ReadTree", func() {
		if _, err := c.ReadTree(ctx, nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestFindChroots(t *testing.T) {
	ways(t, func(t *testing.T, l *lab) {
		l.seed("/kafka/prod/brokers/ids", "/kafka/test/brokers/ids", "/other/brokers/no", "/a/b/c/d/e/f/g/brokers/ids")
		c := l.connect(Options{Servers: "lab/kafka"})
		var none *NoKafkaError
		err := c.RequireKafka(context.Background())
		if !errors.As(err, &none) || !slices.Equal(none.Candidates, []string{"/kafka/prod", "/kafka/test"}) {
			t.Fatalf("error %v", err)
		}
		if want := "ZooKeeper lab:2181/kafka: no Kafka cluster under the chroot /kafka: /kafka/brokers/ids is not there; there is one under /kafka/prod, /kafka/test"; err.Error() != want {
			t.Errorf("error %v", err)
		}
		l.seed("/brokers/ids")
		if err := l.connect(Options{}).RequireKafka(context.Background()); err != nil {
			t.Error(err)
		}
		if found, err := c.FindChroots(context.Background()); err != nil || !slices.Equal(found, []string{"/", "/kafka/prod", "/kafka/test"}) {
			t.Errorf("%v, %v", found, err)
		}
	})
}
