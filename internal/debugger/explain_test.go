package debugger_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// explaining gives options whose explanations count the brokers and read the
// topic's marker.
func (o *outside) explaining() debugger.Options {
	opt := o.options()
	opt.Peek = func(_ context.Context, path string) model.Znode {
		o.mu.Lock()
		defer o.mu.Unlock()
		data, stat, code := o.store.Get(path)
		return model.Znode{Path: path, Data: data, Stat: standin.Stat(stat), Missing: code == zkserver.NoNode}
	}
	opt.Explain = func(k debugger.Known, s model.Subject) (*model.Explanation, error) {
		if !k.View.KnowsTopic(s.Topic) {
			return nil, errors.New("no such topic")
		}
		e := &model.Explanation{Subject: s, Answer: "not deleted", Found: len(k.View.Live()) < 3, Memory: k.Controller.Self}
		if !k.Peek(model.DeleteTopicPath(s.Topic)).Missing {
			e.Answer = "deleted"
		}
		return e, nil
	}
	return opt
}

func TestExplanationsFollowTheController(t *testing.T) {
	o := newOutside(2)
	f := open(t, o, o.explaining())
	f.await("it is the controller", active)
	f.Do(model.Explain{Subject: model.Subject{Kind: model.TopicSubject, Topic: "t1"}})
	x := f.await("t1 is explained", func(x *model.Frame) bool { return x.Explanation != nil })
	if e := x.Explanation; e.Subject.Topic != "t1" || e.Answer != "not deleted" || e.Found || !e.Memory {
		t.Errorf("at first: %+v", e)
	}
	o.change(func() { o.store.Apply(0, zkserver.Delete(model.BrokerIDPath(2), -1)) })
	f.await("the broker is missed", func(x *model.Frame) bool { return x.Explanation.Found })
	o.change(func() { o.store.Apply(0, zkserver.Create(model.DeleteTopicPath("t1"), nil, 0)) })
	f.await("the marker is seen", func(x *model.Frame) bool { return x.Explanation.Answer == "deleted" })
	f.Do(model.Explain{Subject: model.Subject{Kind: model.TopicSubject, Topic: "t7"}})
	f.await("there is no t7", func(x *model.Frame) bool {
		return x.Explanation != nil && x.Explanation.Subject.Topic == "t7" && x.Explanation.Answer == "no such topic"
	})
	f.Do(model.Explain{})
	f.await("nothing is explained", func(x *model.Frame) bool { return x.Explanation == nil })
}

func TestNothingExplains(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	f.await("it is the controller", active)
	f.Do(model.Explain{Subject: model.Subject{Kind: model.ControllerSubject}})
	if n := f.notice(0); !strings.Contains(n.Text, "refused") {
		t.Errorf("it says %q", n.Text)
	}
}
