package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Fault is an interference that waits for its moment: when what Match says is
// about to happen for the n-th time, Effect comes over it. It is data, so that a
// script, a key and a simulation can say the same.
type Fault struct {
	Match  FaultMatch
	Effect FaultEffect
}

// FaultPoint is where a fault waits.
type FaultPoint uint8

const (
	AtOp     FaultPoint = iota + 1 // an operation on ZooKeeper
	AtSend                         // a request about to be queued for a broker
	AtAnswer                       // a broker's answer to a request, before the controller has it
	AtStep                         // any step, by the line that it has in a transcript
)

// OpMatch says which operations on ZooKeeper a fault is about.
type OpMatch string

const (
	AnyRead  OpMatch = "read"
	AnyWrite OpMatch = "write"
	GetOp    OpMatch = "get"
	ExistsOp OpMatch = "exists"
	ListOp   OpMatch = "children"
	CreateOp OpMatch = "create"
	SetOp    OpMatch = "set"
	DeleteOp OpMatch = "delete"
)

const everyTime = "every" // in a fault's text

// OpMatches lists the words of OpMatch.
var OpMatches = []OpMatch{AnyWrite, AnyRead, GetOp, ExistsOp, ListOp, CreateOp, SetOp, DeleteOp}

// Has tells whether an operation is one of those.
func (m OpMatch) Has(k OpKind) bool {
	switch m {
	case AnyRead:
		return k < OpCreate
	case AnyWrite:
		return k.Writes()
	}
	return string(m) == k.String()
}

// EveryTime in FaultMatch.Nth: each match is hit.
const EveryTime = -1

// AnyBroker in FaultMatch.Broker.
const AnyBroker int32 = -1

// FaultMatch says what a fault waits for.
type FaultMatch struct {
	At      FaultPoint
	Op      OpMatch     // AtOp
	Path    Pattern     // AtOp
	Broker  int32       // AtSend, AtAnswer: AnyBroker is any
	Request RequestKind // AtSend, AtAnswer: 0 is any
	Text    Pattern     // AtStep: found in the step's line
	Nth     int         // which match is hit, from 1; EveryTime: all of them
}

// EffectKind is what a fault does.
type EffectKind uint8

const (
	AnswerCode     EffectKind = iota + 1 // AtOp: ZooKeeper answers Code, and the operation is not done
	FenceFails                           // AtOp: the check of /controller_epoch fails, as after another controller came
	LeavesDirty                          // AtOp: as FenceFails, at a write amid a batch that holds unsent requests: they stay in it
	LostBefore                           // AtOp: the connection breaks before ZooKeeper gets it; it is sent again
	LostAfter                            // AtOp: the connection breaks after it was done, before the answer; it is sent again
	ExpiresSession                       // AtOp: the session ends just before it
	DropAnswer                           // AtAnswer: the connection breaks instead of the answer; the request is sent again
	DelayAnswer                          // AtAnswer: it comes Millis later, and what is queued behind it, too
	HoldAnswer                           // AtAnswer: it waits for ReleaseAnswers, and what is queued behind it, too
	ErrorAnswer                          // AtAnswer: it says Error, for each partition where it has partitions
	DoFirst                              // any point: Do is carried out first
)

// FaultEffect is what comes over the match.
type FaultEffect struct {
	Kind   EffectKind
	Code   Code
	Error  KafkaError
	Millis int64
	Do     Command // one that CanBeFault
}

// FaultCodes are the codes that a fault may answer with; SESSIONEXPIRED is a
// fault of its own, for it is no answer to a single operation.
var FaultCodes = []Code{CodeNoNode, CodeNodeExists, CodeBadVersion, CodeNotEmpty, CodeNoAuth}

// CanBeFault tells whether a command may be a fault's: those that are done at
// once, without the controller, which is held meanwhile.
func CanBeFault(c Command) bool {
	switch c.(type) {
	case KillBroker, FailLogDir, CutBroker, HealBroker, SetConduct, ExpireSession, WriteZnode, RivalTakesOver, RivalLeaves, MoveController, DeleteTopic:
		return true
	}
	return false
}

