package journal

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/model"
)

// disk is a sink in memory that can be full, or slow.
type disk struct {
	mu     sync.Mutex
	blocks [][]byte
	full   bool
	hold   chan struct{} // an append waits until it is closed; nil: it does not
	begun  chan struct{} // gets one for each append that begins
}

func (d *disk) Append(b []byte) error {
	d.mu.Lock()
	hold := d.hold
	d.mu.Unlock()
	select {
	case d.begun <- struct{}{}:
	default:
	}
	if hold != nil {
		<-hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return errors.New("no space left on device")
	}
	d.blocks = append(d.blocks, bytes.Clone(b))
	return nil
}
func (d *disk) Sync() error         { return nil }
func (d *disk) Rotate(Header) error { return nil }
func (d *disk) Size() int64         { return 0 }
func (d *disk) Close() error        { return nil }
func (d *disk) set(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

func (d *disk) path(t *testing.T, h Header) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	path := filepath.Join(t.TempDir(), "j")
	if err := os.WriteFile(path, slices.Concat(append([][]byte{headerBlock(h)}, d.blocks...)...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func create(t *testing.T, opt Options) *Writer {
	t.Helper()
	opt.flushAfter = 5 * time.Millisecond
	opt.Header.Mode, opt.Header.Kstate = model.LabMode, "test"
	w, err := Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// readAll gives the records and how reading ended; nil is the regular end.
func readAll(t *testing.T, path string, only bool) ([]*Record, error) {
	t.Helper()
	r, err := Open(path, only)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []*Record
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return out, nil
		} else if err != nil {
			return out, err
		}
		out = append(out, rec)
	}
}

// headerAt is the header of a file; the zero Header while it is being moved.
func headerAt(path string) Header {
	f, h, err := openWhole(path)
	if err == nil {
		f.Close()
	}
	return h
}

func fired(i int) model.Input {
	return model.Input{At: int64(i), Of: &model.WatchFired{Path: fmt.Sprintf("/brokers/topics/t%d", i), Kind: model.NodeDataChanged}}
}

// everything is a record of each kind, with large calls and odd payloads.
func everything(w *Writer) (call *model.Call, result model.Result) {
	call = &model.Call{Purpose: "get_state", Fenced: true, Epoch: 3}
	result.At = 7
	for i := range 2500 {
		call.Ops = append(call.Ops, model.Op{Kind: model.OpGet, Path: fmt.Sprintf("/brokers/topics/t/partitions/%d/state", i), Watch: i%2 == 0})
		result.Ops = append(result.Ops, model.OpResult{Data: []byte(fmt.Sprintf(`{"leader":%d}`, i)), Stat: model.Stat{Czxid: int64(i), Version: 4, Pzxid: 9}})
	}
	result.Ops[1] = model.OpResult{Code: model.CodeNoNode}
	result.Ops[2] = model.OpResult{Data: []byte{0xff, 0, '"'}, Check: model.CodeBadVersion}
	result.Ops[3] = model.OpResult{Data: []byte{}, Children: []string{}}
	result.Ops[4] = model.OpResult{Data: []byte("tab\t\"quote\" ü \x01"), Children: []string{"a", "b"}, Code: -777}
	w.Input(fired(1))
	n := w.Step(5, 2, 0, call)
	w.Input(fired(2))
	w.Settled(n, call, result)
	for p := range int32(3) {
		w.Taken(8, 2, 0, &model.MoveReplica{Replica: model.Replica{TopicPartition: model.TP("t", p), Broker: 1}, From: model.NewReplica, To: model.OnlineReplica, Reason: "why"})
	}
	w.Taken(8, 2, 0, &model.MovePartition{TopicPartition: model.TP("u", 1), From: model.NewPartition, To: model.OnlinePartition})
	send := &model.Send{Broker: 4, Request: &model.StopReplicaRequest{Entries: []model.StopReplicaEntry{{TopicPartition: model.TP("t", 1), Delete: true}}}}
	n = w.Step(9, 2, 0, send)
	w.Settled(n, send, model.Result{At: 10})
	w.Input(model.Input{At: 11, Of: &model.Responded{Broker: 4, Request: send.Request, Response: model.ControlResponse{Partitions: []model.PartitionError{
		{TopicPartition: model.TP("t", 1)}, {TopicPartition: model.TP("t", 0)}, {TopicPartition: model.TP("t", 2), Error: 3}}}}})
	w.Input(model.Input{At: 12, Of: &model.Asked{ID: 1<<63 | 5, From: "me", Ask: &model.CreateTopics{Topics: []model.NewTopic{{Topic: "x", Assignment: map[int32][]int32{3: {1, 2}}, Config: map[string]string{"a": "b"}}}}}})
	w.Seen(model.Record{At: 12, Inferred: true, Step: &model.MovePartition{TopicPartition: model.TP("t", 0), From: model.NewPartition, To: model.OnlinePartition}})
	w.Command(13, model.DeleteTopic{Topic: "t"})
	w.Notice(13, model.Warn, "mind")
	w.Engine(14, []byte(`{"ID":7}`))
	return call, result
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, Options{Path: path})
	call, result := everything(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st.Mode(), err)
	}
	got, err := readAll(t, path, false)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, r := range got {
		kinds = append(kinds, fmt.Sprint(r.N, "-", r.To, ":", r.Kind))
	}
	if want := "[1-1:1 2-2:2 3-3:1 4-4:3 5-7:2 8-8:2 9-10:2 11-11:1 12-12:1 13-13:2 14-14:4 15-15:5 16-16:7]"; fmt.Sprint(kinds) != want {
		t.Fatalf("%v, want %v", kinds, want)
	}
	if err := got[1].Matches(call, 0); err != nil || got[1].Settled || got[1].Event != 2 {
		t.Error(err, got[1].Settled)
	}
	if !reflect.DeepEqual(got[3].Result, result) {
		t.Errorf("%+v, want %+v", got[3].Result.Ops[:6], result.Ops[:6])
	}
	if r := got[4]; r.Moves != 3 || r.Subjects[2] != "t-2@1" || r.Text != "why" || !r.Settled {
		t.Errorf("%+v", r)
	}
	if !got[9].Inferred || got[5].Inferred {
		t.Error("what is inferred is not told from what was seen")
	}
	in := got[7].Input.(*model.Responded)
	if got[7].Of != 9 || len(in.Response.Partitions) != 3 || in.Response.Partitions[1] != (model.PartitionError{TopicPartition: model.TP("t", 0)}) || in.Response.Partitions[2].Error != 3 {
		t.Errorf("%d %+v", got[7].Of, in)
	}
	ask := got[8].Input.(*model.Asked)
	if a, ok := ask.Ask.(*model.CreateTopics); !ok || ask.ID != 1<<63|5 || !slices.Equal(a.Topics[0].Assignment[3], []int32{1, 2}) || a.Topics[0].Config["a"] != "b" {
		t.Errorf("%+v", ask)
	}
}

