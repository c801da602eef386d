package tree

import (
	"testing"

	"kstate/model"
)

func TestLook(t *testing.T) {
	s := NewSurvey(DefaultConfig())
	for _, z := range []model.Znode{
		{Path: "/brokers/topics/t", Data: []byte(`{"partitions":{"0":[1],"1":[1]}}`), Stat: model.Stat{Version: 4}},
		{Path: "/brokers/topics/t/partitions/0"},
		{Path: "/brokers/topics/t/partitions/0/state", Data: []byte(`{"leader":1,"leader_epoch":0,"isr":[1],"controller_epoch":1}`), Stat: model.Stat{Version: 7}},
		{Path: "/brokers/topics/t/partitions/1/state", Data: []byte("no"), Stat: model.Stat{Version: 8}},
		{Path: "/brokers/topics/t/partitions/9/state", Data: []byte(`{"leader":1,"leader_epoch":0,"isr":[1],"controller_epoch":1}`), Stat: model.Stat{Version: 9}},
		{Path: "/admin/delete_topics/t", Stat: model.Stat{Version: 2}},
		{Path: "/brokers/ids", Err: "NoAuth"},
	} {
		s.Apply(z)
	}
	for _, c := range []struct {
		path    string
		exists  bool
		version int32 // -1: none
		err     bool
	}{
		{"/brokers/topics/t", true, 4, false},
		{"/brokers/topics/t/partitions/0", true, -1, false},
		{"/brokers/topics/t/partitions/0/state", true, 7, false},
		{"/brokers/topics/t/partitions/1/state", true, 8, true},
		{"/brokers/topics/t/partitions/9/state", true, 9, false},
		{"/brokers/topics/t/partitions/2/state", false, -1, false},
		{"/brokers/topics/u", false, -1, false},
		{"/admin/delete_topics/t", true, 2, false},
		{"/admin/delete_topics/u", false, -1, false},
		{"/brokers/ids", true, -1, true},
		{"/brokers/ids/3", false, -1, true},
	} {
		see := s.Look(c.path)
		version := int32(-1)
		if see.Version != nil {
			version = *see.Version
		}
		if see.Exists != c.exists || version != c.version || (see.Err != "") != c.err {
			t.Errorf("%s: exists %t, version %d, error %q", c.path, see.Exists, version, see.Err)
		}
	}
}
