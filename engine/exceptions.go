package engine

import (
	"errors"
	"fmt"
	"strings"

	"kstate/model"
)

// noEndpoint: a broker cannot be reached by the inter-broker listener.
// Kafka: BrokerEndPointNotAvailableException.
type noEndpoint struct {
	broker   int32
	listener string
}

func (e *noEndpoint) Error() string {
	return fmt.Sprintf("broker %d has no endpoint for listener %s", e.broker, e.listener)
}

// TakeoverError is why this process, having won the role, could not take it
// over the last time; nil when it could. In Kafka the role then goes to the next
// broker, which fails alike.
func (e *Engine) TakeoverError() error { return e.takeoverErr }

// ExceptionClass is the simple name of the exception that Kafka's controller
// throws for an error of this package; empty for nil.
func ExceptionClass(err error) string {
	var (
		keeper  *keeperError
		failed  *stateChangeFailed
		illegal *illegalState
		bad     *illegalArgument
		missing *missingValue
		decode  *model.DecodeError
		address *noEndpoint
		kafka   *kafkaFailure
		short   *outOfBounds
	)
	switch {
	case err == nil:
		return ""
	case moved(err):
		return "ControllerMovedException"
	case errors.As(err, &illegal):
		return "IllegalStateException"
	case errors.As(err, &bad):
		return "IllegalArgumentException"
	case errors.As(err, &missing):
		return "NoSuchElementException"
	case errors.As(err, &failed):
		return "StateChangeFailedException"
	case errors.As(err, &address):
		return "BrokerEndPointNotAvailableException"
	case errors.As(err, &decode):
		return decodeException(decode)
	case errors.As(err, &short):
		return "StringIndexOutOfBoundsException"
	case errors.As(err, &keeper):
		return keeperException(keeper.code)
	case errors.As(err, &kafka):
		return "ApiException"
	}
	return "KafkaException"
}

// keeperExceptions are ZooKeeper's own names, without their ending.
var keeperExceptions = map[model.Code]string{model.CodeNoNode: "NoNode", model.CodeNoAuth: "NoAuth", model.CodeBadVersion: "BadVersion",
	model.CodeNodeExists: "NodeExists", model.CodeNotEmpty: "NotEmpty", model.CodeSessionExpired: "SessionExpired",
	model.CodeConnectionLoss: "ConnectionLoss", model.CodeAuthFailed: "AuthFailed", model.CodeInvalidACL: "InvalidACL",
	model.CodeQuotaExceeded: "QuotaExceeded", model.CodeNoChildrenForEphemerals: "NoChildrenForEphemerals"}

func keeperException(c model.Code) string {
	if name, ok := keeperExceptions[c]; ok {
		return name + "Exception"
	}
	return "KeeperException"
}

// decodeException is what Kafka's reader of that znode throws.
func decodeException(e *model.DecodeError) string {
	switch kind := model.ParsePath(e.Path).Kind; {
	case kind == model.BrokerZnode && brokerException(e) != "":
		return brokerException(e)
	case kind == model.ControllerEpochZnode && e.Category == model.NullPayload:
		return "NullPointerException"
	case kind == model.ReassignPartitionsZnode && e.Field != "" && !strings.Contains(e.Field, ".replicas["), kind == model.ReassignPartitionsZnode && e.Category == model.NotObject:
		return "NullPointerException" // what is null or missing is bound as null
	case kind == model.FeatureZnode && e.Category == model.NullPayload:
		return "NoSuchElementException"
	case kind == model.FeatureZnode && (e.Category == model.NotJSON || e.Category == model.UnsupportedVersion || e.Category == model.MissingField && e.Field != "version"):
		return "IllegalArgumentException"
	}
	switch e.Category {
	case model.NullPayload, model.InvalidValue:
		return "IllegalArgumentException"
	case model.NotANumber:
		return "NumberFormatException"
	case model.OutOfRange:
		if e.Field == "" {
			return "NumberFormatException"
		}
	}
	return "JsonMappingException"
}

// brokerException is what the reader of registrations throws where it is not what
// the others throw for that category. Kafka: BrokerIdZNode.decode,
// SocketServerConfigs.listenerListToEndPoints, BaseVersionRange.
func brokerException(e *model.DecodeError) string {
	switch inEndpoints := e.Field == "endpoints"; {
	case e.Category == model.NotJSON, e.Category == model.UnsupportedVersion, inEndpoints && e.Reason == model.NoEndpoint:
		return "KafkaException"
	case inEndpoints && e.Reason == model.BlankListener:
		return "ConfigException"
	case inEndpoints && e.Category == model.OutOfRange:
		return "NumberFormatException"
	case e.Category == model.MissingField && strings.HasPrefix(e.Field, "features."):
		return "IllegalArgumentException"
	}
	return ""
}
