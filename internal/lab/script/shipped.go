package script

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Ending is that of a script's file name.
const Ending = ".kstate"

//go:embed shipped/*.kstate
var shipped embed.FS

// Names are the scenarios that kstate ships, in the order of their files: the
// digits in front of a file's name are for the order only.
func Names() []string {
	var names []string
	for _, file := range files() {
		names = append(names, nameOf(file))
	}
	return names
}

func files() []string {
	list, err := fs.Glob(shipped, "shipped/*"+Ending)
	if err != nil {
		return nil // the pattern is a constant that is well formed
	}
	slices.Sort(list)
	return list
}

func nameOf(file string) string {
	name := strings.TrimSuffix(path.Base(file), Ending)
	if order, rest, ok := strings.Cut(name, "-"); ok && strings.Trim(order, "0123456789") == "" {
		return rest
	}
	return name
}

// Text is the script of a shipped scenario; false: there is none of that name.
func Text(name string) (string, bool) {
	for _, file := range files() {
		if nameOf(file) == name {
			text, err := shipped.ReadFile(file)
			return string(text), err == nil
		}
	}
	return "", false
}

// Shipped is a shipped scenario.
func Shipped(name string) (*Scenario, error) {
	text, ok := Text(name)
	if !ok {
		return nil, fmt.Errorf("no scenario is called %s: kstate lab --list names them", name)
	}
	return Parse(name, text)
}
