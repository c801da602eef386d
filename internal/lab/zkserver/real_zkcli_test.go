package zkserver

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kstate/internal/realkafka"
)

// zkCliCommands are typed into ZooKeeper's own command line client: what it can
// ask for, and what must be refused.
const zkCliCommands = `ls /
ls -s /zookeeper
ls -R /
config
version
create /a one
create /a again
create /none/b x
create /a/b
create -e /a/e gone
create -s /a/s- x
create -e -s /a/s- y
create -c /c
create -c /c/d
create -t 3600000 /t ttl
get /a
get -s /a
get -w /a
set /a two
set -v 7 /a three
set -s -v 1 /a three
get /none
stat -w /later
create /later now
stat /a
ls -s /a
ls -w /a
create /a/f
addWatch -m PERSISTENT_RECURSIVE /c
set /c/d deep
removewatches /c
getAllChildrenNumber /
getEphemerals /
getEphemerals /a
getAcl /a
addauth digest me:secret
setAcl /a auth::cdrwa
getAcl -s /a
setAcl /a wrong:who:r
setAcl /a world:anyone:cdrwa
whoami
sync /a
listquota /a
delete /a
delete -v 9 /a/b
delete /a/b
deleteall /a
ls /a
reconfig -add server.9=x:1:2;3
create /odd//path
delete /zookeeper
ls -R /
quit
`

// ZooKeeper's own client prints the same against the embedded server as against
// a real 3.8.4, but for times and session ids, and zxids up to where they begin.
func TestRealZkCli(t *testing.T) {
	jars := realkafka.Require(t, "3.9.2")
	ours, real := startBoth(t, jars)
	type printed struct{ out, err []string }
	run := func(addr string) printed {
		out, errs, err := jars.Run(t, zkCliCommands, "org.apache.zookeeper.ZooKeeperMain", "-server", addr)
		if err != nil && out == "" {
			t.Fatal(err)
		}
		return printed{normalZkCli(out, addr), normalZkCli(errs, addr)}
	}
	a, b := run(ours), run(real)
	if diff := firstDifference(a.out, b.out); diff != "" {
		t.Errorf("standard output: %s", diff)
	}
	if diff := firstDifference(a.err, b.err); diff != "" {
		t.Errorf("standard error: %s", diff)
	}
	if len(a.out) < 100 || len(a.err) < 20 {
		t.Errorf("only %d and %d lines were compared:\n%s\n%s", len(a.out), len(a.err), strings.Join(a.out, "\n"), strings.Join(a.err, "\n"))
	}
	t.Logf("%d commands, %d lines of output and %d of errors equal", strings.Count(zkCliCommands, "\n"), len(a.out), len(a.err))
}

var (
	zkCliZxid    = regexp.MustCompile(`Zxid = 0x([0-9a-f]+)$`)
	zkCliTime    = regexp.MustCompile(`^([cm]time) = (.*)$`)
	zkCliSession = regexp.MustCompile(`0x[0-9a-f]{6,}`)
)

// normalZkCli is what the client printed, line by line, without what differs from
// run to run. What has no order of its own stands at the end, sorted: events,
// which a thread of their own prints, and the identities of whoami.
func normalZkCli(text, addr string) []string {
	var lines, loose []string
	first := int64(0) // zxid
	text = strings.ReplaceAll(text, addr, "ADDRESS")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := zkCliZxid.FindStringSubmatch(line); m != nil {
			zxid, err := strconv.ParseInt(m[1], 16, 64)
			if err == nil && zxid != 0 {
				if first == 0 {
					first = zxid
				}
				line = fmt.Sprintf("%s the first and %d", strings.TrimSuffix(line, m[1]), zxid-first)
			}
		} else if m := zkCliTime.FindStringSubmatch(line); m != nil && !strings.HasSuffix(m[2], "1970") {
			line = m[1] + " = TIME"
		} else {
			line = zkCliSession.ReplaceAllString(line, "SESSION")
		}
		switch {
		case line == "" || line == "WATCHER::":
		case strings.HasPrefix(line, "WatchedEvent"), strings.HasPrefix(line, "ip: "), strings.HasPrefix(line, "digest: "):
			loose = append(loose, line)
		default:
			lines = append(lines, line)
		}
	}
	slices.Sort(loose)
	return slices.Concat(lines, loose)
}

// firstDifference shows where two lists of lines part, with what comes before.
func firstDifference(ours, real []string) string {
	for i := range max(len(ours), len(real)) {
		a, b := "(the end)", "(the end)"
		if i < len(ours) {
			a = ours[i]
		}
		if i < len(real) {
			b = real[i]
		}
		if a != b {
			return fmt.Sprintf("line %d is\n\t%s\nof ZooKeeper's\n\t%s\nafter\n\t%s", i+1, a, b, strings.Join(ours[max(0, min(i, len(ours))-6):min(i, len(ours))], "\n\t"))
		}
	}
	return ""
}
