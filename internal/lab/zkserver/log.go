package zkserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The log is one file of records: int32 length, uint32 CRC-32C of the payload,
// payload. A payload is a txn as what it changed, so that reading it back needs
// no judgement: versions and counters follow from the changes. It is written
// before the reply, with write(2) and no fsync: it survives the process, not
// the machine.
const (
	logName  = "zkserver.log"
	logMagic = "kstate zkserver log 1\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type txnLog struct {
	file   *os.File
	size   int64 // up to here the file is good
	buf    []byte
	broken error
}

// Open makes a store whose txns are appended to a log in dir, and reads back
// what an earlier process left there: znodes, and sessions with their timeouts
// restarted. Zxids go on beyond those of the log. A record cut short at the
// very end is dropped, with a line to Options.Log; damage before that is an
// error. One process at a time may have a directory open. Close it.
func Open(dir string, o Options) (*Store, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("zkserver: data directory: %w", err)
	}
	path := filepath.Join(dir, logName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("zkserver: open the log: %w", err)
	}
	if err := lockFile(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("zkserver: %s is in use by another process: %w", path, err)
	}
	s := emptyStore(o)
	if err := s.readLog(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("zkserver: read the log %s: %w", path, err)
	}
	first := o.FirstZxid
	if first == 0 {
		first = epochZxid(s.clock()) + 1
	}
	s.zxid = max(s.zxid, first-1)
	for _, own := range s.sessions {
		s.touch(own)
	}
	return s, nil
}

// Close closes the log; the store refuses writes afterwards. A store without a
// log has nothing to close.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil || errors.Is(s.log.broken, os.ErrClosed) {
		return nil
	}
	s.log.broken = os.ErrClosed
	return s.log.file.Close()
}

func (s *Store) logf(format string, args ...any) {
	if s.opt.Log != nil {
		s.opt.Log(fmt.Sprintf(format, args...))
	}
}

// appendLog writes the txn at work; false when that failed, then nothing of it
// is in the file.
func (s *Store) appendLog(info *Txn) bool {
	if s.log == nil {
		return true
	}
	b := s.log.start(s.tx.zxid, s.tx.millis, info.Kind, info.Session)
	if info.Kind == TxnCreateSession {
		own := s.sessions[info.Session]
		b = putInt64(append(b, own.passwd[:]...), int64(own.timeout))
	}
	b = putInt32(b, int32(len(s.tx.changes)))
	for i := range s.tx.changes {
		b = putChange(b, &s.tx.changes[i])
	}
	return s.writeLog(b) == nil
}

func putChange(b []byte, ch *change) []byte {
	b = putText(append(b, byte(ch.kind)), ch.path)
	switch ch.kind {
	case changeCreate:
		b = putACL(putBuffer(b, ch.data), ch.acl.entries)
		b = putInt64(putBool(putInt64(b, ch.node.owner), ch.timed), ch.oldTimed.ttlMillis)
	case changeData:
		b = putBuffer(b, ch.data)
	case changeACL:
		b = putACL(b, ch.acl.entries)
	}
	return b
}

// logLoad writes a load as it was asked for.
func (s *Store) logLoad(znodes []Znode) error {
	if s.log == nil {
		return nil
	}
	b := s.log.start(s.tx.zxid, s.tx.millis, TxnLoad, 0)
	b = putInt32(b, int32(len(znodes)))
	for i := range znodes {
		z := &znodes[i]
		acl := z.ACL
		if acl == nil {
			acl = OpenACL
		}
		b = putACL(putBuffer(putText(b, z.Path), z.Data), acl)
		b = putInt64(putInt32(putInt64(b, z.Owner), z.Version), z.Czxid)
	}
	return s.writeLog(b)
}

// start begins a record with room for its length and checksum.
func (l *txnLog) start(zxid, millis int64, kind TxnKind, session int64) []byte {
	b := append(l.buf[:0], 0, 0, 0, 0, 0, 0, 0, 0)
	b = append(putInt64(putInt64(b, zxid), millis), byte(kind))
	return putInt64(b, session)
}

// writeLog seals a record and appends it. After a failed write it cuts the file
// back to its last good length; if that fails too, no write succeeds any more.
func (s *Store) writeLog(b []byte) error {
	l := s.log
	if cap(b) <= keepBuffer {
		l.buf = b
	}
	if l.broken != nil {
		return fmt.Errorf("zkserver: the log is not writable: %w", l.broken)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-8))
	binary.BigEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	if _, err := l.file.WriteAt(b, l.size); err != nil {
		s.logf("append to the log: %v; the write is refused", err)
		if cut := l.file.Truncate(l.size); cut != nil {
			l.broken = errors.Join(err, cut)
		}
		return fmt.Errorf("zkserver: append to the log: %w", err)
	}
	l.size += int64(len(b))
	return nil
}

