package main

import (
	"errors"
	"fmt"
	"io"
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

// usageError is a command line that means nothing; help is shown with it.
type usageError struct {
	text string
	help string
}

func (e *usageError) Error() string { return e.text }

// report tells what went wrong and turns it into the exit code.
func report(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(stderr, "kstate: %s\n\n%s", usage.text, usage.help)
		return exitUsage
	}
	code := exitError
	if e, ok := errors.AsType[*exitCode](err); ok {
		if code = e.code; e.err == nil {
			return code
		}
	}
	fmt.Fprintf(stderr, "kstate: %v\n", err)
	return code
}
