package zkwatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kstate/model"
)

// Progress tells how far a bulk read has come.
type Progress struct {
	Found int   // znodes known to be there
	Read  int   // of these, read
	Bytes int64 // payload read
}

// PathError is a ZooKeeper operation that failed on a path.
type PathError struct {
	Op   string
	Path string // as ZooKeeper has it: chroot included
	Code model.Code
}

// Error names operation, path and code.
func (e *PathError) Error() string {
	return "ZooKeeper " + e.Op + " " + e.Path + ": " + e.Code.String()
}

// crawl reads what it is given and what land makes of it, until nothing is left.
// A lost connection is waited for and what it took is read again; when a session
// ends, the next one goes on if the Conn renews by itself.
func (c *Conn) crawl(ctx context.Context, todo []read, land func(read, *value) []read) error {
	for len(todo) > 0 {
		s := c.session()
		l := s.ready(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("ZooKeeper %s: reading %s: %w", c.address, todo[0].path, ctx.Err())
		case l == nil && c.session() == s:
			return fmt.Errorf("ZooKeeper %s: reading %s: the session has ended", c.address, todo[0].path)
		case l == nil:
			continue
		}
		todo = c.crawlOnce(ctx, s, l, todo, land)
	}
	return nil
}

// crawlOnce crawls by one link and returns what was lost with it.
func (c *Conn) crawlOnce(ctx context.Context, s *session, l *link, todo []read, land func(read, *value) []read) (lost []read) {
	b := newBulk(c, s)
	for _, r := range todo {
		b.add(r)
	}
	for b.busy() {
		if ctx.Err() != nil || len(lost) > 0 {
			lost = append(lost, b.abandon()...)
		} else {
			b.pumpWait(l)
		}
		if b.flying == 0 {
			break
		}
		batches, _ := b.done.wait()
		for _, batch := range batches {
			b.flying--
			for i, r := range batch.reads {
				if v := &batch.values[i]; v.lost {
					lost = append(lost, r)
				} else {
					for _, more := range land(r, v) {
						b.add(more)
					}
				}
			}
		}
	}
	return append(lost, b.abandon()...)
}

// guess is the one child that Kafka gives to a znode at path (chroot taken off),
// "" if that is unknown. Reading both at once saves listing the children.
func guess(path string) string {
	switch model.ParsePath(path).Kind {
	case model.TopicZnode:
		return path + "/partitions"
	case model.TopicPartitionZnode:
		return path + "/state"
	}
	return ""
}

// childPath is the path of a child.
func childPath(parent, name string) string {
	if parent == "/" {
		return "/" + name
	}
	return parent + "/" + name
}

// Znode is one znode of a tree.
type Znode struct {
	Path string
	Data []byte // nil: null data
	Stat model.Stat
	Err  error // it is there but can't be read: a *PathError
}

// Model is the znode as frames and surveys have it: of an error only the code.
func (z *Znode) Model() model.Znode {
	out := model.Znode{Path: z.Path, Data: z.Data, Stat: z.Stat}
	if z.Err != nil {
		out.Err = z.Err.Error()
		if failed, ok := errors.AsType[*PathError](z.Err); ok {
			out.Err = failed.Code.String()
		}
	}
	return out
}

// ReadTree reads the subtrees at paths (nil: all below the chroot), sorted by
// path. What is not there is left out. Znodes that change meanwhile are seen at
// one time or another: it is no snapshot of one moment. progress may be nil.
func (c *Conn) ReadTree(ctx context.Context, paths []string, progress func(Progress)) ([]Znode, error) {
	if paths == nil {
		paths = []string{"/"}
	}
	w := treeWalk{c: c, seen: map[string]*Znode{}, asked: map[string]bool{}}
	var todo []read
	for _, p := range paths {
		todo = append(todo, w.visit(p)...)
	}
	err := c.crawl(ctx, todo, func(r read, v *value) []read {
		more := w.land(r, v)
		if progress != nil {
			progress(Progress{Found: max(len(w.asked), len(w.seen)), Read: w.read, Bytes: w.bytes})
		}
		return more
	})
	if err != nil {
		return nil, err
	}
	out := make([]Znode, 0, len(w.seen))
	for _, path := range slices.Sorted(maps.Keys(w.seen)) {
		out = append(out, *w.seen[path])
	}
	return out, nil
}

