package broker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kstate/model"
)

// Disk is what a broker keeps across restarts: log directories and the logs in
// them. A log holds no records, only what a controller can find out about it.
type Disk struct {
	dirs    []*logDir
	renamed int // makes the names of logs under deletion unique
}

type logDir struct {
	path     string
	failed   bool
	repaired bool // good again at the next mount
	logs     map[model.TopicPartition]*log
	deleting []deleting
}

type log struct {
	dir     *logDir
	topicID model.Uuid // zero: none was ever assigned
}

// deleting is a log renamed for deletion that still takes space.
type deleting struct {
	name string // topic-partition.<unique>-delete
	due  time.Time
}

// NewDisk has n log directories, all of them good, named dir/0, dir/1, ...
func NewDisk(dir string, n int) *Disk {
	d := &Disk{}
	for i := range n {
		d.dirs = append(d.dirs, &logDir{path: fmt.Sprintf("%s/%d", dir, i), logs: map[model.TopicPartition]*log{}})
	}
	return d
}

// repair makes a failed directory good from the next mount on, with what was in
// it: a running broker does not look at it again.
func (d *Disk) repair(path string) error {
	for _, dir := range d.dirs {
		if dir.path == path {
			dir.repaired = dir.failed
			return nil
		}
	}
	return fmt.Errorf("no log directory %s; there are %v", path, d.paths())
}

// mount is what a start does: it finds repaired directories good and forgets
// deleted logs.
func (d *Disk) mount(now time.Time) {
	for _, dir := range d.dirs {
		if dir.repaired {
			dir.failed, dir.repaired = false, false
		}
	}
	d.purge(now)
}

func (d *Disk) paths() []string {
	var out []string
	for _, dir := range d.dirs {
		out = append(out, dir.path)
	}
	return out
}

// find looks for a log in the good directories.
func (d *Disk) find(tp model.TopicPartition) *log {
	for _, dir := range d.dirs {
		if l := dir.logs[tp]; l != nil && !dir.failed {
			return l
		}
	}
	return nil
}

func (d *Disk) anyFailed() bool {
	return slices.ContainsFunc(d.dirs, func(dir *logDir) bool { return dir.failed })
}

func (d *Disk) allFailed() bool {
	return !slices.ContainsFunc(d.dirs, func(dir *logDir) bool { return !dir.failed })
}

// create makes a log in the good directory with the fewest logs, the first of
// them if there are several; nil when none is good. Kafka: LogManager.nextLogDirs.
func (d *Disk) create(tp model.TopicPartition, id model.Uuid) *log {
	var best *logDir
	for _, dir := range d.dirs {
		if !dir.failed && (best == nil || len(dir.logs) < len(best.logs)) {
			best = dir
		}
	}
	if best == nil {
		return nil
	}
	l := &log{dir: best, topicID: id}
	best.logs[tp] = l
	return l
}

// remove renames the log for deletion; it is gone at due. False when there is
// no such log in a good directory. Kafka: LogManager.asyncDelete.
func (d *Disk) remove(tp model.TopicPartition, due time.Time) bool {
	l := d.find(tp)
	if l == nil {
		return false
	}
	delete(l.dir.logs, tp)
	d.renamed++
	l.dir.deleting = append(l.dir.deleting, deleting{name: fmt.Sprintf("%s.%032x-delete", tp, d.renamed), due: due})
	return true
}

// purge forgets the renamed logs whose time has come.
func (d *Disk) purge(now time.Time) {
	for _, dir := range d.dirs {
		dir.deleting = slices.DeleteFunc(dir.deleting, func(x deleting) bool { return !x.due.After(now) })
	}
}

// LogDir is what one directory holds.
type LogDir struct {
	Path     string
	Failed   bool
	Logs     []model.TopicPartition // sorted
	Deleting []string               // renamed logs that are still there
}

// Dirs describes the directories in their order.
func (d *Disk) Dirs() []LogDir {
	var out []LogDir
	for _, dir := range d.dirs {
		l := LogDir{Path: dir.path, Failed: dir.failed}
		for tp := range dir.logs {
			l.Logs = append(l.Logs, tp)
		}
		slices.SortFunc(l.Logs, model.TopicPartition.Compare)
		for _, x := range dir.deleting {
			l.Deleting = append(l.Deleting, x.name)
		}
		slices.SortFunc(l.Deleting, cmp.Compare)
		out = append(out, l)
	}
	return out
}
