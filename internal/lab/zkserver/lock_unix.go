//go:build unix

package zkserver

import (
	"os"
	"syscall"
)

// lockFile makes sure that no other process appends to the same log. The
// kernel drops the lock with the process.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
