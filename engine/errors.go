package engine

import (
	"errors"
	"fmt"

	"kstate/model"
)

// errControllerMoved: another controller was elected; a fence failed.
// Kafka: ControllerMovedException.
var errControllerMoved = errors.New("controller moved to another broker")

// keeperError is a result code of ZooKeeper that the caller did not expect.
type keeperError struct {
	code  model.Code
	doing string
}

func (e *keeperError) Error() string {
	return fmt.Sprintf("%s: ZooKeeper answered %s", e.doing, e.code)
}

// keeperCode is the ZooKeeper code in err; CodeOK when there is none.
func keeperCode(err error) model.Code {
	var k *keeperError
	if errors.As(err, &k) {
		return k.code
	}
	return model.CodeOK
}

// stateChangeFailed: a transition failed for one partition.
// Kafka: StateChangeFailedException.
type stateChangeFailed struct{ why string }

func (e *stateChangeFailed) Error() string { return e.why }

func failedf(format string, args ...any) error {
	return &stateChangeFailed{fmt.Sprintf(format, args...)}
}

// illegalState: the controller's own state contradicts what it is about to do.
// Kafka: IllegalStateException.
type illegalState struct{ why string }

func (e *illegalState) Error() string { return "illegal state: " + e.why }

func illegalf(format string, args ...any) error {
	return &illegalState{fmt.Sprintf(format, args...)}
}

// stateMissing is the illegal state that the leader epoch is to be raised in a
// state znode that is not there.
type stateMissing struct{ tp model.TopicPartition }

func (e *stateMissing) Error() string { return e.Unwrap().Error() }

func (e *stateMissing) Unwrap() error {
	return illegalf("cannot update leader epoch for partition %s as leaderAndIsr path is empty", e.tp)
}

// illegalArgument: a caller inside the controller passed something impossible.
type illegalArgument struct{ why string }

func (e *illegalArgument) Error() string { return "illegal argument: " + e.why }

// missingValue: a value was taken for granted and is not there; in Kafka a
// NoSuchElementException.
type missingValue struct{ what string }

func (e *missingValue) Error() string { return e.what + " is not known" }

// outOfBounds: a name is too short to be cut as Kafka cuts it; there a
// StringIndexOutOfBoundsException.
type outOfBounds struct{ path string }

func (e *outOfBounds) Error() string { return e.path + ": the name is too short for a notification" }

// kafkaErrorOf is the protocol error that a failure is answered with.
// Kafka: ApiError.fromThrowable.
func kafkaErrorOf(err error) model.KafkaError {
	var ke *kafkaFailure
	switch {
	case err == nil:
		return model.ErrNone
	case errors.Is(err, errControllerMoved):
		return model.ErrStaleControllerEpoch
	case errors.As(err, &ke):
		return ke.code
	}
	return model.ErrUnknownServerError
}

// kafkaFailure is a failure that has an error code of its own.
type kafkaFailure struct {
	code model.KafkaError
	why  string
}

func (e *kafkaFailure) Error() string { return e.code.String() + ": " + e.why }

func moved(err error) bool { return errors.Is(err, errControllerMoved) }

func isIllegalState(err error) bool {
	var i *illegalState
	return errors.As(err, &i)
}
