//go:build !unix

package ui

import (
	"io"
	"log"
	"os"
)

// notifyHangup does nothing: there is no such signal here.
func notifyHangup(chan<- os.Signal) {}

// guardOutput holds back what the standard logger writes; file descriptors
// cannot be redirected here.
func guardOutput(show chan<- string) (*guard, error) {
	g := &guard{terminal: os.Stdout, stderr: os.Stderr, done: make(chan struct{})}
	r, w := io.Pipe()
	log.SetOutput(w)
	g.restore = func() error {
		log.SetOutput(os.Stderr)
		return w.Close()
	}
	go g.take(r, show)
	return g, nil
}