// Check says what is wrong with a fault; nil when it can be.
func (f *Fault) Check() error {
	m, e := &f.Match, &f.Effect
	if m.Nth == 0 || m.Nth < EveryTime {
		return fmt.Errorf("the match that is hit is counted from 1, not %d", m.Nth)
	}
	at := map[EffectKind]FaultPoint{AnswerCode: AtOp, FenceFails: AtOp, LeavesDirty: AtOp, LostBefore: AtOp, LostAfter: AtOp, ExpiresSession: AtOp,
		DropAnswer: AtAnswer, DelayAnswer: AtAnswer, HoldAnswer: AtAnswer, ErrorAnswer: AtAnswer}
	switch {
	case e.Kind == DoFirst && (e.Do == nil || !CanBeFault(e.Do)):
		return fmt.Errorf("%s cannot be done while a step is held", CommandText(e.Do))
	case e.Kind == DoFirst:
		return nil
	case at[e.Kind] == 0:
		return fmt.Errorf("there is no effect %d", e.Kind)
	case at[e.Kind] != m.At:
		return fmt.Errorf("%q cannot come over that", e.String())
	case (e.Kind == FenceFails || e.Kind == LeavesDirty) && (m.Op == AnyRead || m.Op == GetOp || m.Op == ExistsOp || m.Op == ListOp):
		return fmt.Errorf("reads are not fenced")
	case e.Kind == DelayAnswer && e.Millis <= 0:
		return fmt.Errorf("a delay takes more than %d ms", e.Millis)
	case e.Kind == LostBefore || e.Kind == LostAfter:
		if m.Nth == EveryTime {
			return fmt.Errorf("what is lost every time never ends")
		}
	case e.Kind == DropAnswer && m.Nth == EveryTime:
		return fmt.Errorf("what is dropped every time never ends")
	}
	return nil
}

// Hits tells whether the n-th match, from 1, is hit.
func (m *FaultMatch) Hits(n int) bool { return m.Nth == EveryTime || m.Nth == n }

// Spent tells whether no match after the n-th is hit.
func (m *FaultMatch) Spent(n int) bool { return m.Nth != EveryTime && n >= m.Nth }

// OpIs tells whether an operation is one that it waits for. A fence can only fail
// where there is one; unsent: a batch holds requests that are not sent yet.
func (f *Fault) OpIs(c *Call, op *Op, unsent bool) bool {
	if f.Match.At != AtOp || !f.Match.Op.Has(op.Kind) || !f.Match.Path.Is(op.Path) {
		return false
	}
	switch f.Effect.Kind {
	case FenceFails:
		unsent = true // it does not matter
	case LeavesDirty:
	default:
		return true
	}
	return unsent && c.Fenced && !c.Atomic && op.Kind.Writes()
}

// AnswerIs tells whether an answer is one that it waits for.
func (m *FaultMatch) AnswerIs(broker int32, k RequestKind) bool {
	return m.At == AtAnswer && (m.Broker == AnyBroker || m.Broker == broker) && (m.Request == 0 || m.Request == k)
}

// StepIs tells whether a step is one that it waits for, as AtSend or AtStep.
func (m *FaultMatch) StepIs(s Step) bool {
	switch m.At {
	case AtSend:
		send, ok := s.(*Send)
		return ok && (m.Broker == AnyBroker || m.Broker == send.Broker) && (m.Request == 0 || m.Request == send.Request.Kind())
	case AtStep:
		return m.Text.In(s.String())
	}
	return false
}

// String is the fault as a scenario has it: what is matched, then the effect.
func (f *Fault) String() string { return f.Match.String() + " " + f.Effect.String() }

// String is how a scenario says it: 2nd write /brokers/topics/* .
func (m *FaultMatch) String() string {
	what := ""
	broker := "any broker"
	if m.Broker != AnyBroker {
		broker = "broker " + itoa(m.Broker)
	}
	request := "request"
	if m.Request != 0 {
		request = m.Request.String()
	}
	switch m.At {
	case AtOp:
		what = string(m.Op) + " " + QuoteWord(string(m.Path))
	case AtSend:
		what = request + " to " + broker
	case AtAnswer:
		what = request + " answered by " + broker
	case AtStep:
		what = "step " + strconv.Quote(string(m.Text))
	}
	switch m.Nth {
	case 1:
		return what
	case EveryTime:
		return everyTime + " " + what
	}
	return Ordinal(m.Nth) + " " + what
}

// String is how a scenario says it: answers BADVERSION, lost after, ...
func (e *FaultEffect) String() string {
	switch e.Kind {
	case AnswerCode:
		return "answers " + e.Code.String()
	case FenceFails:
		return "fence fails"
	case LeavesDirty:
		return "leaves batch dirty"
	case LostBefore:
		return "lost before"
	case LostAfter:
		return "lost after"
	case ExpiresSession:
		return "session expires"
	case DropAnswer:
		return "dropped"
	case DelayAnswer:
		return fmt.Sprintf("delayed %dms", e.Millis)
	case HoldAnswer:
		return "held"
	case ErrorAnswer:
		return "error " + e.Error.String()
	case DoFirst:
		return "do " + CommandText(e.Do)
	}
	return "no effect"
}

// Ordinal is 1st, 2nd, 3rd, 4th, ...
func Ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// QuoteWord is a text as one word of a scenario: as it is, or in quotes.
func QuoteWord(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"#\\") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}

// ArmedFault is a fault that was injected. Seen counts the matches, Hit those
// that it came over. A spent one stays until it is cleared.
type ArmedFault struct {
	ID    uint64
	Fault Fault
	Seen  int
	Hit   int
	Spent bool
}

// HeldAnswer is a broker's answer that a fault holds back.
type HeldAnswer struct {
	Broker  int32
	Request string
	Since   int64 // ms since 1970
}
