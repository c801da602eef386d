package zkwatch

import (
	"fmt"

	"kstate/model"
)

// harmless are the operations that write nothing. All others are writes or
// unknown, and an unknown operation is taken for a write.
var harmless = map[int32]bool{
	opExists: true, opGetData: true, opGetACL: true, opGetChildren: true, opSync: true, opPing: true, opGetChildren2: true,
	opCheckWatches: true, opRemoveWatch: true, opMultiRead: true, opAuth: true, opSetWatches: true, opEphemerals: true,
	opCountAll: true, opSetWatches2: true, opAddWatch: true, opWhoAmI: true, opClose: true,
}

// admit decides on one outgoing frame: its operation and what follows the
// header. Paths in it have the chroot. A permit that it needs is used up.
func (g *Gate) admit(op int32, body []byte, chroot string) error {
	if harmless[op] {
		return nil
	}
	if g.mode == gateClosed {
		return g.refuse(opName(op), "this connection only reads")
	}
	ops, err := writesOf(op, body, chroot)
	if err != nil {
		return g.refuse(opName(op), "%v", err)
	}
	return g.pass(ops)
}

// writesOf reads the writes out of a frame. Only the plainest kinds are known;
// there is no reason to send others.
func writesOf(op int32, body []byte, chroot string) ([]model.Op, error) {
	d := decoder{b: body}
	if op != opMulti {
		w, err := writeOf(op, &d, chroot)
		if err != nil {
			return nil, err
		}
		return []model.Op{w}, nil
	}
	var ops []model.Op
	for {
		kind, done := d.int32(), d.bool()
		d.int32()
		if d.err != nil {
			return nil, fmt.Errorf("it holds %w", d.err)
		}
		if done {
			return ops, nil
		}
		if kind == opCheck {
			d.raw()
			d.int32()
			continue
		}
		w, err := writeOf(kind, &d, chroot)
		if err != nil {
			return nil, err
		}
		ops = append(ops, w)
	}
}

func writeOf(op int32, d *decoder, chroot string) (model.Op, error) {
	var w model.Op
	path := d.str()
	switch op {
	case opCreate:
		w = model.Op{Kind: model.OpCreate, Data: d.buffer()}
		for range d.count(12) { // the access control list
			d.int32()
			d.raw()
			d.raw()
		}
		flags := d.int32()
		if flags != 0 && flags != flagEphemeral && flags != flagSequential {
			return w, fmt.Errorf("create with flags %d", flags)
		}
		w.Ephemeral, w.Sequential = flags == flagEphemeral, flags == flagSequential
	case opSetData:
		w = model.Op{Kind: model.OpSet, Data: d.buffer(), Version: d.int32()}
	case opDelete:
		w = model.Op{Kind: model.OpDelete, Version: d.int32()}
	default:
		return w, fmt.Errorf("%s is not among the writes that are ever let through", opName(op))
	}
	if d.err != nil {
		return w, fmt.Errorf("it holds %w", d.err)
	}
	inside, ok := model.StripChroot(chroot, path)
	if !ok {
		return w, fmt.Errorf("%s is outside the chroot %s", path, chroot)
	}
	w.Path = inside
	return w, nil
}