// Wherever a file is cut off, everything before the last block that is whole is
// read, and the reader says where the tear is.
func TestATornFileIsReadUpToTheTear(t *testing.T) {
	d := &disk{}
	w := create(t, Options{Path: "j", Open: func(Header) (Sink, error) { return d, nil }})
	var ends []int // length of the file after each block
	h := Header{Format: 1, From: 1}
	size := len(headerBlock(h))
	for i := range 4 {
		w.Input(fired(i))
		await(t, "a block", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.blocks) == i+1 })
		size += len(d.blocks[i])
		ends = append(ends, size)
	}
	w.Close()
	whole, err := os.ReadFile(d.path(t, h))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn")
	for cut := ends[0]; cut <= len(whole); cut++ {
		os.WriteFile(path, whole[:cut], 0o600)
		got, err := readAll(t, path, true)
		blocks := 0
		for _, e := range ends {
			if e <= cut {
				blocks++
			}
		}
		var tear *Tear
		if torn := !slices.Contains(ends, cut); len(got) != blocks || errors.As(err, &tear) != torn {
			t.Fatalf("cut at %d of %d: %d records, %v; want %d", cut, len(whole), len(got), err, blocks)
		} else if torn && (tear.At != int64(ends[blocks-1]) || tear.After != uint64(blocks) || !strings.Contains(err.Error(), "torn at its end")) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	whole[ends[1]+30] ^= 0x55 // inside the third block
	os.WriteFile(path, whole, 0o600)
	if got, err := readAll(t, path, true); len(got) != 2 || err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "torn") {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// When the disk is full nobody waits, memory stays bounded, and what is missing
// is in the file as a gap as soon as it can be written.
func TestAFullDiskLeavesAGapThatSaysSo(t *testing.T) {
	d := &disk{full: true}
	w := create(t, Options{Path: "j", QueueBytes: 20 * entryBytes, Open: func(Header) (Sink, error) { return d, nil }})
	w.Input(fired(0))
	await(t, "the failure", func() bool { s, _ := w.Status(); return s.Err != "" })
	for i := 1; i < 1000; i++ {
		w.Input(fired(i))
	}
	if s, _ := w.Status(); s.Lost < 900 || s.Waiting > 21*entryBytes || s.Err != "no space left on device" {
		t.Errorf("%+v", s)
	}
	d.set(false)
	await(t, "the disk's recovery", func() bool { s, _ := w.Status(); return s.Err == "" && s.Waiting == 0 })
	w.Input(fired(1000))
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "lacks") {
		t.Error(err)
	}
	got, err := readAll(t, d.path(t, Header{Format: 1, From: 1}), true)
	if err != nil {
		t.Fatal(err)
	}
	last := got[len(got)-1]
	gaps := uint64(0)
	for _, r := range got {
		if r.Kind == Gap {
			gaps += r.To - r.N + 1
			if !strings.Contains(r.Text, "no space left") {
				t.Error(r.Text)
			}
		}
	}
	if s, _ := w.Status(); gaps != s.Lost || last.N != 1001 || last.At != 1000 {
		t.Errorf("gaps of %d records, lost %d; the last is %+v", gaps, s.Lost, last)
	}
}

