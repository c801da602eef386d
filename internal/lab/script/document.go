package script

import (
	"fmt"
	"strings"
)

const preface = "# Scenarios\n\nWritten by `go test ./internal/lab/script -run TestDocument -update` from the table of words in `internal/lab/script/words.go`.\n\n" +
	"A scenario is a text of lines: what cluster there is, what is done to it, where the controller is held, what faults come over it, and what is\n" +
	"expected. The same text is an exercise, a test, a demonstration and documentation.\n\n" +
	"| | |\n|---|---|\n" +
	"| `kstate lab --list` | the scenarios that kstate ships |\n" +
	"| `kstate lab NAME` or `kstate lab FILE.kstate` | a dashboard on it: what stands under `start:` is done, then it is your turn; `H` shows the goal, one hint after the other, and the solution |\n" +
	"| `kstate run NAME` or `kstate run FILE.kstate` | plays it without a screen and prints the controller's steps; `--solution` plays the solution, too. Exit code 0: all that is expected holds, 1: something does not, 64: the script is not understood |\n\n" +
	"The head says what the cluster is. Behind it come up to three parts: `start:` brings the situation about, `reached:` holds the expectations that are the\n" +
	"goal, `solution:` is one way there. Words are parted by spaces; what has spaces in it, or is empty, stands in double quotes; `#` begins a comment. A\n" +
	"pattern is a text in which `*` stands for anything. A line that is not understood is refused with its place and with what may stand there.\n\n" +
	"The automatic balancer is off in a scenario unless it says `set auto.leader.rebalance.enable true`; without `topic` lines there are no topics.\n\n" +
	"```kstate\n"

// Document is docs/scenarios.md; example is a script that stands in it as a whole.
func Document(example string) string {
	var b strings.Builder
	b.WriteString(preface + example + "```\n")
	group := ""
	for _, w := range words {
		if w.group != group {
			group = w.group
			fmt.Fprintf(&b, "\n## %s\n\n| Form | Does | Example |\n|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", w.form, w.does, w.example)
	}
	return b.String()
}