// treeWalk is a ReadTree at work. Its paths have the chroot taken off.
type treeWalk struct {
	c     *Conn
	seen  map[string]*Znode
	asked map[string]bool
	read  int
	bytes int64
}

// visit asks for a znode, once, and for the child that it will have.
func (w *treeWalk) visit(path string) []read {
	var reads []read
	for _, p := range []string{guess(path), path} {
		if p != "" && !w.asked[p] {
			w.asked[p] = true
			reads = append(reads, read{path: model.JoinChroot(w.c.address.Chroot, p)})
		}
	}
	return reads
}

func (w *treeWalk) land(r read, v *value) []read {
	path, _ := model.StripChroot(w.c.address.Chroot, r.path)
	if r.kind == readChildren {
		var more []read
		for _, name := range v.children {
			more = append(more, w.visit(childPath(path, name))...)
		}
		return more
	}
	w.read++
	switch v.code {
	case model.CodeNoNode:
		delete(w.asked, path)
		return nil
	case model.CodeOK:
		w.seen[path] = &Znode{Path: path, Data: v.data, Stat: v.stat}
		w.bytes += int64(len(v.data))
	default:
		w.seen[path] = &Znode{Path: path, Err: &PathError{Op: "get", Path: r.path, Code: v.code}}
		return nil
	}
	if g := guess(path); v.stat.NumChildren == 0 || v.stat.NumChildren == 1 && g != "" && w.seen[g] != nil {
		return nil
	}
	return []read{{path: r.path, kind: readChildren}}
}

// The bounds of a search for Kafka trees.
const (
	searchDepth = 5
	searchLists = 5000
)

// FindChroots looks for Kafka trees in the whole ensemble, chroot or not: znodes
// with brokers/ids below them, down to a depth of 5 and for at most 5000 lists of
// children. The result is sorted; "/" stands for no chroot.
func (c *Conn) FindChroots(ctx context.Context) ([]string, error) {
	var found []string
	lists := 1
	err := c.crawl(ctx, []read{{path: "/", kind: readChildren}}, func(r read, v *value) []read {
		if parent, ok := strings.CutSuffix(r.path, model.BrokersPath); ok {
			if slices.Contains(v.children, "ids") {
				found = append(found, max(parent, "/"))
			}
			return nil
		}
		if strings.Count(r.path, "/") >= searchDepth {
			return nil
		}
		kafka := slices.Contains(v.children, "brokers")
		var more []read
		for _, name := range v.children {
			path := childPath(r.path, name)
			own := model.ParsePath("/"+name).Kind != model.UnknownZnode
			if path == "/zookeeper" || lists >= searchLists || kafka && own && name != "brokers" {
				continue
			}
			lists++
			more = append(more, read{path: path, kind: readChildren})
		}
		return more
	})
	slices.Sort(found)
	return found, err
}

// NoKafkaError: there is no /brokers/ids under the chroot.
type NoKafkaError struct {
	Address    Address
	Candidates []string // chroots under which there is one; "/" is none
}

// Error says what was looked for and what to try.
func (e *NoKafkaError) Error() string {
	where := "without a chroot"
	if e.Address.Chroot != "" {
		where = "under the chroot " + e.Address.Chroot
	}
	msg := fmt.Sprintf("ZooKeeper %s: no Kafka cluster %s: %s is not there", e.Address, where, model.JoinChroot(e.Address.Chroot, model.BrokerIDsPath))
	if len(e.Candidates) == 0 {
		return msg + ", nor was one found elsewhere"
	}
	return msg + "; there is one under " + strings.Join(e.Candidates, ", ")
}

// RequireKafka returns nil if there is a Kafka tree under the chroot, else a
// *NoKafkaError, or what kept it from looking: a *PathError when it may not.
func (c *Conn) RequireKafka(ctx context.Context) error {
	var code model.Code
	path := model.JoinChroot(c.address.Chroot, model.BrokerIDsPath)
	err := c.crawl(ctx, []read{{path: path}}, func(_ read, v *value) []read {
		code = v.code
		return nil
	})
	switch {
	case err != nil:
		return err
	case code == model.CodeOK:
		return nil
	case code != model.CodeNoNode:
		return &PathError{Op: "get", Path: path, Code: code}
	}
	candidates, err := c.FindChroots(ctx)
	if err != nil {
		return err
	}
	return &NoKafkaError{Address: c.address, Candidates: candidates}
}