// A disk that hangs does not hold the controller for longer than a second, and
// is told of.
func TestADiskThatHangsIsNotWaitedFor(t *testing.T) {
	d := &disk{hold: make(chan struct{}), begun: make(chan struct{}, 1)}
	w := create(t, Options{Path: "j", QueueBytes: 20 * entryBytes, Open: func(Header) (Sink, error) { return d, nil }})
	w.Input(fired(0))
	<-d.begun
	began := time.Now()
	for i := 1; i < 100; i++ {
		w.Input(fired(i))
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the loop was held for %v", took)
	}
	if s, _ := w.Status(); s.Lost == 0 || !strings.Contains(s.Err, "has taken") {
		t.Errorf("%+v", s)
	}
	close(d.hold)
	await(t, "the gap", func() bool { s, _ := w.Status(); return s.Err == "" && s.Waiting == 0 })
	w.Close()
	got, err := readAll(t, d.path(t, Header{Format: 1, From: 1}), true)
	if err != nil || got[len(got)-1].To != 100 {
		t.Errorf("%v: %d records, the last is %+v", err, len(got), got[len(got)-1])
	}
}

// A slow disk is waited for: nothing is lost.
func TestASlowDiskLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, Options{Path: path, QueueBytes: 10 * entryBytes})
	for i := range 20_000 {
		w.Input(fired(i))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t, path, true); err != nil || len(got) != 20_000 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// Files are begun anew at a quarter of the limit, the oldest goes, and the
