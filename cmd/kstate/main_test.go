package main

import (
	"bytes"
	"context"
	"encoding/json"
	stdflag "flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/internal/tree"
	"kstate/model"
)

var update = stdflag.Bool("update", false, "rewrite docs/cli.md")

const reports = "../../internal/tree/testdata/reports/"

// output is what a command line did.
type output struct {
	code     int
	out, err string
}

func kstate(t *testing.T, args ...string) output {
	t.Helper()
	return kstateWith(t, "", args...)
}

func kstateWith(t *testing.T, in string, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	code := run(ctx, args, console{strings.NewReader(in), &out, &errs})
	return output{code, out.String(), errs.String()}
}

// check tells what differs from a wanted exit code and from texts that standard
// output or standard error must hold.
func (o output) check(t *testing.T, code int, inOut, inErr string) {
	t.Helper()
	if o.code != code || !strings.Contains(o.out, inOut) || !strings.Contains(o.err, inErr) {
		t.Errorf("exit code %d, want %d; want %q in\n%s\nand %q in\n%s", o.code, code, inOut, o.out, inErr, o.err)
	}
}

func TestCommandLinesThatMeanNothing(t *testing.T) {
	for _, c := range []struct {
		args, want string
	}{
		{"nonsense", `"nonsense" is not a command`},
		{"topics", "one of topics list, topics describe, topics create, topics alter, topics delete"},
		{"state", "which cluster? Give --zookeeper or --tree"},
		{"state --tree a --zookeeper b:1", "--zookeeper and --tree: give one of them"},
		{"state --tree", "--tree wants a value: FILE"},
		{"state --tree --json", "--tree wants a value: FILE"},
		{"state --tree a --tree b", "--tree is given twice"},
		{"state --tree=", "it is empty"},
		{"state --json=yes --tree a", "--json takes no value"},
		{"state --tree a --limit -1", "not a number from 0 on"},
		{"state --tree a --limit x", "not a number from 0 on"},
		{"elect preview --tree a --partition 4294967296", "not a number from 0 to 2147483647"},
		{"elect preview --tree a --partition 99999999999999999999", "not a number from 0 to 2147483647"},
		{"control --zookeeper h:1 --id 4294967297", "not a number from 0 to 2147483647"},
		{"state --zookeeper h:1 --zookeeper-timeout 0", "not a number from 100 to 3600000"},
		{"state --zookeeper h:1 --zookeeper-timeout 3600001", "not a number from 100 to 3600000"},
		{"lab --brokers 100000", "not a number from 0 to 200"},
		{"lab --zookeeper-tick 1800001", "not a number from 0 to 1800000"},
		{"lab --zookeeper-port 65536", "not a number from 0 to 65535"},
		{"state --tree a extra", `takes no arguments, but got "extra"`},
		{"state -tree a", "state has no flag -tree"},
		{"state --nonsense", "state has no flag --nonsense"},
		{"topics list --topic ( --tree a", "--topic (: error parsing regexp"},
		{"state --zookeeper zk://x", "which is not part of it"},
		{"state --zookeeper h:1 --zookeeper-tls-cert a", "give both or none"},
		{"export --tree a", "where to? Give --out FILE"},
		{"export --out a", "which cluster?"},
		{"completion", "name one shell"},
		{"completion csh", `"csh" is not one of bash, zsh, fish`},
		{"help nonsense", `"nonsense" is not a command`},
	} {
		kstate(t, strings.Fields(c.args)...).check(t, exitUsage, "", c.want)
	}
}

// The error of a wrong command line is still on the screen when it has been said,
// with what to type to read on.
func TestErrorsStayOnTheScreen(t *testing.T) {
	for _, args := range []string{"nonsense", "topics", "lab no-such-scenario", "lab --no-such-flag", "run", "sim --seeds 0", "control --zookeeper h:1 --id x"} {
		o := kstate(t, strings.Fields(args)...)
		if n := strings.Count(o.err, "\n"); o.code != exitUsage || n > 5 || !strings.Contains(o.err, "kstate help ") {
			t.Errorf("%s: exit code %d, %d lines\n%s", args, o.code, n, o.err)
		}
	}
}

