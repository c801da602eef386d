package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// propertiesOf reads the file of settings that a flag names; without it there are
// none.
func propertiesOf(inv *invocation, flag string) (map[string]string, error) {
	name := inv.text(flag)
	if name == "" {
		return map[string]string{}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	defer f.Close()
	values, err := readProperties(f)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flag, name, err)
	}
	return values, nil
}

// readProperties reads a file of settings as Java does: KEY=VALUE, KEY:VALUE or
// KEY VALUE, # and ! begin comments, a backslash at the end of a line joins it
// with the next, \t \n \r \f \uXXXX are characters. A key given twice has its last
// value. Java: java.util.Properties.load.
func readProperties(r io.Reader) (map[string]string, error) {
	out := map[string]string{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimLeft(in.Text(), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) && in.Scan() {
			n++
			line = line[:len(line)-1] + strings.TrimLeft(in.Text(), " \t\f")
		}
		if continued(line) { // at the end of the file
			line = line[:len(line)-1]
		}
		key, value := splitProperty(line)
		k, err := unescapeProperty(key)
		if err == nil {
			value, err = unescapeProperty(value)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out[k] = value
	}
	return out, in.Err()
}

// continued: an odd number of backslashes ends the line.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func splitProperty(line string) (key, value string) {
	i := 0
	for ; i < len(line) && !strings.ContainsRune("=: \t\f", rune(line[i])); i++ {
		if line[i] == '\\' {
			i++
		}
	}
	i = min(i, len(line))
	rest := strings.TrimLeft(line[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return line[:i], rest
}

// errUnicode does not say what is there: it may be of a password.
var errUnicode = errors.New(`a backslash and a u are not followed by four hexadecimal digits (Java reads \uXXXX as one character)`)

func unescapeProperty(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	var units []uint16 // of a run of \u, which may be surrogates
	flush := func() {
		b.WriteString(string(utf16.Decode(units)))
		units = nil
	}
	for len(s) > 0 {
		if s[0] != '\\' {
			flush()
			_, n := utf8.DecodeRuneInString(s)
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		if len(s) == 1 {
			break
		}
		if s[1] == 'u' {
			if len(s) < 6 {
				return "", errUnicode
			}
			n, err := strconv.ParseUint(s[2:6], 16, 16)
			if err != nil {
				return "", errUnicode
			}
			units = append(units, uint16(n))
			s = s[6:]
			continue
		}
		flush()
		_, n := utf8.DecodeRuneInString(s[1:])
		c := s[1 : 1+n]
		if escaped, ok := map[string]string{"t": "\t", "n": "\n", "r": "\r", "f": "\f"}[c]; ok {
			c = escaped
		}
		b.WriteString(c)
		s = s[1+n:]
	}
	flush()
	return b.String(), nil
}