// reader finds those that are left, or says that the beginning is gone.
func TestFilesAreRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, Options{Path: path, MaxBytes: 8 << 10})
	part := func() int {
		return headerAt(path).Part
	}
	n := 0
	for want := 2; want <= 6; want++ {
		for part() < want {
			for range 200 {
				w.Input(model.Input{At: int64(n), Of: &model.AlarmRang{Name: fmt.Sprint(n * 7919 % 100003)}})
				n++
			}
			await(t, "the disk", func() bool { s, _ := w.Status(); return s.Waiting == 0 })
		}
		if want == 3 {
			if got, err := readAll(t, path, false); err != nil || len(got) == 0 || got[0].N != 1 {
				t.Errorf("%d records, %v", len(got), err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(path + "*")
	if len(files) != keptFiles {
		t.Errorf("%q", files)
	}
	r, err := Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Complete() || r.Header.From < 2 || len(r.Paths()) != keptFiles {
		t.Errorf("%+v", r.Header)
	}
	h := headerAt(path)
	got, err := readAll(t, path, false)
	if err != nil || got[0].N != r.Header.From || got[0].N != h.Oldest || got[len(got)-1].N != uint64(n) {
		t.Errorf("%v: %d to %d, want %d to %d", err, got[0].N, got[len(got)-1].N, h.Oldest, n)
	}
}

func TestAnExistingFileIsMovedAsideOrRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j")
	first := create(t, Options{Path: path})
	first.Input(fired(1))
	if _, err := Create(Options{Path: path}); err == nil || !strings.Contains(err.Error(), "another kstate writes it") {
		t.Error(err)
	}
	first.Close()
	create(t, Options{Path: path}).Close()
	if got, err := readAll(t, path+".1", true); err != nil || len(got) != 1 {
		t.Error(len(got), err)
	}
	if got, err := readAll(t, path, false); err != nil || len(got) != 0 {
		t.Error(len(got), err) // the older one is another recording
	}
	other := filepath.Join(dir, "letter")
	os.WriteFile(other, []byte("Dear reader"), 0o600)
	if _, err := Create(Options{Path: other}); err == nil || !strings.Contains(err.Error(), "no recording of kstate") {
		t.Error(err)
	}
	if _, err := Create(Options{Path: filepath.Join(dir, "none", "j")}); err == nil {
		t.Error("written into a directory that is not there")
	}
	os.WriteFile(other, headerBlock(Header{Format: 9, Kstate: "v7"}), 0o600)
	if _, err := Open(other, true); err == nil || !strings.Contains(err.Error(), "format 9, written by kstate v7") {
		t.Error(err)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	for path, want := range map[string]string{
		"/config/users/alice":       `{"config":{"SCRAM-SHA-256":"/masked/","producer_byte_rate":"1"},"version":1}`,
		"/delegation_token/tokens/": masked,
		"/somewhere":                masked,
		"/config/brokers/1":         `{"config":{"listener.name.x.ssl.keystore.password":"/masked/","log.cleaner.threads":"2"},"version":1}`,
		"/config/topics/t":          `{"version":1,"config":{"retention.ms":"5"}}`,
		"/brokers/ids/1":            `{"host":"h","secret":"x"}`,
	} {
		in := map[string]string{"/config/users/alice": `{"version":1,"config":{"SCRAM-SHA-256":"salt=a,stored_key=b","producer_byte_rate":"1"}}`,
			"/config/brokers/1": `{"version":1,"config":{"listener.name.x.ssl.keystore.password":"hunter2","log.cleaner.threads":"2"}}`,
			"/config/topics/t":  want, "/brokers/ids/1": want}[path]
		if in == "" {
			in = "hunter2"
		}
		if got := maskData(path, []byte(in)); string(got) != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	type credential struct {
		User   string
		Salt   []byte
		Rounds int
	}
	got := encodeMasked(map[string]any{"Users": []credential{{"u", []byte("hunter2"), 4096}}, "Entries": []map[string]any{{"Name": "sasl.jaas.config", "Value": "hunter2"}}})
	if want := `{"Entries":[{"Name":"sasl.jaas.config","Value":"/masked/"}],"Users":[{"Rounds":4096,"Salt":"/masked/","User":"u"}]}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := MaskSettings(map[string]string{"zookeeper.ssl.keystore.password": "x", "num.partitions": "1"}); got["zookeeper.ssl.keystore.password"] != masked || got["num.partitions"] != "1" {
		t.Error(got)
	}
}

// Every input and request of the model can be read back.
func TestEveryInputIsKnown(t *testing.T) {
	for file, known := range map[string]struct {
		method string
		types  map[string]reflect.Type
	}{"input.go": {"String", stimuli}, "ask.go": {"AskName", asks}} {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "model", file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != known.method || fn.Recv == nil {
				continue
			}
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			found++
			name := star.X.(*ast.Ident).Name
			has := false
			for _, k := range known.types {
				has = has || k.Name() == name
			}
			if !has {
				t.Errorf("model.%s is not in the tables of decode.go: a recording that has it could not be read", name)
			}
		}
		if found != len(known.types) {
			t.Errorf("%s has %d types, the table %d", file, found, len(known.types))
		}
	}
}
