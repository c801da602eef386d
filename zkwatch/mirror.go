package zkwatch

import (
	"context"
	"errors"

	"kstate/model"
)

// Mark stands in a Change for what concerns the whole picture.
type Mark uint8

// Synced: all that was delivered is the tree as of Zxid, and it is complete.
// Lost: changes may be missed from now on; what was delivered grows old until
// the next Synced.
const (
	NoMark Mark = iota
	Synced
	Lost
)

// Change is one znode as it now is, or a mark.
type Change struct {
	Mark    Mark
	Path    string
	Data    []byte // nil: null data, or Deleted, or Err. Not kept by the Mirror
	Stat    model.Stat
	Deleted bool
	Err     error // it is there but can't be read (a *PathError), or why Lost
	Zxid    int64 // the tree at this zxid was looked at
}

// PathError is a ZooKeeper operation that failed on a path.
type PathError struct {
	Op   string
	Path string // chroot included
	Code model.Code
}

// Error names operation, path and code.
func (e *PathError) Error() string { return "ZooKeeper " + e.Op + " " + e.Path + ": " + e.Code.String() }

// Progress tells how far a bulk read has come.
type Progress struct {
	Found int   // znodes known to be there
	Read  int   // znodes read
	Bytes int64 // payload read
}

// MirrorOptions says what to mirror.
type MirrorOptions struct {
	Paths      []string // subtrees; nil means DefaultPaths
	OnProgress func(Progress)
}

// DefaultPaths are the subtrees that Kafka's controller watches, and the cluster
// id.
func DefaultPaths() []string {
	return []string{model.BrokersPath, model.AdminPath, model.ConfigTopicsPath, model.ConfigBrokersPath, model.ControllerPath,
		model.ControllerEpochPath, model.IsrChangeNotificationPath, model.LogDirEventNotificationPath, model.FeaturePath, model.ClusterPath}
}

// Mirror follows subtrees of a cluster.
type Mirror struct{}

// Mirror starts to follow subtrees. Not for a Conn with OnInput.
func (c *Conn) Mirror(opt MirrorOptions) (*Mirror, error) { return nil, errors.New("not yet") }

// Changes delivers what is new, oldest first, without loss: while nobody
// receives, a newer change of a path takes the place of an older one. A slice is
// one consistent step; apply it whole. The channel is closed when the Mirror or
// its Conn is closed.
func (m *Mirror) Changes() <-chan []Change { return nil }

// Close stops following.
func (m *Mirror) Close() {}

// Znode is one znode of a tree.
type Znode struct {
	Path string
	Data []byte // nil: null data
	Stat model.Stat
	Err  error // it is there but can't be read: a *PathError
}

// ReadTree reads the subtrees at paths (nil: everything), sorted by path.
func (c *Conn) ReadTree(ctx context.Context, paths []string, progress func(Progress)) ([]Znode, error) {
	return nil, errors.New("not yet")
}

// RequireKafka returns nil if there is a Kafka tree under the chroot, else a
// *NoKafkaError with the chroots under which there is one.
func (c *Conn) RequireKafka(ctx context.Context) error { return errors.New("not yet") }

// FindChroots looks for Kafka trees in the whole ensemble, to a bounded depth.
func (c *Conn) FindChroots(ctx context.Context) ([]string, error) { return nil, errors.New("not yet") }

// NoKafkaError: there is no /brokers/ids under the chroot.
type NoKafkaError struct {
	Address    Address
	Candidates []string
}

// Error says what was looked for and what to try.
func (e *NoKafkaError) Error() string { return "no Kafka tree" }
