package zkwatch

import (
	"context"
	"errors"
	"time"

	"kstate/model"
)

// Phase is where a Conn stands.
type Phase uint8

// Connecting: no session was ever there. Connected: requests are answered.
// Disconnected: the session may live on, a server is being looked for. Expired:
// the session is over and the next one has not been opened. AuthFailed: the
// server refuses the credentials. Closed: Close was called.
const (
	Connecting Phase = iota
	Connected
	Disconnected
	Expired
	AuthFailed
	Closed
)

var phaseNames = [...]string{"connecting", "connected", "disconnected", "expired", "auth failed", "closed"}

// String is one or two words.
func (p Phase) String() string { return phaseNames[p] }

// State is where a Conn stands, since when, and why.
type State struct {
	Phase     Phase
	Since     time.Time
	Server    string        // host:port, the last one dialled
	SessionID int64         // 0: none
	Timeout   time.Duration // as granted by the server
	MultiRead bool          // the server has multiRead and addWatch (ZooKeeper 3.6)
	Err       error         // why it is not Connected, or what broke last
}

// Conn is a connection to a ZooKeeper ensemble: one session at a time, renewed
// after its end. Its methods may be called from any goroutine but not from the
// callbacks in Options.
type Conn struct {
	opt     Options
	address Address
}

// Dial opens a session. It fails when the options are wrong, the server refuses
// the credentials, or ctx ends first; the error then says what was last tried
// and what came back. Without a deadline in ctx it tries for the session timeout.
func Dial(ctx context.Context, opt Options) (*Conn, error) {
	address, err := opt.check()
	if err != nil {
		return nil, err
	}
	_ = address
	return nil, errors.New("not yet")
}

// Do performs a call and waits for all of its results; see model.Call. The ops
// go out in their order and are answered per op. A request whose answer a broken
// connection took away is sent again when the session has a connection again, as
// often as it takes; when the session has ended instead, its result is
// SESSIONEXPIRED, and nothing of it is sent in the next session. What the gate
// refuses has the result READONLYMODE and is not sent.
func (c *Conn) Do(call *model.Call) model.Result {
	return model.Result{Code: model.CodeConnectionLoss}
}

// Proceed lets the Conn open the next session after a SessionExpired input. It
// does nothing at other times.
func (c *Conn) Proceed() {}

// State tells where the connection stands.
func (c *Conn) State() State { return State{} }

// Address is where the connection goes.
func (c *Conn) Address() Address { return c.address }

// Close ends the session and everything that waits on the Conn.
func (c *Conn) Close() {}
