package realkafka

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Txn is one transaction of ZooKeeper's log.
type Txn struct {
	Session uint64 // who asked for it
	Zxid    uint64
	Type    string // createSession, closeSession, create, setData, error, ... as ZooKeeper's tool names it
	Line    string // the whole line of the tool
}

var txnLine = regexp.MustCompile(`session 0x([0-9a-f]+) cxid 0x[0-9a-f]+ zxid 0x([0-9a-f]+) (\w+)`)

// Transactions reads ZooKeeper's own transaction logs with ZooKeeper's own tool,
// in order of zxid. A server that runs has written what it has answered.
func (z *ZooKeeper) Transactions() []Txn {
	z.t.Helper()
	logs, err := filepath.Glob(filepath.Join(z.DataDir, "version-2", "log.*"))
	if err != nil || len(logs) == 0 {
		z.t.Fatalf("read the transaction log of ZooKeeper: no log.* in %s/version-2 (%v)", z.DataDir, err)
	}
	var out []Txn
	for _, log := range logs {
		cmd := exec.Command(z.jars.java, "-cp", filepath.Join(z.jars.Dir, "*"), "org.apache.zookeeper.server.persistence.TxnLogToolkit", "--dump", log)
		text, err := cmd.Output()
		if err != nil {
			z.t.Fatalf("read the transaction log %s: %v\n%s", log, err, text)
		}
		for line := range strings.Lines(string(text)) {
			if t, ok := parseTxn(line); ok {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b Txn) int { return int(int64(a.Zxid - b.Zxid)) })
	return out
}

func parseTxn(line string) (t Txn, ok bool) {
	m := txnLine.FindStringSubmatch(line)
	if m == nil {
		return t, false
	}
	t = Txn{Type: m[3], Line: strings.TrimSpace(line)}
	for i, field := range []*uint64{&t.Session, &t.Zxid} {
		n, err := strconv.ParseUint(m[i+1], 16, 64)
		if err != nil {
			return t, false
		}
		*field = n
	}
	return t, true
}

// String is the line of ZooKeeper's tool.
func (t Txn) String() string { return fmt.Sprintf("%q", t.Line) }
