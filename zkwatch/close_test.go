package zkwatch

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"kstate/model"
)

// Close ends in time whatever calls are being written at that moment.
func TestCloseWhileCallsAreWritten(t *testing.T) {
	l := newLab(t)
	for range 40 {
		c := l.connect(Options{Gate: ReadOnly()})
		var callers sync.WaitGroup
		started := make(chan struct{}, 4)
		for range 4 {
			callers.Go(func() {
				for n := 0; ; n++ {
					r := c.Do(&model.Call{Ops: []model.Op{{Kind: model.OpGet, Path: "/zookeeper"}}})
					if n == 3 {
						started <- struct{}{}
					}
					if r.Code != model.CodeOK || r.Ops[0].Code != model.CodeOK {
						return
					}
				}
			})
		}
		for range 4 {
			<-started
		}
		closed := make(chan struct{})
		go func() {
			c.Close()
			callers.Wait()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(limit):
			buf := make([]byte, 1<<18)
			t.Fatalf("Close does not end:\n%s", buf[:runtime.Stack(buf, true)])
		}
	}
}
