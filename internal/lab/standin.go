package lab

import (
	"maps"
	"slices"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

const defaultListener = "PLAINTEXT"

// standIn is what a simulated broker keeps of the registration that it stands in
// for: never an address.
type standIn struct {
	rack    string
	aliases []string // further names of its one listener
}

// takeOver finds the brokers registered in a tree, in order, and returns the
// tree without what belonged to sessions that are not here. Broker ids, racks
// and the names of listeners stay; a registration that cannot be read leaves the
// id alone.
func (l *Lab) takeOver(znodes []zkserver.Znode) (ids []int32, kept []zkserver.Znode) {
	names := map[int32][]string{}
	l.standIns = map[int32]standIn{}
	for _, z := range znodes {
		switch ref := model.ParsePath(z.Path); ref.Kind {
		case model.BrokerZnode:
			ids = append(ids, ref.Broker)
			reg, err := model.DecodeBroker(z.Path, z.Data)
			if err != nil {
				continue
			}
			l.standIns[ref.Broker] = standIn{rack: reg.Rack}
			for _, e := range reg.Endpoints {
				names[ref.Broker] = append(names[ref.Broker], e.Listener)
			}
		case model.ControllerZnode:
		default:
			kept = append(kept, z)
		}
	}
	slices.Sort(ids)
	l.listener = sharedListener(names)
	for id, own := range l.standIns {
		own.aliases = slices.DeleteFunc(names[id], func(name string) bool { return name == l.listener })
		l.standIns[id] = own
	}
	return ids, kept
}

// sharedListener is a name that every broker has: PLAINTEXT, else the first by
// name; PLAINTEXT too when they share none.
func sharedListener(names map[int32][]string) string {
	brokers := map[string]int{} // by name
	for _, own := range names {
		slices.Sort(own)
		for _, name := range slices.Compact(own) {
			brokers[name]++
		}
	}
	if brokers[defaultListener] == len(names) {
		return defaultListener
	}
	for _, name := range slices.Sorted(maps.Keys(brokers)) {
		if brokers[name] == len(names) {
			return name
		}
	}
	return defaultListener
}

// Listener is the name of the listener that every broker has, by which the
// controller and the brokers find each other.
func (l *Lab) Listener() string { return l.listener }

// ClusterID is what /cluster/id says, or what the lab's brokers write there.
func (l *Lab) ClusterID() string {
	if data, _, code := l.store.Get(model.ClusterIDPath); code == zkserver.OK {
		if id, err := model.DecodeClusterID(model.ClusterIDPath, data); err == nil {
			return id
		}
	}
	return ClusterID
}
