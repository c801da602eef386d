package zkserver

import "time"

// Request is what an Intercept hook is asked about: any request of a client
// but ping, and Apply and Multi in process.
type Request struct {
	Session int64
	Peer    string // the connection's remote address or Dial name; empty in process
	Op      OpCode
	Paths   []string // what a read, or each op of a multiRead, asks for
	Ops     []Op     // the write, or each op of a multi
}

// Cut says when a request costs its connection.
type Cut uint8

// The moments of a cut.
const (
	NoCut     Cut = iota
	CutBefore     // before it is done: the client does not know, nothing happened
	CutAfter      // after it is done: the client does not know, it happened
)

// Verdict is what shall become of a request. The zero Verdict lets it pass.
// Delay and Hold come first and hold back later requests of the same
// connection too; the session does not expire meanwhile. In process they are
// ignored, and a reply that is cut or dropped becomes ConnectionLoss.
type Verdict struct {
	Code      Code            // answer this instead of doing it
	At        int             // the op of a multi that fails with Code
	Cut       Cut             // close the connection, without a reply
	DropReply bool            // do it and never answer
	Delay     time.Duration   // wait that long first
	Hold      <-chan struct{} // wait until this is closed first
}

func (s *Store) intercept(r Request) Verdict {
	if s.opt.Intercept == nil {
		return Verdict{}
	}
	return s.opt.Intercept(r)
}
