package tree

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"kstate/model"
)

// Survey is a Kafka cluster as its znodes lie, kept up to date one znode at a
// time. The order in which znodes come does not matter, only the last word on
// each path. The work for one znode is that of its own share: a topic znode
// costs its partitions, a broker the partitions that it hosts or leads.
type Survey struct {
	config  Config
	cluster *model.Cluster
	topics  map[string]*topic
	brokers map[int32]*share

	controller      *model.Znode // /controller as read; nil: no such znode
	epochKnown      bool         // /controller_epoch is there and can be read
	uncleanDefaults map[string]bool

	kept     map[string]model.Znode // znodes that an audit looks at, as they are
	troubles map[string]Trouble
	answered bool // some znode could be read that says something
	refused  int  // znodes that could not be read at all
}

// Trouble is a znode that could not be read or decoded.
type Trouble struct {
	Path    string
	Err     string // what was tried and came back, the path included
	Refused bool   // it could not even be read, as with NoAuth
	Version int32  // data version of the znode; unless Refused
}

// topic is what is remembered of a topic beside the cluster: the parts that no
// assignment lists, and what the assignment alone does not say.
type topic struct {
	name    string
	exists  bool  // its znode is there, readable or not
	version int32 // data version of its znode
	marked  bool  // /admin/delete_topics has it
	unclean *bool
	znodes  []int32         // partitions that have a partition znode, ascending
	strays  map[int32]stray // state znodes of partitions that are not assigned
}

// stray is a state znode that no assignment lists (yet).
type stray struct {
	leadership *model.LeaderIsrAndControllerEpoch
	unreadable string
	noContent  bool // Kafka reads it as no leadership at all
}

// NewSurvey is a survey of an empty tree.
func NewSurvey(config Config) *Survey {
	return &Survey{config: config, cluster: model.NewCluster(), topics: map[string]*topic{}, brokers: map[int32]*share{},
		uncleanDefaults: map[string]bool{}, kept: map[string]model.Znode{}, troubles: map[string]Trouble{}}
}

// SurveyFile is the survey of a tree file, as seen from its chroot.
func SurveyFile(f *File) *Survey {
	s := NewSurvey(f.Config)
	for i := range f.Znodes {
		z := &f.Znodes[i]
		path, ok := model.StripChroot(f.Chroot, z.Path)
		if !ok {
			continue
		}
		s.Apply(model.Znode{Path: path, Data: z.Data, Stat: z.Stat(), Err: z.Error})
	}
	return s
}

// Stat is what the file says of the znode; an ephemeral one belongs to session 1.
func (z *Znode) Stat() model.Stat {
	stat := model.Stat{Version: z.Version, Czxid: z.Czxid}
	if z.Ephemeral {
		stat.EphemeralOwner = 1
	}
	return stat
}

// Apply takes in one znode, its path without the chroot: new, changed, gone
// (Missing) or not readable (Err, as NoAuth: it exists). Paths that Kafka does
// not know are passed over.
func (s *Survey) Apply(z model.Znode) {
	ref := model.ParsePath(z.Path)
	s.note(ref.Kind, &z)
	switch ref.Kind {
	case model.PartitionStateZnode:
		s.applyState(ref.TopicPartition(), &z)
	case model.TopicPartitionZnode:
		s.applyPartitionZnode(ref.TopicPartition(), z.Missing)
	case model.TopicZnode:
		s.applyTopic(ref.Topic, &z)
	case model.BrokerZnode:
		s.applyBroker(ref.Broker, &z)
	case model.DeleteTopicZnode:
		s.applyMarker(ref.Topic, !z.Missing)
	case model.ControllerZnode:
		s.applyController(&z)
	case model.ControllerEpochZnode:
		s.applyEpoch(&z)
	case model.ConfigEntityZnode:
		s.applyConfig(ref, &z)
	case model.UnknownZnode:
		s.applyUnknown(&z)
	}
	if s.keeps(ref.Kind, z.Path) {
		s.keep(&z)
	}
	if t, ok := s.troubles[z.Path]; ok {
		t.Version = z.Stat.Version
		s.troubles[z.Path] = t
	}
}

// applyUnknown names the znode that no controller gets past: each child of
// /brokers/ids has to be a number.
func (s *Survey) applyUnknown(z *model.Znode) {
	if name, ok := strings.CutPrefix(z.Path, model.BrokerIDsPath+"/"); !ok || z.Missing || z.Err != "" || strings.Contains(name, "/") {
		return
	}
	s.trouble(z.Path, errors.New("znode "+Printable(z.Path)+": its name is not a broker id; no controller starts beside it"))
}

// note takes back what an earlier state of this znode gave cause for, and
// records a znode that could not be read.
func (s *Survey) note(kind model.ZnodeKind, z *model.Znode) {
	if old, ok := s.troubles[z.Path]; ok {
		if old.Refused {
			s.refused--
		}
		delete(s.troubles, z.Path)
	}
	switch {
	case z.Missing:
	case z.Err != "":
		s.refused++
		s.troubles[z.Path] = Trouble{Path: z.Path, Err: "znode " + z.Path + ": reading it failed: " + z.Err, Refused: true}
	case !isContainer(kind):
		s.answered = true
	}
}

