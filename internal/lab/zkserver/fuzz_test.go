package zkserver

import (
	"bytes"
	"io"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// seedRequests are whole request frames (without their length) of every op.
func seedRequests() [][]byte {
	var out [][]byte
	add := func(op OpCode, body []byte) {
		out = append(out, append(putInt32(putInt32(nil, 7), int32(op)), body...))
	}
	add(OpCreate, createBody("/a", []byte("d"), 0))
	add(OpCreateTTL, ttlBody("/t", PersistentTTL, 1000))
	add(OpSetData, setBody("/a", []byte("e"), -1))
	add(OpSetACL, aclBody("/a", OpenACL, -1))
	add(OpDelete, versionBody("/a", -1))
	add(OpAddWatch, versionBody("/", 1))
	for _, op := range []OpCode{OpExists, OpGetData, OpGetChildren, OpGetChildren2} {
		add(op, watchBody("/", true))
	}
	for _, op := range []OpCode{OpGetACL, OpSync, OpCountChildren, OpGetEphemerals, OpPing, OpWhoAmI, OpCloseSession, 0} {
		add(op, pathBody("/"))
	}
	add(OpRemoveWatches, versionBody("/", 3))
	add(OpMulti, multiBody(part{OpCreate, createBody("/m", nil, 3)}, part{OpCheck, versionBody("/", 0)}))
	add(OpMultiRead, multiBody(part{OpGetData, watchBody("/", false)}, part{OpGetChildren, watchBody("/", false)}))
	add(OpAuth, authBody("digest", "u:p"))
	add(OpSetWatches2, setWatchesBody(0, []string{"/a"}, []string{"/b"}, []string{"/"}, []string{"/"}, []string{"/"}))
	add(OpReconfig, make([]byte, 20))
	add(OpSASL, putBuffer(nil, nil))
	add(OpGetData, []byte{0x7f, 0xff, 0xff, 0xff})
	return out
}

// FuzzDecodeRequest: no body panics, none makes the decoder allocate more than
// some times its size.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range seedRequests() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 8 {
			return
		}
		var before, after runtime.MemStats
		d := &decoder{b: b}
		r := &request{xid: d.int32(), op: OpCode(d.int32())}
		runtime.ReadMemStats(&before)
		decodeRequest(r, d.b)
		runtime.ReadMemStats(&after)
		// The smallest element, 4 bytes, becomes a string header; slices double.
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(64*len(b)+64<<10) {
			t.Errorf("%d bytes made the decoder allocate %d", len(b), got)
		}
	})
}

func FuzzDecodeConnect(f *testing.F) {
	f.Add(make([]byte, 28))
	f.Add(unhex("00000000 0000000000000000 00002710 0000000000000000 00000010" + noPasswd + "00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := decodeConnect(b); ok && len(r.passwd) > len(b) {
			t.Errorf("a password of %d bytes out of %d", len(r.passwd), len(b))
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{0, 0x0f, 0xff, 0xff, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.NewReader(b)
		got, err := readFrame(in, nil, minFrame, maxFrame)
		if err == nil && !bytes.Equal(got, b[4:4+len(got)]) {
			t.Errorf("frame %x out of %x", got, b)
		}
		if cap(got) > 2*len(b)+64<<10 {
			t.Errorf("%d bytes made a buffer of %d", len(b), cap(got))
		}
	})
}

// FuzzConversation throws a frame at a whole connection: the server stays sound
// and goes on serving others.
func FuzzConversation(f *testing.F) {
	for _, s := range seedRequests() {
		f.Add(s)
	}
	f.Fuzz(converse)
}

// converse sends a frame with those bytes, twice.
func converse(t *testing.T, b []byte) {
	s, _ := quietStore(t)
	srv := NewServer(s, ServerOptions{})
	defer srv.Close()
	for range 2 {
		nc, err := srv.Dial("fuzz")
		if err != nil {
			t.Fatal(err)
		}
		c := &rawClient{t: t, nc: nc}
		c.connect(0, 10_000, 0, nil)
		talk := append(putInt32(nil, int32(len(b))), b...)
		talk = append(talk, unhex("00000008 fffffffe 0000000b")...) // a ping ends the talk, unless the frame does
		go c.nc.Write(talk)
		c.nc.SetReadDeadline(time.Now().Add(patience))
		for {
			answer, err := readFrame(c.nc, nil, 16, 1<<30)
			if err != nil {
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Fatal("no answer and no end")
				}
				break
			}
			if bytes.Equal(answer[:4], unhex("fffffffe")) {
				break
			}
		}
		nc.Close()
	}
}

func FuzzReadLog(f *testing.F) {
	dir := f.TempDir()
	s, err := Open(dir, Options{FirstZxid: 1, Random: rand.New(rand.NewSource(1))})
	if err != nil {
		f.Fatal(err)
	}
	id, _ := s.CreateSession(time.Second)
	s.Apply(id, Create("/a", []byte("x"), Ephemeral))
	s.Load([]Znode{{Path: "/l"}})
	s.CloseSession(id)
	s.Close()
	whole, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, logName), b, 0o666)
		s, err := Open(dir, Options{})
		if err != nil {
			return
		}
		defer s.Close()
		if r, _ := s.Apply(0, Create("/after", nil, Sequential)); r.Code != OK {
			t.Errorf("%v", r.Code)
		}
		if err := s.check(); err != nil {
			t.Error(err)
		}
	})
}

// TestRandomBytesInTheStreamHarmNobody sends seeded garbage after good frames.
func TestRandomBytesInTheStreamHarmNobody(t *testing.T) {
	s, addr := listening(t)
	witness := connected(t, addr)
	rnd := rand.New(rand.NewSource(42))
	seeds := seedRequests()
	for range 300 {
		c := connected(t, addr)
		frame := bytes.Clone(seeds[rnd.Intn(len(seeds))])
		for range 1 + rnd.Intn(4) {
			frame[rnd.Intn(len(frame))] = byte(rnd.Intn(256))
		}
		c.frame(frame)
		c.nc.(interface{ CloseWrite() error }).CloseWrite()
		c.nc.SetReadDeadline(time.Now().Add(patience))
		io.Copy(io.Discard, c.nc)
		c.nc.Close()
	}
	witness.quiet()
	if err := s.Store().check(); err != nil {
		t.Error(err)
	}
}