// What was typed comes back in errors; none of it may steer the terminal.
func TestErrorsHoldNoControlCharacters(t *testing.T) {
	const odd = "a\x1b[2J\u202e\u009b\xff"
	const shown = `a\x1b[2J\u202e\u009b\xff`
	for _, args := range [][]string{
		{odd}, {"state", odd}, {"state", "--" + odd}, {"state", "--limit", odd}, {"state", "--tree", odd},
		{"state", "--zookeeper", odd + ":1"}, {"state", "--zookeeper", "h:1", "--zookeeper-digest", "@" + odd},
		{"topics", "list", "--tree", "-", "--topic", "(" + odd}, {"failover", "--tree", "-", "--steps", odd},
		{"elect", "preview", "--tree", "-", "--strategy", "offline", "--topic", odd}, {"help", odd}, {"completion", odd},
	} {
		o := kstateWith(t, `{"format":1,"znodes":[]}`, args...)
		if o.code == exitOK || !strings.Contains(o.err, shown) || visible(o.err) != o.err {
			t.Errorf("%q: exit code %d, error %q", args, o.code, o.err)
		}
	}
}

// Where a password stands in a wrong command line, the error leaves it out.
func TestErrorsHoldNoPassword(t *testing.T) {
	for _, args := range []string{
		"state --zookeper-digest=user:hush --zookeeper h:1", "state -zookeeper-digest=user:hush", "state --zookeeper-digest user:hush",
		"state --zookeeper h:1 --zookeeper-digest hush", "state --zookeeper-digest user:hush --zookeeper-digest user:hush",
		"state --zookeeper h:1/a//b --zookeeper-digest user:hush", "observe --zookeeper-digest=user:hush extra",
	} {
		if o := kstate(t, strings.Fields(args)...); o.code != exitUsage || strings.Contains(o.out+o.err, "hush") {
			t.Errorf("%s: exit code %d\n%s%s", args, o.code, o.out, o.err)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"help", "Commands:\n"},
		{"--help", "Commands:\n"},
		{"help topics list", "Usage: kstate topics list [FLAGS]"},
		{"topics describe x --help", "Usage: kstate topics describe [TOPIC...] [FLAGS]"},
		{"state -h", "--limit N"},
		{"--version", "kstate "},
		{"version", "go1."},
	} {
		kstate(t, strings.Fields(c.args)...).check(t, exitOK, c.want, "")
	}
	kstate(t, "topics", "describe", "--tree", reports+"14-delete-zero-partition-topic.json", "--", "--help").
		check(t, exitError, "", "no such topic: --help")
}

