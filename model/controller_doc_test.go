package model

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the graphs in docs/controller.md")

// The graphs in docs/controller.md are drawn from the tables that the engine obeys.
func TestControllerDocShowsTheGraphs(t *testing.T) {
	const path = "../docs/controller.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	want = between(t, want, "partition", mermaid(PartitionGraph))
	want = between(t, want, "replica", mermaid(ReplicaGraph))
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatal("docs/controller.md does not show the graphs of this package: go test ./model -update")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func between(t *testing.T, doc, name, text string) string {
	t.Helper()
	begin, end := "<!-- begin "+name+" graph: go test ./model -update -->\n", "<!-- end "+name+" graph -->"
	i, j := strings.Index(doc, begin), strings.Index(doc, end)
	if i < 0 || j < i {
		t.Fatalf("no place for the %s graph in docs/controller.md", name)
	}
	return doc[:i+len(begin)] + text + doc[j:]
}

func mermaid[S interface {
	comparable
	fmt.Stringer
}](g *Graph[S]) string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "    %s --> %s\n", e.From, e.To)
	}
	b.WriteString("```\n")
	return b.String()
}
