package tidy

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A decision is cited by its number, so no two have the same, and its title says
// the number that its file name says.
func TestDecisionsAreNumbered(t *testing.T) {
	dir := filepath.Join(root, "docs", "decisions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^(\d{3})-[a-z0-9-]+\.md$`)
	taken := map[string]string{}
	for _, e := range entries {
		m := name.FindStringSubmatch(e.Name())
		if m == nil {
			t.Errorf("docs/decisions/%s: a decision is named NNN-what-it-is-about.md", e.Name())
			continue
		}
		if other, ok := taken[m[1]]; ok {
			t.Errorf("docs/decisions/%s has the number of %s", e.Name(), other)
		}
		taken[m[1]] = e.Name()
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, []byte("# "+m[1]+": ")) || !bytes.Contains(text, []byte("**Choice.**")) {
			t.Errorf("docs/decisions/%s: begins with %q and has a **Choice.**", e.Name(), "# "+m[1]+": ")
		}
	}
	if len(taken) == 0 {
		t.Error("docs/decisions has no decision")
	}
}

// A link from one document to another file of the project leads to it.
func TestLinksInDocuments(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{filepath.Join(root, "docs", "*.md"), filepath.Join(root, "docs", "decisions", "*.md")} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, more...)
	}
	link := regexp.MustCompile(`\]\(([^):#]+)(?:#[^)]*)?\)`)
	seen := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), string(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", document, m[1], err)
			}
		}
	}
	if seen == 0 {
		t.Error("no link was found in any document")
	}
}
