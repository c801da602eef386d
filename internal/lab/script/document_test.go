package script

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/scenarios.md")

// docs/scenarios.md is what the table of words says, and every example in it is
// understood.
func TestDocument(t *testing.T) {
	const file = "../../../docs/scenarios.md"
	example, _ := Text("deletion-dead-broker")
	want := Document(example)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/scenarios.md is out of date: go test ./internal/lab/script -run TestDocument -update")
	}
	blocks := regexp.MustCompile("(?s)```kstate\n(.*?)```").FindAllStringSubmatch(string(got), -1)
	if len(blocks) == 0 || blocks[0][1] == "" {
		t.Fatal("there is no example")
	}
	for _, b := range blocks {
		if _, err := Parse("docs/scenarios.md", b[1]); err != nil {
			t.Error(err)
		}
	}
	rows := 0
	for line := range strings.SplitSeq(string(got), "\n") {
		cells := strings.Split(line, " | `")
		if !strings.HasPrefix(line, "| `") || len(cells) < 2 || strings.HasPrefix(line, "| `kstate ") {
			continue
		}
		example := strings.TrimSuffix(cells[len(cells)-1], "` |")
		rows++
		_, head := Parse("", example)
		_, part := Parse("", "start:\n"+example)
		if head != nil && part != nil {
			t.Errorf("%s: %v; %v", example, head, part)
		}
	}
	if rows != len(words) {
		t.Errorf("%d rows for %d words", rows, len(words))
	}
}
