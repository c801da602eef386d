package tree

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// golden compares a text with testdata/golden/name.
func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); have\n%s", path, have)
	}
}

func TestOutputsForAReader(t *testing.T) {
	for _, name := range []string{"04-delete-decommissioned-broker", "20-isr-only-member-dead", "56-topic-znode-malformed-json", "74-wrong-chroot"} {
		s := SurveyFile(loadFile(t, "testdata/reports/"+name+".json"))
		var b strings.Builder
		if err := BuildState(s, "tree", name+".json").WriteText(&b, 0); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n--- topics list\n")
		if err := WriteTopicList(&b, TopicList(s, TopicFilter{})); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n--- topics describe\n")
		if _, err := DescribeTopics(&b, s, TopicFilter{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name[:2]+".txt", b.String())
	}
}

func TestStateJSONKeepsItsFields(t *testing.T) {
	s := SurveyFile(loadFile(t, "testdata/reports/20-isr-only-member-dead.json"))
	var b strings.Builder
	if err := BuildState(s, "tree", "20.json").WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "20-state.json", b.String())
	b.Reset()
	if _, err := DescribeTopicsJSON(&b, s, TopicFilter{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "20-describe.json", b.String())
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	s := SurveyFile(loadFile(t, "testdata/reports/45-wide-cluster-counts.json"))
	var b strings.Builder
	if err := BuildState(s, "tree", "45.json").WriteText(&b, 50); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"partitions not online: 40\n", "partitions online: 200\n", "... and 190 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said in\n%s", want, text)
		}
	}
	b.Reset()
	if err := BuildState(s, "tree", "45.json").WriteText(&b, 7); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), " more: "); n != 2 || !strings.Contains(b.String(), "... and 33 more") {
		t.Errorf("with room for 7 of 40 partitions it says\n%s", b.String())
	}
}

func TestNamesCannotSteerTheTerminal(t *testing.T) {
	f := File{Config: DefaultConfig(), Znodes: []Znode{
		{Path: "/brokers/topics/a\x1b[2Jb", Data: []byte(`{"partitions":{"0":[1]}}`)},
		{Path: "/admin/delete_topics/c\nd"},
	}}
	s := SurveyFile(&f)
	var b strings.Builder
	if err := BuildState(s, "tree", "f\x07").WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := DescribeTopics(&b, s, TopicFilter{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07") || !strings.Contains(b.String(), `a\x1b[2Jb`) || !strings.Contains(b.String(), `c\nd`) {
		t.Errorf("control characters reach the terminal: %q", b.String())
	}
}

func TestTopicFilters(t *testing.T) {
	s := SurveyFile(loadFile(t, "testdata/reports/20-isr-only-member-dead.json"))
	for _, c := range []struct {
		name   string
		filter TopicFilter
		want   []string
	}{
		{"all", TopicFilter{}, []string{"payments-0", "payments-1", "payments-2"}},
		{"unavailable", TopicFilter{Unavailable: true}, []string{"payments-0", "payments-2"}},
		{"under-replicated", TopicFilter{UnderReplicated: true}, []string{"payments-0"}},
		{"no match", TopicFilter{Match: func(string) bool { return false }}, nil},
	} {
		var b strings.Builder
		n, err := DescribeTopicsJSON(&b, s, c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var described struct {
			Topics []struct {
				Topic      string
				Partitions []struct{ Partition json.Number }
			}
		}
		if err := json.Unmarshal([]byte(b.String()), &described); err != nil {
			t.Fatalf("%v in %s", err, b.String())
		}
		var have []string
		for _, topic := range described.Topics {
			for _, p := range topic.Partitions {
				have = append(have, topic.Topic+"-"+p.Partition.String())
			}
		}
		equal(t, c.name, have, c.want)
		equal(t, c.name+": topics", n, len(described.Topics))
	}
}
