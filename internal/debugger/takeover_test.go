package debugger_test

import (
	"strings"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// A znode that no controller can start beside makes it win and lose the role in
// a loop; the operator is told once why, and it works once the znode is gone.
func TestWhyNoControllerStartsIsSaidOnce(t *testing.T) {
	o := newOutside(1)
	o.put(model.BrokerIDsPath+"/foo", []byte("{}"))
	f := open(t, o, o.options())
	n := f.notice(0)
	if !strings.Contains(n.Text, "/brokers/ids/foo") || n.Level != model.Error {
		t.Fatalf("notice %q at level %s", n.Text, n.Level)
	}
	o.change(func() { o.store.Apply(0, zkserver.Delete(model.BrokerIDsPath+"/foo", zkserver.AnyVersion)) })
	x := f.await("it is the controller", active)
	if got := len(x.Notices); got != 1 {
		t.Errorf("%d notices: %v", got, x.Notices)
	}
}
