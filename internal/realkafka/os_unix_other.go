//go:build unix && !linux

package realkafka

import "syscall"

// ownGroup puts a process into a group of its own, so that it can be signalled
// with all its children. Nothing kills it if the test binary is killed.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
