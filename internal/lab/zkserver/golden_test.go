package zkserver

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"
)

// rawBytes reads exactly n bytes.
func (c *rawClient) rawBytes(n int) []byte {
	c.t.Helper()
	b := make([]byte, n)
	c.nc.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c.nc, b); err != nil {
		c.t.Fatalf("read %d bytes: %v", n, err)
	}
	return b
}

const noPasswd = "00000000000000000000000000000000"

func TestGoldenHandshakes(t *testing.T) {
	_, addr := listening(t)
	plain := "00000000 0000000000000000 00002710 0000000000000000 00000010" + noPasswd
	c := rawDial(t, addr)
	c.write(unhex("0000002c" + plain))
	got := c.rawBytes(40)
	wantBytes(t, "reply head", got[:12], "00000024 00000000 00002710")
	wantBytes(t, "password length", got[20:24], "00000010")
	if got[12] != 0 || bytes.Equal(got[12:20], make([]byte, 8)) || bytes.Equal(got[24:], make([]byte, 16)) {
		t.Errorf("session id and password %x", got[12:])
	}

	java := rawDial(t, addr)
	java.write(unhex("0000002d" + plain + "00"))
	got = java.rawBytes(41)
	wantBytes(t, "reply head with the read-only byte", got[:12], "00000025 00000000 00002710")
	if got[40] != 0 {
		t.Errorf("read-only byte %d", got[40])
	}

	stranger := "00000000 0000000000000000 00002710 0000000000000077 00000010" + noPasswd
	lost := rawDial(t, addr)
	lost.write(unhex("0000002c" + stranger))
	wantBytes(t, "refused session", lost.rawBytes(40), "00000024 00000000 00000000 0000000000000000 00000010"+noPasswd)
	lost.wantClosed()
	lost = rawDial(t, addr)
	lost.write(unhex("0000002d" + stranger + "01"))
	wantBytes(t, "refused session, Java", lost.rawBytes(41), "00000025 00000000 00000000 0000000000000000 00000010"+noPasswd+"00")
	lost.wantClosed()
}

func TestGoldenPing(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr) // zxid 1
	for _, xid := range []string{"fffffffe", "00000007"} {
		c.write(unhex("00000008" + xid + "0000000b"))
		wantBytes(t, "pong", c.rawBytes(20), "00000010 fffffffe 0000000000000001 00000000")
	}
}

func TestGoldenEvent(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createBody("/a", nil, 0))
	c.want(OK, OpGetData, watchBody("/a", true))
	c.send(OpSetData, setBody("/a", nil, -1))
	wantBytes(t, "event", c.rawBytes(0x1e+4), "0000001e ffffffff ffffffffffffffff 00000000 00000003 00000003 00000002 2f61")
	if a := c.next(); a.xid != c.xid || a.code != OK {
		t.Errorf("the reply comes after the event: %+v", a)
	}
}

func TestGoldenMulti(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	a := c.want(OK, OpMulti, multiBody(
		part{OpCreate, createBody("/a", nil, 0)}, part{OpSetData, setBody("/a", nil, 9)}, part{OpDelete, versionBody("/a", -1)}))
	wantBytes(t, "refused multi", a.body, "ffffffff 00 00000000 00000000"+"ffffffff 00 ffffff99 ffffff99"+
		"ffffffff 00 fffffffe fffffffe"+"ffffffff 01 ffffffff")
	wantBytes(t, "empty multi", c.want(OK, OpMulti, multiBody()).body, "ffffffff 01 ffffffff")

	a = c.want(OK, OpMulti, multiBody(
		part{OpCreate, createBody("/m", nil, 0)}, part{OpSetData, setBody("/m", []byte("x"), 0)}, part{OpCheck, versionBody("/m", 1)},
		part{OpCreate2, createBody("/m2", nil, 0)}, part{OpCreateContainer, createBody("/m3", nil, Container)},
		part{OpCreateTTL, ttlBody("/m4", PersistentTTL, 9)}, part{OpDelete, versionBody("/m2", 0)}))
	d := &decoder{b: a.body}
	next := func(want OpCode) {
		t.Helper()
		if op, more := d.multiHeader(); op != want || !more {
			t.Fatalf("entry of %v, want %v", op, want)
		}
	}
	next(OpCreate)
	if p := d.path(); p != "/m" {
		t.Errorf("path %s", p)
	}
	next(OpSetData)
	if st := d.stat(); st.Version != 1 || st.DataLength != 1 || st.Mzxid != a.zxid || st.Czxid != a.zxid {
		t.Errorf("stat %+v", st)
	}
	next(OpCheck)
	for i := 2; i <= 4; i++ {
		next(OpCreate2)
		if p := d.path(); p != fmt.Sprintf("/m%d", i) {
			t.Errorf("path %s", p)
		}
		if st := d.stat(); st.Czxid != a.zxid {
			t.Errorf("stat %+v", st)
		}
	}
	next(OpDelete)
	wantBytes(t, "end of the multi", d.b, "ffffffff 01 ffffffff")
}

func TestGoldenUnknownOp(t *testing.T) {
	for _, op := range []int32{0, 10, -10, 20, 999} {
		_, addr := listening(t)
		c := connected(t, addr)
		c.write(putInt32(unhex("00000008 00000005"), op))
		wantBytes(t, "unknown op", c.rawBytes(20), "00000010 00000005 ffffffffffffffff fffffffa")
		c.wantClosed()
	}
}
