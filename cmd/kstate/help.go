package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

const tagline = "kstate is a debugger for Kafka's ZooKeeper controller.\n"

func helpCommand() command {
	return command{
		name: "help", args: "[COMMAND]", summary: "say what there is, or what a command does",
		run: func(inv *invocation) error {
			if len(inv.args) == 0 {
				_, err := fmt.Fprint(inv.console.out, overview(commands()))
				return err
			}
			c := named(commands(), strings.Join(inv.args, " "))
			if c == nil {
				return noCommand(commands(), inv.args)
			}
			_, err := fmt.Fprint(inv.console.out, c.help())
			return err
		},
	}
}

func versionCommand() command {
	return command{
		name: "version", summary: "say which kstate this is; --version does the same",
		run: func(inv *invocation) error {
			_, err := fmt.Fprintln(inv.console.out, "kstate", version())
			return err
		},
	}
}

// version is the module's version, with the commit when it was built from one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v + " " + info.GoVersion
}

// overview is the help about everything.
func overview(table []command) string {
	var b strings.Builder
	b.WriteString(tagline + "\nUsage: kstate " + commandPlaceholder() + " [FLAGS]\n\nCommands:\n")
	width := 0
	for i := range table {
		width = max(width, len(table[i].name))
	}
	for i := range table {
		summary := table[i].summary
		if table[i].name == defaultCommand {
			summary += " (what kstate alone does)"
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, table[i].name, summary)
	}
	b.WriteString("\nkstate help COMMAND says more. Exit codes: ")
	for i, e := range exitMeanings {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%d %s", e.code, e.meaning)
	}
	b.WriteString(".\n")
	return b.String()
}

// commandPlaceholder shows whether the command may be left out.
func commandPlaceholder() string {
	if defaultCommand == "" {
		return "COMMAND"
	}
	return "[COMMAND]"
}

// synopsis is the command with what follows it.
func (c *command) synopsis() string {
	s := "kstate " + c.name
	if c.args != "" {
		s += " " + c.args
	}
	if len(c.flags) > 0 {
		s += " [FLAGS]"
	}
	return s
}

// help is the help about one command.
func (c *command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nUsage: %s\n", c.name, c.summary, c.synopsis())
	if c.detail != "" {
		fmt.Fprintf(&b, "\n%s\n", c.detail)
	}
	if len(c.flags) > 0 {
		b.WriteString("\nFlags:\n")
		width := 0
		for i := range c.flags {
			width = max(width, len(c.flags[i].spelling()))
		}
		for i := range c.flags {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, c.flags[i].spelling(), c.flags[i].sentence())
		}
	}
	return b.String()
}

func (f *flag) spelling() string {
	if f.kind == isSwitch {
		return "--" + f.name
	}
	return "--" + f.name + " " + f.value
}

func (f *flag) sentence() string {
	s := f.usage
	if len(f.words) > 0 && !slices.ContainsFunc(f.words, func(w string) bool { return strings.Contains(s, w) }) {
		s += ": " + strings.Join(f.words, ", ")
	}
	if f.repeat {
		s += "; may be repeated"
	}
	return s
}

// reference is docs/cli.md.
func reference(table []command) string {
	var b strings.Builder
	b.WriteString("# Command line\n\n" + tagline + "\nThis page is written from the table of commands: `go test ./cmd/kstate -update`.\n\n| command | does |\n|---|---|\n")
	for i := range table {
		fmt.Fprintf(&b, "| [`kstate %s`](#kstate-%s) | %s |\n", table[i].name, strings.ReplaceAll(table[i].name, " ", "-"), cell(table[i].summary))
	}
	b.WriteString("\nFlags are written `--name VALUE` or `--name=VALUE`, before or behind the arguments; what follows `--` is an argument.\n\n| exit code | means |\n|---|---|\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.meaning)
	}
	for i := range table {
		table[i].reference(&b)
	}
	return b.String()
}

func (c *command) reference(b *strings.Builder) {
	fmt.Fprintf(b, "\n## kstate %s\n\n`%s`: %s.\n", c.name, c.synopsis(), c.summary)
	if c.detail != "" {
		fmt.Fprintf(b, "\n%s\n", c.detail)
	}
	if len(c.flags) == 0 {
		return
	}
	b.WriteString("\n| flag | means |\n|---|---|\n")
	for i := range c.flags {
		fmt.Fprintf(b, "| `%s` | %s |\n", cell(c.flags[i].spelling()), cell(c.flags[i].sentence()))
	}
}

// cell keeps a text from ending a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
