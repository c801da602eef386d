package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// command is one row of the table.
type command struct {
	name    string   // as typed: state, topics list
	args    string   // what stands behind it; empty: nothing may
	words   []string // the only words that may stand there; nil: any
	summary string   // one line
	detail  string   // what there is to say beyond it, in paragraphs
	flags   []flag   // in the order of the help
	run     func(*invocation) error
}

// flagKind says what the value of a flag is.
type flagKind uint8

const (
	isSwitch flagKind = iota // no value
	isText
	isNumber // from flag.least to flag.most
	isFile
	isDir
	isWord // one of flag.words
)

// flag is one flag of a command, written --name VALUE or --name=VALUE.
type flag struct {
	name   string // without dashes
	kind   flagKind
	value  string   // how help calls the value
	words  []string // of isWord
	least  int      // of isNumber
	most   int      // of isNumber; 0: what 32 bits hold
	repeat bool     // may be given more than once
	usage  string   // one sentence without a full stop
}

// invocation is a command line that was understood.
type invocation struct {
	ctx     context.Context
	console console
	command *command
	args    []string
	given   map[string][]string // by flag name, in order
}

// has tells whether a flag was given.
func (inv *invocation) has(name string) bool { return len(inv.given[name]) > 0 }

// text is the last value of a flag, empty when it was not given.
func (inv *invocation) text(name string) string {
	if v := inv.given[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// number is the value of a number flag, else byDefault.
func (inv *invocation) number(name string, byDefault int) int {
	if n, err := strconv.Atoi(inv.text(name)); err == nil { // parse has checked what was given
		return n
	}
	return byDefault
}

// misuse is a usage error of this command.
func (inv *invocation) misuse(format string, args ...any) error {
	c := inv.command
	return &usageError{fmt.Sprintf(format, args...), fmt.Sprintf("Usage: %s\nkstate help %s says more.\n", c.synopsis(), c.name)}
}

// parse finds the command and its flags. Flags and arguments may stand in any
// order behind the command's name; what follows -- is an argument.
func parse(table []command, args []string) (*invocation, error) {
	if c := askedForHelp(table, args); c != nil {
		return c, nil
	}
	c, rest, err := find(table, args)
	if err != nil {
		return nil, err
	}
	inv := &invocation{command: c, given: map[string][]string{}}
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--":
			inv.args = append(inv.args, rest...)
			rest = nil
		case len(arg) > 1 && arg[0] == '-':
			if rest, err = inv.take(arg, rest); err != nil {
				return nil, err
			}
		default:
			inv.args = append(inv.args, arg)
		}
	}
	return inv, inv.checkArgs()
}

// askedForHelp understands --help, -h and --version, wherever they stand before
// a bare --.
func askedForHelp(table []command, args []string) *invocation {
	for _, arg := range args {
		switch arg {
		case "--":
			return nil
		case "--help", "-h":
			inv := &invocation{command: named(table, "help")}
			if c, _, err := find(table, args); err == nil && args[0] != arg {
				inv.args = strings.Fields(c.name) // a bare kstate --help is about everything
			}
			return inv
		case "--version":
			return &invocation{command: named(table, "version")}
		}
	}
	return nil
}

func named(table []command, name string) *command {
	i := slices.IndexFunc(table, func(c command) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &table[i]
}

// find takes the longest name that args begin with. Without one, the default
// command takes all of args, if there is one.
func find(table []command, args []string) (*command, []string, error) {
	var best *command
	words := 0
	for i := range table {
		name := strings.Fields(table[i].name)
		if len(name) > words && len(args) >= len(name) && slices.Equal(args[:len(name)], name) {
			best, words = &table[i], len(name)
		}
	}
	if best != nil {
		return best, args[words:], nil
	}
	if c := named(table, defaultCommand); c != nil && (len(args) == 0 || args[0][:min(1, len(args[0]))] == "-") {
		return c, args, nil
	}
	return nil, nil, noCommand(table, args)
}

func noCommand(table []command, args []string) error {
	const help = "kstate help lists the commands.\n"
	if len(args) == 0 {
		return &usageError{"no command given", help}
	}
	var within []string
	for i := range table {
		if strings.HasPrefix(table[i].name, args[0]+" ") {
			within = append(within, table[i].name)
		}
	}
	if len(within) > 0 {
		return &usageError{fmt.Sprintf("%s is not a command by itself: one of %s", args[0], strings.Join(within, ", ")), help}
	}
	return &usageError{fmt.Sprintf("%q is not a command", args[0]), help}
}

// take reads one flag, with its value from rest when it is not in arg.
func (inv *invocation) take(arg string, rest []string) ([]string, error) {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	i := slices.IndexFunc(inv.command.flags, func(f flag) bool { return f.name == name })
	if i < 0 || !strings.HasPrefix(arg, "--") {
		given, _, _ := strings.Cut(arg, "=") // the value of a mistyped flag may be a password
		return nil, inv.misuse("%s has no flag %s", inv.command.name, given)
	}
	f := &inv.command.flags[i]
	switch {
	case f.kind == isSwitch && hasValue:
		return nil, inv.misuse("--%s takes no value", f.name)
	case f.kind == isSwitch:
		value = "true"
	case !hasValue && (len(rest) == 0 || strings.HasPrefix(rest[0], "--")):
		return nil, inv.misuse("--%s wants a value: %s", f.name, f.value)
	case !hasValue:
		value, rest = rest[0], rest[1:]
	}
	if inv.has(name) && !f.repeat {
		return nil, inv.misuse("--%s is given twice", f.name)
	}
	if err := f.check(value); err != "" {
		return nil, inv.misuse("--%s %s: %s", f.name, value, err)
	}
	inv.given[name] = append(inv.given[name], value)
	return rest, nil
}

// check says what is wrong with a value.
func (f *flag) check(value string) string {
	switch f.kind {
	case isNumber:
		return f.checkNumber(value)
	case isWord:
		if !slices.Contains(f.words, value) {
			return "not one of " + strings.Join(f.words, ", ")
		}
	case isText, isFile, isDir:
		if value == "" {
			return "it is empty"
		}
	}
	return ""
}

// checkNumber keeps numbers within 32 bits: the ids, partitions and durations
// that they become hold no more.
func (f *flag) checkNumber(value string) string {
	most := f.most
	if most == 0 {
		most = math.MaxInt32
	}
	n, err := strconv.Atoi(value)
	switch {
	case err == nil && n >= f.least && n <= most:
		return ""
	case f.most == 0 && (n < f.least || err != nil && !errors.Is(err, strconv.ErrRange)):
		return fmt.Sprintf("not a number from %d on", f.least)
	}
	return fmt.Sprintf("not a number from %d to %d", f.least, most)
}

func (inv *invocation) checkArgs() error {
	switch c := inv.command; {
	case c.args == "" && len(inv.args) > 0:
		return inv.misuse("%s takes no arguments, but got %q", c.name, inv.args[0])
	case c.words != nil:
		for _, arg := range inv.args {
			if !slices.Contains(c.words, arg) {
				return inv.misuse("%q is not one of %s", arg, strings.Join(c.words, ", "))
			}
		}
	}
	return nil
}
