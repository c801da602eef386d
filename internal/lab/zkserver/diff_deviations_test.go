package zkserver

import (
	"fmt"
	"strings"
)

// The deviations from ZooKeeper 3.8.4 that a client can see, by name. Each is
// shown on purpose by deviations, so that the list is true; the random sequences
// meet the first three, which excuse takes out as narrowly as it says, and avoid
// the others. Those that need an expiry, a limit or a race to be seen do not come
// up here: docs/fidelity.md lists them.
const (
	// 3.8.4 sends nothing to a check outside a multi that succeeds.
	silentCheck = "a check on its own that succeeds is answered"
	// 3.8.4 closes a session's connection before it looks at the password of who wants the session.
	droppedByImpostor = "a wrong password does not cost the session its connection"
	// 3.8.4 reads the empty path as the root.
	emptyPath = "the empty path is not the root"

	// 3.8.4 lets a one-shot watch take the place of a persistent one of the same
	// connection on the same path, and the other way round (ZOOKEEPER-4466).
	oneShotOnPersistent = "a one-shot watch and a persistent one do not replace each other"
	// 3.8.4 runs into a null pointer, answers with an error and a body, and spends no zxid.
	nullACLInMulti = "a null ACL in a multi is an invalid ACL"
	// 3.8.4 writes each half of a surrogate pair as three bytes.
	surrogates = "text beyond U+FFFF comes back as it was sent"
	// 3.8.4 turns them into U+FFFD.
	brokenText = "bytes that are no UTF-8 come back as they were sent"
)

// excuse takes the excepted part of a step's lines out of both lists.
func excuse(s step, ours, real *[]string) string {
	if len(*ours) == 0 || len(*real) == 0 {
		return ""
	}
	who := fmt.Sprintf("client %d: ", s.client)
	switch a, b := (*ours)[0], (*real)[0]; {
	case s.op == OpCheck && b == who+"no reply to check" && strings.HasPrefix(a, who+"check at") && !strings.Contains(a, "code"):
		*ours, *real = (*ours)[1:], (*real)[1:]
		return silentCheck
	case s.path == "" && s.op != OpMulti && s.op != OpMultiRead && strings.HasSuffix(a, fmt.Sprintf("code %d", NoNode)) && !strings.Contains(b, "code"):
		*ours, *real = (*ours)[1:], (*real)[1:]
		return emptyPath
	}
	return ""
}

// deviations shows each of them.
func (w *twins) deviations() {
	w.t.Helper()
	request := func(op OpCode, path string) step { return step{op: op, path: path, acl: OpenACL, version: AnyVersion} }
	watched := request(OpGetData, "@")
	watched.watch = true
	foreign := request(OpMulti, "")
	foreign.parts = []step{request(OpCreate, "@/n")}
	foreign.parts[0].nullACL = true
	for _, c := range []struct {
		name       string
		steps      []step // the last is the one that differs
		ours, real string // in what comes of it
	}{
		{silentCheck, []step{request(OpCheck, "@")}, "check at", "no reply to check"},
		{droppedByImpostor, []step{{kind: stepImpostor}}, "the connection lives", "the connection is lost"},
		{emptyPath, []step{request(OpGetChildren, "")}, "code -101", "burnt"},
		{oneShotOnPersistent, []step{request(OpAddWatch, "@"), watched, request(OpSetData, "@"), request(OpSetData, "@")},
			"event NodeDataChanged", "client 0: setData"},
		{nullACLInMulti, []step{foreign}, "[-114 -114; end -1 -1]", "code -5 and ffffffff01ffffffff"},
		{surrogates, []step{request(OpSync, "@/\U0001f600")}, "\U0001f600", `\xed\xa0\xbd\xed\xb8\x80`},
		{brokenText, []step{request(OpSync, "@/\xff")}, `\xff`, "\ufffd"},
	} {
		w.roots++
		root := fmt.Sprintf("/s%d", w.roots)
		if err := w.both(func(p *diffPeer) error { return p.begin(root) }); err != nil {
			w.t.Fatal(err)
		}
		lines := map[*diffPeer]string{}
		for _, p := range []*diffPeer{w.ours, w.real} {
			for i, s := range c.steps {
				got, err := p.do(s, root)
				if err != nil {
					w.t.Fatalf("%s: step %d, %v: %v", c.name, i, s, err)
				}
				lines[p] = strings.Join(got, "\n")
			}
			lines[p] += map[bool]string{false: "\nthe connection lives", true: "\nthe connection is lost"}[p.dropped]
		}
		for _, got := range []struct{ what, have, want, not string }{
			{"ours", lines[w.ours], c.ours, c.real}, {"ZooKeeper", lines[w.real], c.real, c.ours},
		} {
			first, _, _ := strings.Cut(got.have, "\n")
			if c.name == droppedByImpostor {
				first = got.have
			}
			if !strings.Contains(first, got.want) || strings.Contains(first, got.not) {
				w.t.Errorf("deviation %q: %s answers\n%s\nwant %q and not %q", c.name, got.what, got.have, got.want, got.not)
			}
		}
		if err := w.both(func(p *diffPeer) error { return p.finish(root) }); err != nil {
			w.t.Fatalf("after %q: %v", c.name, err)
		}
		last := max(w.ours.zxid, w.real.zxid)
		if err := w.both(func(p *diffPeer) error { return p.burn(last) }); err != nil {
			w.t.Fatal(err)
		}
	}
}
