package realkafka

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// properties renders settings as a Java properties file, in order of key.
func properties(conf map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		fmt.Fprintf(&b, "%s=%s\n", k, strings.ReplaceAll(conf[k], `\`, `\\`))
	}
	return b.String()
}

// Ports keep their number while a broker is dead, so they are taken from below
// the range that the kernel draws the ports of outgoing connections from: there
// a client that dials the dead broker could be given its port.
const (
	lowestPort  = 15000
	portRange   = "/proc/sys/net/ipv4/ip_local_port_range"
	defaultTop  = 32768
	portsToTry  = 200
	smallestGap = 1000
)

var ports = struct {
	sync.Mutex
	given map[int]bool
}{given: map[int]bool{}}

// freePort returns a loopback port that nothing listens on and that this
// process has not given out before.
func freePort(t testing.TB) int {
	t.Helper()
	top := defaultTop
	if data, err := os.ReadFile(portRange); err == nil {
		var low int
		if _, err := fmt.Sscan(string(data), &low); err == nil && low > lowestPort+smallestGap {
			top = low
		}
	}
	ports.Lock()
	defer ports.Unlock()
	var last error
	for range portsToTry {
		port := lowestPort + rand.IntN(top-lowestPort)
		if ports.given[port] {
			continue
		}
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			last = err
			continue
		}
		l.Close()
		ports.given[port] = true
		return port
	}
	t.Fatalf("find a free loopback port: %d tries, the last: %v", portsToTry, last)
	return 0
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
