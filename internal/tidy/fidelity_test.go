package tidy

import (
	"encoding/json"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ledger is docs/fidelity.md, which says where each section of the facts about
// Kafka is built and which tests hold it.
const ledger = "docs/fidelity.md"

// checklistRows is how many rows of each kind the checklist has.
var checklistRows = map[string]int{"INT": 1, "CLI": 6, "API": 9, "WCH": 9, "TDM": 9, "RES": 9, "PST": 9, "PSM": 18, "NEW": 9, "ELE": 13, "UNC": 8, "ALG": 11,
	"DEL": 5, "RST": 5, "RSM": 23, "ISR": 9, "PDE": 9, "LOG": 2, "BST": 5, "BIN": 5, "BTR": 6, "BNP": 9, "BEV": 3, "BSU": 4}

// TestFidelityLedger: every file, function, test and case that the ledger names
// exists, and every section and row is in it.
func TestFidelityLedger(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ledger))
	if err != nil {
		t.Fatal(err)
	}
	tests, functions := declared(t)
	ids := caseIDs(t)
	for n, line := range strings.Split(string(text), "\n") {
		for _, m := range regexp.MustCompile("`(Test[A-Za-z0-9_]+)(?:/([^`]*))?`").FindAllStringSubmatch(line, -1) {
			if !tests[m[1]] {
				t.Errorf("%s:%d: there is no test %s", ledger, n+1, m[1])
			}
			if m[2] != "" && !hasCase(ids, m[2]) {
				t.Errorf("%s:%d: there is no case %s", ledger, n+1, m[2])
			}
		}
		for _, m := range regexp.MustCompile("`([A-Za-z0-9_/.-]+\\.(?:go|md))`(?: \\(([A-Za-z0-9_, ]+)\\))?").FindAllStringSubmatch(line, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s:%d: there is no %s", ledger, n+1, m[1])
			}
			for _, name := range strings.Split(m[2], ", ") {
				if m[2] != "" && !functions[m[1]+" "+name] {
					t.Errorf("%s:%d: there is no function %s in %s", ledger, n+1, name, m[1])
				}
			}
		}
	}
	sections := strings.Split("A B C D E F G H I J K L M N O P Q R S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", " ")
	for _, s := range sections {
		if !strings.Contains(string(text), "\n| "+s+" | ") {
			t.Errorf("%s: section %s is not listed", ledger, s)
		}
	}
	for kind, count := range checklistRows {
		for i := 1; i <= count; i++ {
			row := kind + "-" + twoDigits(i)
			if found := strings.Count(string(text), row); found != 1 {
				t.Errorf("%s: row %s is there %d times", ledger, row, found)
			}
		}
	}
}

func twoDigits(n int) string { return itoa(n/10) + itoa(n%10) }

// declared are the tests by name, and the functions by file and name.
func declared(t *testing.T) (tests, functions map[string]bool) {
	tests, functions = map[string]bool{}, map[string]bool{}
	for _, s := range files(t) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if s.test() && f.Recv == nil {
				tests[f.Name.Name] = true
			} else if !s.test() {
				functions[s.path+" "+f.Name.Name] = true
			}
		}
	}
	return tests, functions
}

// caseIDs are the subtests of TestCases.
func caseIDs(t *testing.T) []string {
	dir := filepath.Join(root, "engine", "testdata")
	return append(caseIDsIn(t, dir), caseIDsIn(t, filepath.Join(dir, "derived"))...)
}

func caseIDsIn(t *testing.T, dir string) []string {
	var ids []string
	scenarios, err := filepath.Glob(filepath.Join(dir, "scenarios", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scenarios {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct{ ID string }
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, c := range cases {
			ids = append(ids, c.ID)
		}
	}
	reports, err := filepath.Glob(filepath.Join(dir, "reports", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range reports {
		ids = append(ids, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	return ids
}

// hasCase: pattern is an id, or ends in * and begins one.
func hasCase(ids []string, pattern string) bool {
	prefix, any := strings.CutSuffix(pattern, "*")
	for _, id := range ids {
		if id == pattern || any && strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}
