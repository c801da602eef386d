//go:build !unix

package zkserver

import "os"

// lockFile does nothing where there is no flock: the caller must see to it that
// only one process uses a data directory.
func lockFile(*os.File) error { return nil }