func TestTheReferenceIsUpToDate(t *testing.T) {
	const path = "../../docs/cli.md"
	have := reference(commands())
	if *update {
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || have != string(want) {
		t.Errorf("docs/cli.md is not what the table of commands says (%v): go test ./cmd/kstate -update", err)
	}
}

// Names that scripts rely on do not collide and read alike everywhere.
func TestTheTableOfCommands(t *testing.T) {
	names := map[string]bool{}
	meaning := map[string]flagKind{}
	for _, c := range commands() {
		if names[c.name] || c.summary == "" || strings.HasSuffix(c.summary, ".") || c.run == nil {
			t.Errorf("command %q: twice, without summary or run, or a summary with a full stop", c.name)
		}
		names[c.name] = true
		seen := map[string]bool{}
		for _, f := range c.flags {
			kind, known := meaning[f.name]
			if seen[f.name] || known && kind != f.kind || f.usage == "" || strings.HasSuffix(f.usage, ".") || (f.kind == isSwitch) != (f.value == "") {
				t.Errorf("%s --%s: twice, of two kinds, without usage or name of its value", c.name, f.name)
			}
			seen[f.name], meaning[f.name] = true, f.kind
		}
	}
}

func TestStateOfEveryReport(t *testing.T) {
	files, err := filepath.Glob(reports + "*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("only %d report trees: %v", len(files), err)
	}
	for _, file := range files {
		for _, args := range [][]string{{"state"}, {"topics", "list"}, {"topics", "describe"}} {
			kstate(t, append(args, "--tree", file)...).check(t, exitOK, "", "")
			o := kstate(t, append(args, "--json", "--tree", file)...)
			if o.code != exitOK || !json.Valid([]byte(o.out)) {
				t.Errorf("%v --json --tree %s: exit code %d, valid JSON %t", args, file, o.code, json.Valid([]byte(o.out)))
			}
		}
	}
}

func TestZnodesThatCannotBeReadAreNamed(t *testing.T) {
	for file, want := range map[string]string{
		"56-topic-znode-malformed-json.json": "kstate: znode /brokers/topics/broken: payload is ",
		"55-topic-znode-null-data.json":      "kstate: znode /brokers/topics/empty: has no data (null)",
		"62-state-znode-unparsable.json":     `kstate: znode /brokers/topics/stuck/partitions/0/state: payload is "\x00\x00lost"`,
		"77-no-auth-on-some-paths.json":      "kstate: znode /config/users: reading it failed: NoAuth",
	} {
		kstate(t, "state", "--json", "--tree", reports+file).check(t, exitOK, `{"mode": "tree"`, want)
	}
	broken := `{"format": 1, "chroot": "", "znodes": [
		{"path": "/brokers/topics/t", "data": "{\"partitions\":{\"0\":[1]}}"},
		{"path": "/brokers/topics/t/partitions/0/state", "data": "{\"leader\":1,\"leader_epoch\":\"x\",\"isr\":[1],\"controller_epoch\":1}"}]}`
	kstateWith(t, broken, "state", "--json", "--tree", "-").check(t, exitOK, `"topic": "t", "partition": 0, "state": "unreadable", "leader": null`,
		"kstate: znode /brokers/topics/t/partitions/0/state: field leader_epoch is \"x\"")
	kstateWith(t, broken, "state", "--tree", "-").check(t, exitOK, "znodes that cannot be read: 1, named on standard error", "leader_epoch")
}

func TestTreeFilesThatCannotBeRead(t *testing.T) {
	kstate(t, "state", "--tree", "testdata/nothing.json").check(t, exitError, "", "tree file: open testdata/nothing.json: no such file")
	kstateWith(t, `{"format": 1, "znodes": [{"path": "/a"},`, "state", "--tree", "-").check(t, exitError, "", "tree file -: the file is torn: it ends after znode 1, /a")
	kstateWith(t, `{"format": 7, "znodes": []}`, "topics", "list", "--tree", "-").check(t, exitError, "", "format 7: this kstate reads format 1")
}

func TestATreeWithoutKafka(t *testing.T) {
	o := kstateWith(t, `{"format": 1, "chroot": "/x", "znodes": [{"path": "/y"}]}`, "state", "--json", "--tree", "-")
	o.check(t, exitOK, `"brokers": []`, "tree file -: 1 znodes lie outside the chroot /x")
	o.check(t, exitOK, `"controller": {"status":"absent","id":null,"epoch":null}`, "")
	kstate(t, "state", "--json", "--tree", reports+"74-wrong-chroot.json").check(t, exitOK, `"partitions": []`, "")
}

func TestNoPermissionForAnything(t *testing.T) {
	kstateWith(t, `{"format": 1, "znodes": [{"path": "/brokers", "error": "NoAuth"}, {"path": "/controller", "error": "NoAuth"}]}`, "state", "--tree", "-").
		check(t, exitUnknown, "", "no permission to read anything")
	kstateWith(t, `{"format": 1, "znodes": [{"path": "/brokers/ids", "error": "NoAuth"}, {"path": "/brokers/topics"}]}`, "state", "--tree", "-").
		check(t, exitUnknown, "", "no permission to read /brokers/ids: what was printed is not the cluster")
}

func TestTopicsByName(t *testing.T) {
	file := reports + "67-odd-topic-names.json"
	kstate(t, "topics", "list", "--tree", file, "--topic", "orders.*,a%2Fb").check(t, exitOK, "a%2Fb\norders.eu\norders_eu\n", "")
	if o := kstate(t, "topics", "list", "--tree", file, "--exclude-internal"); strings.Contains(o.out, "__transaction_state") {
		t.Errorf("an internal topic is listed:\n%s", o.out)
	}
	kstate(t, "topics", "describe", "bad name", "--tree", file).check(t, exitOK, "\tTopic: bad name\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tState: OnlinePartition\n", "")
	o := kstate(t, "topics", "describe", "--tree", file, "orders.eu", "gone")
	if o.check(t, exitError, "", "no such topic: gone"); o.out != "" {
		t.Errorf("an answer beside the error:\n%s", o.out)
	}
	kstate(t, "topics", "describe", "--unavailable-partitions", "--tree", reports+"20-isr-only-member-dead.json").
		check(t, exitOK, "Partition: 2\tLeader: 2\tReplicas: 2,1\tIsr: 2,1\tState: OfflinePartition (leader-not-live, electable-now)\n", "")
}

func TestExportIsReadBack(t *testing.T) {
	out := filepath.Join(t.TempDir(), "tree.json")
	file := reports + "62-state-znode-unparsable.json"
	kstate(t, "export", "--tree", file, "--out", out).check(t, exitOK, "", "znodes written to "+out)
	sameState(t, kstate(t, "state", "--json", "--tree", file), kstate(t, "state", "--json", "--tree", out))
	kstate(t, "export", "--tree", out, "--out", "-").check(t, exitOK, `"data":"\u0000\u0000lost"`, "")
	kstate(t, "export", "--tree", out, "--out", filepath.Join(out, "x")).check(t, exitError, "", "--out")
}

// sameState compares two answers but for mode, source and what the file does not
// hold of a live tree.
func sameState(t *testing.T, a, b output) {
	t.Helper()
	var states [2]map[string]any
	for i, o := range []output{a, b} {
		if o.code != exitOK {
			t.Fatalf("exit code %d: %s", o.code, o.err)
		}
		if err := json.Unmarshal([]byte(o.out), &states[i]); err != nil {
			t.Fatal(err)
		}
		delete(states[i], "mode")
		delete(states[i], "source")
		for _, broker := range states[i]["brokers"].([]any) {
			delete(broker.(map[string]any), "epoch")
		}
	}
	first, _ := json.Marshal(states[0])
	second, _ := json.Marshal(states[1])
	if string(first) != string(second) {
		t.Errorf("one says\n%s\nthe other\n%s", first, second)
	}
}

// serve puts a tree file into an embedded ZooKeeper server and returns its
// address. A session of the server's own holds the ephemeral znodes.
func serve(t *testing.T, f *tree.File) string {
	t.Helper()
	store := zkserver.NewStore(zkserver.Options{})
	owner, _ := store.CreateSession(time.Hour)
	var znodes []zkserver.Znode
	for _, z := range f.Znodes {
		n := zkserver.Znode{Path: z.Path, Data: z.Data, Version: z.Version}
		if z.Ephemeral {
			n.Owner = owner
		}
		if z.Error == "NoAuth" {
			n.ACL = []zkserver.ACL{{Perms: zkserver.PermAll, Scheme: "digest", ID: zkserver.Digest("kafka:secret")}}
		}
		znodes = append(znodes, n)
	}
	if err := store.Load(znodes); err != nil {
		t.Fatal(err)
	}
	server := zkserver.NewServer(store, zkserver.ServerOptions{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return addr.String()
}

func loadReport(t *testing.T, name string) *tree.File {
	t.Helper()
	r, err := os.Open(reports + name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := tree.Load(r)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestALiveClusterIsSeenAsItsFile(t *testing.T) {
	for _, name := range []string{"04-delete-decommissioned-broker.json", "45-wide-cluster-counts.json", "62-state-znode-unparsable.json"} {
		addr := serve(t, loadReport(t, name))
		live := kstate(t, "state", "--json", "--zookeeper", addr)
		live.check(t, exitOK, `{"mode": "observe", "source": "`+addr+`"`, "")
		sameState(t, kstate(t, "state", "--json", "--tree", reports+name), live)
		out := filepath.Join(t.TempDir(), "tree.json")
		kstate(t, "export", "--zookeeper", addr, "--out", out).check(t, exitOK, "", "znodes written")
		sameState(t, live, kstate(t, "state", "--json", "--tree", out))
	}
}

func TestAChrootIsFollowed(t *testing.T) {
	f := loadReport(t, "20-isr-only-member-dead.json")
	for i := range f.Znodes {
		f.Znodes[i].Path = model.JoinChroot("/a/b", f.Znodes[i].Path)
	}
	addr := serve(t, f)
	kstate(t, "topics", "list", "--zookeeper", addr+"/a/b").check(t, exitOK, "payments\n", "")
	kstate(t, "state", "--zookeeper", addr+"/a").check(t, exitError, "", "there is one under /a/b")
	kstate(t, "export", "--zookeeper", addr+"/a/b", "--out", "-").check(t, exitOK, `"path":"/a/b/brokers/topics/payments"`, "")
}

func TestAnEmptyTreeBesideARealOne(t *testing.T) {
	addr := serve(t, loadReport(t, "74-wrong-chroot.json"))
	kstate(t, "state", "--zookeeper", addr).check(t, exitError, "", "Kafka trees exist under /")
}

func TestLivePermissions(t *testing.T) {
	f := loadReport(t, "04-delete-decommissioned-broker.json")
	for i := range f.Znodes {
		if strings.HasPrefix(f.Znodes[i].Path, "/brokers/topics/old-events/partitions/0") {
			f.Znodes[i].Error = "NoAuth"
		}
	}
	addr := serve(t, f)
	kstate(t, "state", "--json", "--zookeeper", addr).check(t, exitOK, `"topic": "old-events", "partition": 0, "state": "`,
		"kstate: znode /brokers/topics/old-events/partitions/0")
	kstate(t, "state", "--json", "--zookeeper", addr, "--zookeeper-digest", "kafka:secret").check(t, exitOK,
		`"topic": "old-events", "partition": 0, "state": "OnlinePartition"`, "")
	secret := filepath.Join(t.TempDir(), "digest")
	if err := os.WriteFile(secret, []byte("kafka:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kstate(t, "topics", "describe", "old-events", "--zookeeper", addr, "--zookeeper-digest", "@"+secret).check(t, exitOK, "State: OnlinePartition", "")

	for i := range f.Znodes {
		f.Znodes[i].Error = "NoAuth"
	}
	kstate(t, "state", "--zookeeper", serve(t, f)).check(t, exitUnknown, "", "NOAUTH")
}

func TestNoZooKeeper(t *testing.T) {
	o := kstate(t, "state", "--zookeeper", "127.0.0.1:1", "--zookeeper-timeout", "300")
	if o.check(t, exitUnknown, "", "127.0.0.1:1"); o.out != "" {
		t.Errorf("an answer without a cluster:\n%s", o.out)
	}
	kstate(t, "export", "--zookeeper", "127.0.0.1:1", "--zookeeper-timeout", "300", "--out", "-").check(t, exitUnknown, "", "127.0.0.1:1")
}

// bash is asked what it would complete.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not there")
	}
	script := kstate(t, "completion", "bash").out
	for _, c := range []struct {
		line string
		want []string
	}{
		{"kstate sta", []string{"state"}},
		{"kstate topics ", []string{"alter", "create", "delete", "describe", "list"}},
		{"kstate topics des", []string{"describe"}},
		{"kstate topics describe --una", []string{"--unavailable-partitions"}},
		{"kstate state --js", []string{"--json"}},
		{"kstate completion z", []string{"zsh"}},
		{"kstate state --tree mai", []string{"main.go", "main_test.go"}},
	} {
		cmd := exec.Command(bash, "--norc", "-c", script+"\nread -ra COMP_WORDS <<<\"$1\"\n[[ $1 == *' ' ]] && COMP_WORDS+=(\"\")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_kstate\nprintf '%s\\n' \"${COMPREPLY[@]}\"", "bash", c.line)
		out, err := cmd.CombinedOutput()
		if have := slices.Sorted(strings.FieldsSeq(string(out))); err != nil || !slices.Equal(have, c.want) {
			t.Errorf("%q: %v %v, want %v", c.line, have, err, c.want)
		}
	}
}

// The other two shells are seldom there: their own parsers check the scripts
// where they are, and each command and flag must be in them.
func TestZshAndFishCompletion(t *testing.T) {
	for shell, flags := range map[string]string{"zsh": "--", "fish": " -l "} {
		script := kstate(t, "completion", shell).out
		for _, c := range commands() {
			for _, word := range strings.Fields(c.name) {
				if !strings.Contains(script, word) {
					t.Errorf("%s: %s is missing", shell, word)
				}
			}
			for _, f := range c.flags {
				if !strings.Contains(script, flags+f.name) {
					t.Errorf("%s: --%s is missing", shell, f.name)
				}
			}
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not there to parse its script", shell)
			continue
		}
		cmd := exec.Command(path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v %s", shell, err, out)
		}
	}
}