// readLog replays a log and leaves it ready for appending.
func (s *Store) readLog(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	total := info.Size()
	l := &txnLog{file: file, size: int64(len(logMagic))}
	head := make([]byte, len(logMagic))
	if n, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if string(head[:n]) != logMagic[:n] {
		return errors.New("it is not a log of this program; give another directory")
	} else if n < len(logMagic) {
		if _, err := file.WriteAt([]byte(logMagic), 0); err != nil {
			return err
		}
		total = l.size
	}
	in := bufio.NewReaderSize(io.NewSectionReader(file, l.size, total-l.size), 1<<20)
	for l.size < total {
		payload, torn, err := nextRecord(in, total-l.size)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", l.size, err)
		}
		if torn {
			s.logf("the log ends in the middle of a txn: its last %d bytes are dropped, everything before is kept", total-l.size)
			if err := file.Truncate(l.size); err != nil {
				return err
			}
			break
		}
		if err := s.replay(payload); err != nil {
			return fmt.Errorf("at byte %d: %w", l.size, err)
		}
		l.size += 8 + int64(len(payload))
	}
	s.log = l
	return nil
}

// nextRecord reads a record from what is left. torn: the file ends in it.
func nextRecord(in io.Reader, left int64) (payload []byte, torn bool, err error) {
	if left < 8 {
		return nil, true, nil
	}
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, false, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > left-8 {
		return nil, true, nil
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(in, payload); err != nil {
		return nil, false, err
	}
	if n > 0 && crc32.Checksum(payload, castagnoli) == binary.BigEndian.Uint32(head[4:]) {
		return payload, false, nil
	}
	if n == left-8 || n == 0 && onlyZeros(in) {
		return nil, true, nil
	}
	return nil, false, errors.New("the checksum of a txn is wrong, and others follow it: the file is damaged")
}

func onlyZeros(in io.Reader) bool {
	b, err := io.ReadAll(in)
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return err == nil
}

// replay does a logged txn again.
func (s *Store) replay(payload []byte) error {
	if len(payload) < 25 {
		return errors.New("a txn is malformed")
	}
	d := &decoder{b: payload}
	s.zxid = max(s.zxid, d.int64())
	s.tx.zxid, s.tx.millis = s.zxid, d.int64()
	s.now = time.UnixMilli(s.tx.millis)
	s.tx.changes = s.tx.changes[:0]
	kind := TxnKind(d.take(1)[0])
	id := d.int64()
	switch kind {
	case TxnLoad:
		return s.replayLoad(d)
	case TxnCreateSession:
		own := &session{id: id}
		copy(own.passwd[:], d.take(passwdLen))
		own.timeout = time.Duration(d.int64())
		s.sessions[id] = own
		s.lastSession = max(s.lastSession, id)
	}
	for n := d.count(5); n > 0; n-- {
		if err := s.replayChange(d); err != nil {
			return err
		}
	}
	if kind == TxnCloseSession || kind == TxnExpireSession {
		delete(s.sessions, id)
	}
	if d.bad {
		return errors.New("a txn is malformed")
	}
	return nil
}

func (s *Store) replayChange(d *decoder) error {
	kind := d.take(1)
	path := d.path()
	if d.bad {
		return errors.New("a txn is malformed")
	}
	parentPath, name, _ := splitPath(path)
	parent, n := s.find(parentPath), s.find(path)
	if parent == nil || (n == nil) != (changeKind(kind[0]) == changeCreate) {
		return fmt.Errorf("a txn does not fit the tree at %s", path)
	}
	switch changeKind(kind[0]) {
	case changeCreate:
		n = &node{name: strings.Clone(name), data: d.buffer(), acl: s.internACL(d.acl())}
		n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime = s.tx.zxid, s.tx.zxid, s.tx.zxid, s.tx.millis, s.tx.millis
		n.owner = d.int64()
		timed := d.bool()
		tn := timedNode{path: path, ttlMillis: d.int64()}
		if n.owner != 0 && s.sessions[n.owner] == nil {
			return fmt.Errorf("%s has an owner that is no session", path)
		}
		s.addNode(path, parent, n, timed, tn)
	case changeDelete:
		s.removeNode(path, parent, n)
	case changeData:
		s.writeData(path, n, d.buffer())
	case changeACL:
		s.writeACL(path, n, s.internACL(d.acl()))
	default:
		return fmt.Errorf("unknown change %d of %s", kind[0], path)
	}
	return nil
}

func (s *Store) replayLoad(d *decoder) error {
	for n := d.count(36); n > 0; n-- {
		z := Znode{Path: d.path(), Data: d.buffer(), ACL: d.acl(), Owner: d.int64(), Version: d.int32(), Czxid: d.int64()}
		if d.bad || !validPath(z.Path) {
			return errors.New("a load is malformed")
		}
		if err := s.loadOne(&z); err != nil {
			return err
		}
		s.zxid = max(s.zxid, z.Czxid)
	}
	return nil
}
