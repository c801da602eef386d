package broker

import (
	"fmt"
	"time"

	"kstate/model"
)

// Settings of one broker. The zero value of a field means the default named
// with it, which is Kafka's own unless said otherwise.
type Settings struct {
	// InterBrokerProtocol decides how the broker registers, changes the ISR and
	// shuts down. Default: model.LatestIBP.
	InterBrokerProtocol model.InterBrokerProtocol
	// Release is the version of the broker's code: it decides which request
	// versions it takes. Default: 3.9, whatever the protocol.
	Release model.InterBrokerProtocol

	Host     string   // address to listen on and to register; default 127.0.0.1
	Port     int32    // default: any; a restart tries the port that it had
	Listener string   // name of the one listener; default PLAINTEXT
	Aliases  []string // further names under which it is registered
	Rack     string   // default: none
	LogDirs  int      // number of log directories; default 1

	SessionTimeout time.Duration // zookeeper.session.timeout.ms; default 18s
	// AwaitOldRegistration: at a start, wait for a registration that an earlier
	// session left behind to go, instead of failing as Kafka does. (A supervisor
	// that restarts a failing Kafka comes to the same.) Default: fail.
	AwaitOldRegistration bool

	CatchUp         time.Duration // until a follower outside the ISR has everything; default 0: at once
	CatchUpJitter   time.Duration // up to so much more, drawn from Config.Rand; default none
	FetchInterval   time.Duration // between fetches of an idle follower (replica.fetch.wait.max.ms); default 500ms
	ReplicaLagTime  time.Duration // replica.lag.time.max.ms; default 30s
	FileDeleteDelay time.Duration // file.delete.delay.ms; default 60s

	// Announcing ISR changes in ZooKeeper (InterBrokerProtocol below 2.7-IV2):
	// looked at every ISRCheck (2.5s), sent when the last change is ISRLinger
	// (5s) old or the last announcement ISRMaxDelay (60s).
	ISRCheck, ISRLinger, ISRMaxDelay time.Duration

	NoControlledShutdown      bool          // controlled.shutdown.enable=false
	ControlledShutdownRetries int           // controlled.shutdown.max.retries; default 3
	ControlledShutdownBackoff time.Duration // controlled.shutdown.retry.backoff.ms; default 5s
	ControllerSocketTimeout   time.Duration // controller.socket.timeout.ms; default 30s
}

func (s Settings) withDefaults() (Settings, error) {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&s.SessionTimeout, 18*time.Second)
	set(&s.FetchInterval, 500*time.Millisecond)
	set(&s.ReplicaLagTime, 30*time.Second)
	set(&s.FileDeleteDelay, time.Minute)
	set(&s.ISRCheck, 2500*time.Millisecond)
	set(&s.ISRLinger, 5*time.Second)
	set(&s.ISRMaxDelay, time.Minute)
	set(&s.ControlledShutdownBackoff, 5*time.Second)
	set(&s.ControllerSocketTimeout, 30*time.Second)
	if s.InterBrokerProtocol == model.NoIBP {
		s.InterBrokerProtocol = model.LatestIBP
	}
	if s.Release == model.NoIBP {
		s.Release = model.IBP_3_9_IV0
	}
	if s.Host == "" {
		s.Host = "127.0.0.1"
	}
	if s.Listener == "" {
		s.Listener = "PLAINTEXT"
	}
	if s.LogDirs == 0 {
		s.LogDirs = 1
	}
	if s.ControlledShutdownRetries == 0 {
		s.ControlledShutdownRetries = 3
	}
	for name, d := range map[string]time.Duration{"SessionTimeout": s.SessionTimeout, "CatchUp": s.CatchUp, "CatchUpJitter": s.CatchUpJitter,
		"FetchInterval": s.FetchInterval, "ReplicaLagTime": s.ReplicaLagTime, "FileDeleteDelay": s.FileDeleteDelay} {
		if d < 0 {
			return s, fmt.Errorf("setting %s is negative: %s", name, d)
		}
	}
	switch {
	case s.LogDirs < 0:
		return s, fmt.Errorf("setting LogDirs is negative: %d", s.LogDirs)
	case s.Release < s.InterBrokerProtocol:
		return s, fmt.Errorf("release %s can't speak inter-broker protocol %s", s.Release.Release(), s.InterBrokerProtocol)
	}
	return s, nil
}