// isContainer: being allowed to read it means nothing, it holds no data and
// often has looser permissions than what lies below.
func isContainer(kind model.ZnodeKind) bool {
	switch kind {
	case model.UnknownZnode, model.RootZnode, model.ConsumersZnode, model.BrokersZnode, model.AdminZnode, model.ConfigZnode, model.ClusterZnode:
		return true
	}
	return false
}

func (s *Survey) trouble(path string, err error) {
	s.troubles[path] = Trouble{Path: path, Err: err.Error()}
}

// keeps tells which znodes are kept as they are. Those that come by the
// thousands are not: partitions and their states, consumers, tokens, ACLs.
func (s *Survey) keeps(kind model.ZnodeKind, path string) bool {
	switch kind {
	case model.PartitionStateZnode, model.TopicPartitionZnode, model.TopicPartitionsZnode, model.TopicZnode,
		model.ConsumersZnode, model.DelegationTokenZnode, model.ACLZnode, model.RootZnode:
		return false
	case model.UnknownZnode:
		return underKafkaRoot(path)
	}
	return true
}

// underKafkaRoot: Kafka keeps nothing on the path, but owns the tree it is in.
func underKafkaRoot(path string) bool {
	for _, root := range []string{model.BrokersPath, model.AdminPath, model.ConfigPath, model.IsrChangeNotificationPath, model.LogDirEventNotificationPath} {
		if _, ok := model.StripChroot(root, path); ok {
			return true
		}
	}
	return false
}

func (s *Survey) keep(z *model.Znode) {
	if z.Missing {
		delete(s.kept, z.Path)
		return
	}
	s.kept[z.Path] = *z
}

// View is the cluster as it is now; it changes with the next Apply.
func (s *Survey) View() *model.View { return &s.cluster.View }

// Freeze is the cluster as it is now; later changes do not show in it.
func (s *Survey) Freeze() *model.View { return s.cluster.Freeze() }

// Config is what was said of the cluster beside its znodes.
func (s *Survey) Config() Config { return s.config }

// Znode finds a znode that was kept as it is: brokers, configs, everything
// below /admin, the notifications, /controller, /feature, /migration and their
// like; not the topics and what lies below them.
func (s *Survey) Znode(path string) (model.Znode, bool) {
	z, ok := s.kept[path]
	return z, ok
}

// Children lists the kept znodes right below a path, by path.
func (s *Survey) Children(path string) []model.Znode {
	var out []model.Znode
	for p, z := range s.kept {
		if model.ParentPath(p) == path {
			out = append(out, z)
		}
	}
	slices.SortFunc(out, func(a, b model.Znode) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// Troubles lists the znodes that could not be read or decoded, by path.
func (s *Survey) Troubles() []Trouble {
	return slices.SortedFunc(maps.Values(s.troubles), func(a, b Trouble) int { return cmp.Compare(a.Path, b.Path) })
}

// Trouble is what is wrong with one znode, if anything is.
func (s *Survey) Trouble(path string) (Trouble, bool) {
	t, ok := s.troubles[path]
	return t, ok
}

// Refused tells that reading failed on everything that was tried: nothing is
// known of the cluster.
func (s *Survey) Refused() bool { return s.refused > 0 && !s.answered }

// Blind lists the parents that could not be read although everything hangs on
// them: without /brokers/ids nobody knows who is registered, without
// /brokers/topics which topics there are.
func (s *Survey) Blind() []string {
	var blind []string
	for _, path := range []string{model.BrokersPath, model.BrokerIDsPath, model.TopicsPath} {
		if t, ok := s.troubles[path]; ok && t.Refused {
			blind = append(blind, path)
		}
	}
	return blind
}

// TopicStatus is what the tree holds of a topic.
type TopicStatus struct {
	Name     string
	Exists   bool   // its znode is there
	Deleting bool   // it has a deletion marker
	Why      string // why its znode cannot be read; empty when it can
}

// Topics walks the topics by name: those that have a znode and those that only
// have a deletion marker.
func (s *Survey) Topics() iter.Seq[TopicStatus] {
	return func(yield func(TopicStatus) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.topics)) {
			te := s.topics[name]
			st := TopicStatus{Name: name, Exists: te.exists, Deleting: te.marked}
			if te.exists {
				st.Why = s.cluster.Topic(name).Unreadable
			}
			if (te.exists || te.marked) && !yield(st) {
				return
			}
		}
	}
}

// Orphans walks the partition znodes that no assignment lists, by topic and number.
func (s *Survey) Orphans() iter.Seq[model.TopicPartition] {
	return func(yield func(model.TopicPartition) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.topics)) {
			for _, n := range s.topics[name].znodes {
				tp := model.TP(name, n)
				if p := s.cluster.Partition(tp); (p == nil || p.Assignment == nil) && !yield(tp) {
					return
				}
			}
		}
	}
}
