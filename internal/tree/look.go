package tree

import (
	"slices"

	"kstate/model"
)

// Sight is what a survey knows of one path.
type Sight struct {
	Exists  bool
	Version *int32 // data version; nil when the znode does not exist or it is not known
	Err     string // why it is not known whether it exists or what it holds; empty when it is
}

// Look says whether a znode exists and of which version it is. A znode that is
// not there because something above it may not be read is not missing: Err says so.
func (s *Survey) Look(path string) Sight {
	see := s.look(path)
	if t, ok := s.troubles[path]; ok {
		see = Sight{Exists: true, Err: t.Err}
		if !t.Refused {
			see.Version = &t.Version
		}
	}
	if see.Exists {
		return see
	}
	for up := model.ParentPath(path); up != ""; up = model.ParentPath(up) {
		if t, ok := s.troubles[up]; ok && t.Refused {
			return Sight{Err: t.Err}
		}
	}
	return see
}

func (s *Survey) look(path string) Sight {
	ref := model.ParsePath(path)
	te := s.topics[ref.Topic]
	switch {
	case ref.Kind == model.TopicZnode && te != nil && te.exists:
		version := te.version
		return Sight{Exists: true, Version: &version}
	case ref.Kind == model.TopicPartitionZnode && te != nil:
		return Sight{Exists: slices.Contains(te.znodes, ref.Partition)}
	case ref.Kind == model.PartitionStateZnode && te != nil:
		l := s.cluster.Leadership(ref.TopicPartition())
		if l == nil {
			l = te.strays[ref.Partition].leadership
		}
		if l != nil {
			return Sight{Exists: true, Version: &l.PartitionEpoch}
		}
	}
	if z, ok := s.kept[path]; ok {
		return Sight{Exists: true, Version: &z.Stat.Version}
	}
	return Sight{}
}
