package observe

import (
	"slices"

	"kstate/model"
	"kstate/zkwatch"
)

// inspector reads the znodes of the chosen subject beside the loop, for a read
// waits as long as ZooKeeper is away. It reads again when one of them has
// changed, never by the clock.
type inspector struct {
	conn *zkwatch.Conn
	read chan *model.Inspection // what a read brought

	subject    model.Subject
	paths      []string
	inspection *model.Inspection // of the subject; nil while there is none
	stale      bool
	reading    bool
}

func newInspector(conn *zkwatch.Conn) inspector {
	return inspector{conn: conn, read: make(chan *model.Inspection, 1)}
}

func (i *inspector) choose(s model.Subject) {
	i.subject, i.paths, i.inspection, i.stale = s, s.Paths(), nil, true
}

// changed notes that a znode is no longer what was read.
func (i *inspector) changed(path string) {
	if slices.Contains(i.paths, path) {
		i.stale = true
	}
}

// look starts a read if one is due.
func (i *inspector) look(connected bool) {
	if !i.stale || i.reading || !connected || i.subject.Kind == model.NoSubject {
		return
	}
	i.stale, i.reading = false, true
	subject, paths, conn, read := i.subject, i.paths, i.conn, i.read
	go func() {
		in := &model.Inspection{Subject: subject}
		for _, path := range paths {
			r := conn.Do(&model.Call{Purpose: "peek", Ops: []model.Op{{Kind: model.OpGet, Path: path}}})
			in.At = r.At
			in.Znodes = append(in.Znodes, model.PeekedZnode(path, r))
		}
		read <- in
	}()
}

// take has what a read brought, if the subject is still the same.
func (i *inspector) take(in *model.Inspection) {
	i.reading = false
	if in.Subject == i.subject {
		i.inspection = in
	}
}
