package main

import (
	"fmt"
	"slices"
	"strings"
)

func completionCommand() command {
	return command{
		name: "completion", args: "bash|zsh|fish", words: []string{"bash", "zsh", "fish"},
		summary: "a completion script for a shell, on standard output",
		detail: `bash: source <(kstate completion bash)
zsh:  source <(kstate completion zsh), after compinit
fish: kstate completion fish | source`,
		run: func(inv *invocation) error {
			if len(inv.args) != 1 {
				return inv.misuse("name one shell: bash, zsh or fish")
			}
			_, err := fmt.Fprint(inv.console.out, completion(inv.args[0], commands()))
			return err
		},
	}
}

// completion is the script for one shell.
func completion(shell string, table []command) string {
	switch shell {
	case "bash":
		return bashCompletion(table)
	case "zsh":
		return zshCompletion(table)
	}
	return fishCompletion(table)
}

// followers lists the words that may follow a beginning of command names.
func followers(table []command, prefix string) []string {
	var words []string
	for i := range table {
		if rest, ok := strings.CutPrefix(table[i].name, prefix); ok {
			if word, _, _ := strings.Cut(rest, " "); !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// groups lists the first words of the names that have two.
func groups(table []command) []string {
	var words []string
	for i := range table {
		if word, _, two := strings.Cut(table[i].name, " "); two && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

func (c *command) flagWords() string {
	words := append([]string{}, c.words...)
	for i := range c.flags {
		words = append(words, "--"+c.flags[i].name)
	}
	return strings.Join(append(words, "--help"), " ")
}

// bashCompletion needs nothing but bash itself.
func bashCompletion(table []command) string {
	var b strings.Builder
	b.WriteString(`# bash completion for kstate, written by: kstate completion bash
_kstate() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
	case "$prev" in
`)
	files, dirs, others := valueFlags(table)
	bashCase(&b, files, `COMPREPLY=($(compgen -f -- "$cur")); return`)
	bashCase(&b, dirs, `COMPREPLY=($(compgen -d -- "$cur")); return`)
	for _, f := range others {
		bashCase(&b, []string{"--" + f.name}, fmt.Sprintf(`COMPREPLY=($(compgen -W "%s" -- "$cur")); return`, strings.Join(f.words, " ")))
	}
	b.WriteString("\tesac\n\tcase \"$COMP_CWORD:${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n")
	fmt.Fprintf(&b, "\t1:*) words=\"%s --version --help\" ;;\n", strings.Join(followers(table, ""), " "))
	for _, group := range groups(table) {
		fmt.Fprintf(&b, "\t\"2:%s \"*) words=\"%s\" ;;\n", group, strings.Join(followers(table, group+" "), " "))
	}
	for i := range table {
		name := table[i].name
		if !strings.Contains(name, " ") {
			name += " "
		}
		fmt.Fprintf(&b, "\t*:\"%s\"*) words=\"%s\" ;;\n", name, table[i].flagWords())
	}
	b.WriteString("\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _kstate kstate\n")
	return b.String()
}

func bashCase(b *strings.Builder, patterns []string, action string) {
	if len(patterns) > 0 {
		fmt.Fprintf(b, "\t%s) %s ;;\n", strings.Join(patterns, "|"), action)
	}
}

// valueFlags sorts the flags of all commands by what completes their value. A
// flag that two commands share has one meaning.
func valueFlags(table []command) (files, dirs []string, others []flag) {
	seen := map[string]bool{}
	for i := range table {
		for _, f := range table[i].flags {
			if seen[f.name] {
				continue
			}
			seen[f.name] = true
			switch f.kind {
			case isFile:
				files = append(files, "--"+f.name)
			case isDir:
				dirs = append(dirs, "--"+f.name)
			case isWord, isText, isNumber:
				others = append(others, f)
			}
		}
	}
	return files, dirs, others
}

// zshCompletion uses _arguments and _describe of zsh's own system.
func zshCompletion(table []command) string {
	var b strings.Builder
	b.WriteString("#compdef kstate\n# zsh completion for kstate, written by: kstate completion zsh\n_kstate() {\n\tlocal -a commands\n")
	b.WriteString("\tif (( CURRENT == 2 )); then\n\t\tcommands=(\n")
	zshCommands(&b, table, "")
	b.WriteString("\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n")
	for _, group := range groups(table) {
		fmt.Fprintf(&b, "\tif (( CURRENT == 3 )) && [[ $words[2] == %s ]]; then\n\t\tcommands=(\n", group)
		zshCommands(&b, table, group+" ")
		b.WriteString("\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n")
	}
	b.WriteString("\tcase \"$words[2] $words[3]\" in\n")
	for i := range table {
		name := table[i].name
		if !strings.Contains(name, " ") {
			name += " "
		}
		// _arguments takes the first of $words for the command.
		n := strings.Count(table[i].name, " ") + 1
		fmt.Fprintf(&b, "\t%q*)\n\t\tshift %d words; (( CURRENT -= %d ))\n\t\t_arguments", name, n, n)
		for _, f := range table[i].flags {
			fmt.Fprintf(&b, " \\\n\t\t\t%s", zshFlag(&f))
		}
		b.WriteString(" \\\n\t\t\t'--help[say what it does]'")
		if w := table[i].words; w != nil {
			fmt.Fprintf(&b, " \\\n\t\t\t'*:argument:(%s)'", strings.Join(w, " "))
		}
		b.WriteString("\n\t\t;;\n")
	}
	b.WriteString("\tesac\n}\ncompdef _kstate kstate\n")
	return b.String()
}

func zshCommands(b *strings.Builder, table []command, prefix string) {
	for _, word := range followers(table, prefix) {
		summary := word + " ..."
		if c := named(table, prefix+word); c != nil {
			summary = c.summary
		}
		fmt.Fprintf(b, "\t\t\t%s\n", quote(word+":"+strings.ReplaceAll(summary, ":", `\:`)))
	}
}

func zshFlag(f *flag) string {
	text := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(f.usage)
	spec := "--" + f.name + "[" + text + "]"
	if f.repeat {
		spec = "*" + spec
	}
	switch f.kind {
	case isSwitch:
		return quote(spec)
	case isFile:
		spec += ":file:_files"
	case isDir:
		spec += ":directory:_files -/"
	case isWord:
		spec += ":word:(" + strings.Join(f.words, " ") + ")"
	default:
		spec += ":value: "
	}
	return quote(spec)
}

// quote puts a text into single quotes, as all three shells read them.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fishCompletion lists conditions and candidates, as fish wants it.
func fishCompletion(table []command) string {
	var b strings.Builder
	b.WriteString("# fish completion for kstate, written by: kstate completion fish\ncomplete -c kstate -f\n")
	first := followers(table, "")
	for _, word := range first {
		summary := word + " ..."
		if c := named(table, word); c != nil {
			summary = c.summary
		}
		fmt.Fprintf(&b, "complete -c kstate -n __fish_use_subcommand -a %s -d %s\n", quote(word), quote(summary))
	}
	for _, group := range groups(table) {
		rest := followers(table, group+" ")
		for _, word := range rest {
			fmt.Fprintf(&b, "complete -c kstate -n %s -a %s -d %s\n",
				quote("__fish_seen_subcommand_from "+group+"; and not __fish_seen_subcommand_from "+strings.Join(rest, " ")),
				quote(word), quote(named(table, group+" "+word).summary))
		}
	}
	for i := range table {
		fishFlags(&b, &table[i])
	}
	return b.String()
}

func fishFlags(b *strings.Builder, c *command) {
	var conditions []string
	for _, word := range strings.Fields(c.name) {
		conditions = append(conditions, "__fish_seen_subcommand_from "+word)
	}
	when := quote(strings.Join(conditions, "; and "))
	if c.words != nil {
		fmt.Fprintf(b, "complete -c kstate -n %s -a %s\n", when, quote(strings.Join(c.words, " ")))
	}
	for _, f := range c.flags {
		fmt.Fprintf(b, "complete -c kstate -n %s -l %s -d %s", when, f.name, quote(f.usage))
		switch f.kind {
		case isSwitch:
		case isFile:
			b.WriteString(" -r -F")
		case isDir:
			b.WriteString(` -x -a "(__fish_complete_directories)"`)
		case isWord:
			fmt.Fprintf(b, " -x -a %s", quote(strings.Join(f.words, " ")))
		default:
			b.WriteString(" -x")
		}
		b.WriteString("\n")
	}
}
