package tidy

// rule says what the non-test files of a package may import beside the
// standard library. Test files may import what they like.
type rule struct {
	own      []string // packages of this module, by path in it
	modules  []string // modules, or packages of one; what lies below counts too
	anything bool
}

const (
	kmsg      = "github.com/twmb/franz-go/pkg/kmsg"
	zookeeper = "github.com/go-zookeeper/zk"
)

// packages is the table of ARCHITECTURE.md. A package may be listed before it
// exists.
var packages = map[string]rule{
	"model":   {},
	"engine":  {own: []string{"model"}},
	"zkwatch": {own: []string{"model"}, modules: []string{zookeeper}},
	"ui": {own: []string{"model"}, modules: []string{
		"charm.land/bubbletea/v2", "charm.land/bubbles/v2", "charm.land/lipgloss/v2",
		"github.com/alecthomas/chroma/v2",
		"github.com/charmbracelet/x/ansi", "github.com/charmbracelet/colorprofile", // what lipgloss itself measures and colours with
		"golang.org/x/sys/unix", // dup2, to keep other output off the screen
	}},
	"cmd/kstate": {anything: true},

	"internal/debugger": {own: []string{"model", "engine", "internal/journal"}},
	"internal/journal":  {own: []string{"model"}, modules: []string{"github.com/klauspost/compress"}},
	"internal/security": {own: []string{"model"}},
	"internal/acl":      {},
	"internal/configs":  {own: []string{"model", "engine", "internal/handshake", "internal/security"}},

	"internal/handshake":          {own: []string{"internal/security"}, modules: []string{kmsg, "github.com/twmb/franz-go/pkg/sasl"}},
	"internal/handshake/testcert": {}, // only for tests
	"internal/tree":               {own: []string{"model"}},
	"internal/explain":            {own: []string{"model", "engine", "internal/tree"}},
	"internal/wire":               {own: []string{"model", "internal/security", "internal/handshake", "internal/acl", "internal/configs"}, modules: []string{kmsg}},
	"internal/observe":            {own: []string{"model", "zkwatch", "internal/tree", "internal/explain", "internal/shadow"}},
	"internal/shadow":             {own: []string{"model", "engine"}},
	"internal/admin":              {own: []string{"model", "engine", "zkwatch", "internal/tree", "internal/observe"}},
	"internal/adminclient": {own: []string{"model", "internal/security", "internal/handshake"}, modules: []string{kmsg,
		"github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/kversion"}},
	"internal/inquiry": {own: []string{"model", "engine", "internal/standin", "internal/tree", "internal/lab/zkserver"}},
	"internal/live":    {own: []string{"model", "zkwatch", "internal/wire", "internal/security", "internal/handshake", "internal/acl", "internal/configs"}},
	"internal/standin": {own: []string{"model", "internal/lab/zkserver"}},

	// The opponents must not share the controller's mistakes: only what runs
	// them against it (sim, script) knows it.
	"internal/lab":          {own: []string{"model", "internal/lab/zkserver", "internal/lab/broker"}, modules: []string{kmsg}},
	"internal/lab/zkserver": {own: []string{"model"}},
	"internal/lab/broker":   {own: []string{"model"}, modules: []string{kmsg, zookeeper}},
	"internal/lab/sim": {own: []string{"model", "engine", "internal/debugger", "internal/journal", "internal/standin", "internal/wire",
		"internal/lab", "internal/lab/zkserver", "internal/lab/broker"}, modules: []string{kmsg}},
	"internal/lab/script": {own: []string{"model"}},

	// Support of the tests.
	"internal/realkafka": {modules: []string{zookeeper, "github.com/twmb/franz-go/pkg"}},
	"internal/cireport":  {},
	"internal/tidy":      {},
}

// engineBans are the standard packages that would give the engine a clock, a
// random source, the network, the machine or another goroutine. The engine
// takes durations, so time itself is allowed, but see clock.
var engineBans = []string{"net", "os", "math/rand", "crypto/rand", "sync", "syscall", "io/ioutil", "log", "testing", "unsafe"}

// clock are the names of package time that read or wait for the clock.
var clock = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true}

// recovers are the files outside the engine that may call recover, each with
// its reason.
var recovers = map[string]string{
	"internal/lab/zkserver/conn.go": "a panic in one connection's request must not take the server's other clients with it",
}
