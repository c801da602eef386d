package broker

import (
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kind says what happened.
type Kind string

const (
	Started            Kind = "started"             // registered and serving
	Killed             Kind = "killed"              // by Kill, a crash rule, or the failure of the last log directory
	Stopped            Kind = "stopped"             // by Stop; Err says why it was not controlled
	Registered         Kind = "registered"          // in ZooKeeper, with Epoch; at the start and after each expiry
	RegistrationFailed Kind = "registration-failed" // Err; after an expiry the broker stays unregistered until the next, at a start it may wait
	SessionOpened      Kind = "session-opened"      // a new ZooKeeper session
	SessionExpired     Kind = "session-expired"     // ZooKeeper has ended the session
	Received           Kind = "received"            // Request came in
	Answered           Kind = "answered"            // Response to Request went out
	Unanswered         Kind = "unanswered"          // Request will get no answer
	BadFrame           Kind = "bad-frame"           // Err; the connection is closed
	Sent               Kind = "sent"                // Request went to the controller
	Returned           Kind = "returned"            // Response to Request came, or Err
	ISRWritten         Kind = "isr-written"         // the ISR of Partition, by znode; Err if refused
	ISRAnnounced       Kind = "isr-announced"       // a notification of ISR changes was written
	DirFailed          Kind = "dir-failed"          // log directory Dir
	DirAnnounced       Kind = "dir-announced"       // the notification of a failed directory was written, or Err
)

// Event is one thing that happened to a broker. Requests and responses are
// shared: do not change them.
type Event struct {
	At          time.Time
	Broker      int32
	Kind        Kind
	Request     kmsg.Request
	Response    kmsg.Response
	ClientID    string // of a request that came in
	Correlation int32
	Epoch       int64 // Registered
	Partition   model.TopicPartition
	Dir         string
	Err         error
}

type countKey struct {
	kind Kind
	api  int16
}

// note counts an event and hands it to the observer. The lock is held.
func (b *Broker) note(e Event) {
	e.At, e.Broker = b.c.clock.Now(), b.id
	b.counts[countKey{e.Kind, AnyAPI}]++
	if e.Request != nil {
		b.counts[countKey{e.Kind, e.Request.Key()}]++
	}
	if b.c.cfg.Observe != nil {
		b.c.events = append(b.c.events, e)
	}
}

// Count is how often that happened since the broker was added, for requests of
// one API or AnyAPI.
func (b *Broker) Count(kind Kind, api int16) (n int) {
	b.c.look(func() { n = b.counts[countKey{kind, api}] })
	return n
}
