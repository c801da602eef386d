//go:build !unix

package realkafka

import (
	"errors"
	"syscall"
)

// Without Unix process groups Require skips: nothing below is reached.
const processGroups = false

const (
	sigKill = syscall.Signal(9)
	sigTerm = syscall.Signal(15)
	sigStop = syscall.Signal(19)
	sigCont = syscall.Signal(18)
)

func ownGroup() *syscall.SysProcAttr { return nil }

func signalGroup(int, syscall.Signal) error { return errors.ErrUnsupported }

func lockFile(string) (func(), error) { return nil, errors.ErrUnsupported }
