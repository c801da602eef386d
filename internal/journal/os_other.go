//go:build !unix

package journal

import "os"

// lock: there is none here.
func lock(*os.File) error { return nil }

// syncDir: a directory cannot be synced here.
func syncDir(string) error { return nil }

func processID() int { return os.Getpid() }
