package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The exit codes; scripts rely on them.
const (
	exitOK      = 0
	exitError   = 1
	exitFound   = 2 // the command found what it was to look for
	exitUnknown = 3 // could not know: no connection, no permission
	exitUsage   = 64
)

var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitOK, "well"},
	{exitError, "error"},
	{exitFound, "found something"},
	{exitUnknown, "could not know: no connection, no permission"},
	{exitUsage, "wrong usage"},
}

// exitCode is an error that decides the exit code; any other error is 1.
type exitCode struct {
	code int
	err  error // nil: nothing to say
}

func (e *exitCode) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitCode) Unwrap() error { return e.err }

// unknown is the error of a command that could not find out.
func unknown(err error) error { return &exitCode{exitUnknown, err} }

// usageError is a command line that means nothing. What is said with it is
// short: all of the help would push the error itself off the screen.
type usageError struct {
	text string
	help string // where to read on, in whole lines
}

func (e *usageError) Error() string { return e.text }

// report tells what went wrong and turns it into the exit code. What a command
// line or a server said may stand in an error: no control character of it
// reaches the terminal.
func report(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(stderr, "kstate: %s\n\n%s", visible(usage.text), usage.help)
		return exitUsage
	}
	code := exitError
	if e, ok := errors.AsType[*exitCode](err); ok {
		if code = e.code; e.err == nil {
			return code
		}
	}
	fmt.Fprintf(stderr, "kstate: %s\n", visible(err.Error()))
	return code
}

// visible is a text whose control characters, and whatever else has no picture,
// are written as Go's escapes; its lines stay.
func visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(text[:n])
		} else {
			quoted := strconv.Quote(text[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
	return b.String()
}
