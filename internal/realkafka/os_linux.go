package realkafka

import "syscall"

// ownGroup puts a process into a group of its own, so that it can be signalled
// with all its children, and lets the kernel kill it when the thread that
// started it ends: with the test binary, however that dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
