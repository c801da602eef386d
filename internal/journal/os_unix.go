//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps a second kstate from writing the same file; it ends with the file.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another kstate writes it; name another file with --journal")
	}
	return err
}

// syncDir has the disk itself hold the names in a directory.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) { // some file systems cannot
		return err
	}
	return nil
}

func processID() int { return os.Getpid() }
