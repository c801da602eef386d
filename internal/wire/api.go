package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// Kafka's keys that need naming.
const (
	controlledShutdownKey int16 = 7
	apiVersionsKey        int16 = 18
)

// Errors that only clients see, and that the model does not name.
const (
	errLeaderNotAvailable                 model.KafkaError = 5
	errReplicaNotAvailable                model.KafkaError = 9
	errListenerNotFound                   model.KafkaError = 72
	errUnsupportedSaslMechanism           model.KafkaError = 33
	errIllegalSaslState                   model.KafkaError = 34
	errGroupAuthorizationFailed           model.KafkaError = 30
	errTransactionalIDAuthorizationFailed model.KafkaError = 53
	errSaslAuthenticationFailed           model.KafkaError = 58
	errMismatchedEndpointType             model.KafkaError = 114
	errUnsupportedEndpointType            model.KafkaError = 115
)

// api is one kind of request that is served, in the versions min to max. Either
// local answers it here, or ask makes it a question to the controller (or
// refuses it at once), and answer makes the controller's answer a response;
// answer is false when the answer belongs to another question. local may return
// nil: then the connection ends without an answer.
type api struct {
	key, min, max int16
	relay         bool // handed on to a broker
	local         func(*call) kmsg.Response
	ask           func(*call) (model.Ask, kmsg.Response)
	answer        func(*call, model.Answer) (kmsg.Response, bool)
}

// served is the table of all requests that are served; ApiVersions tells it.
// A new kind gets a file of its own and a line here.
func served() []api {
	return []api{
		produceAPI(),
		fetchAPI(),
		metadataAPI(),
		controlledShutdownAPI(),
		listGroupsAPI(),
		saslHandshakeAPI(),
		apiVersionsAPI(),
		createTopicsAPI(),
		deleteTopicsAPI(),
		describeLogDirsAPI(),
		saslAuthenticateAPI(),
		createPartitionsAPI(),
		electLeadersAPI(),
		alterPartitionReassignmentsAPI(),
		listPartitionReassignmentsAPI(),
		alterPartitionAPI(),
		updateFeaturesAPI(),
		describeClusterAPI(),
		allocateProducerIDsAPI(),
	}
}

// local makes the api of a request that is answered here.
func local[Q kmsg.Request](min, max int16, answer func(*call, Q) kmsg.Response) api {
	var zero Q
	return api{key: zero.Key(), min: min, max: max, local: func(c *call) kmsg.Response { return answer(c, c.request.(Q)) }}
}

// asked makes the api of a request that the controller answers.
func asked[Q kmsg.Request, A model.Answer](min, max int16, ask func(*call, Q) (model.Ask, kmsg.Response), answer func(*call, Q, A) kmsg.Response) api {
	var zero Q
	return api{key: zero.Key(), min: min, max: max,
		ask: func(c *call) (model.Ask, kmsg.Response) { return ask(c, c.request.(Q)) },
		answer: func(c *call, a model.Answer) (kmsg.Response, bool) {
			typed, ok := a.(A)
			if !ok {
				return nil, false
			}
			return answer(c, c.request.(Q), typed), true
		}}
}

// refuse answers a request that is not served with UNSUPPORTED_VERSION, if its
// response in that version can say so; otherwise the connection has to go.
func refuse(c *call) (kmsg.Response, error) {
	key, version := c.request.Key(), c.request.GetVersion()
	if key == apiVersionsKey {
		return unsupportedApiVersions(), nil
	}
	if version >= 0 && version <= c.request.MaxVersion() {
		response := c.request.ResponseKind()
		silent := response.AppendTo(nil)
		if f := reflect.ValueOf(response).Elem().FieldByName("ErrorCode"); f.IsValid() && f.Kind() == reflect.Int16 {
			f.SetInt(int64(model.ErrUnsupportedVersion))
			if !bytes.Equal(response.AppendTo(nil), silent) {
				return response, nil
			}
		}
	}
	return nil, fmt.Errorf("%s version %d is not served, and there is no answer that says so", kmsg.NameForKey(key), version)
}

// byTopic groups results, which come in any order, into runs of the same topic,
// in the order in which the topics first appear.
func byTopic[E any](results []E, topic func(*E) string) [][]E {
	var out [][]E
	at := map[string]int{}
	for i := range results {
		name := topic(&results[i])
		g, ok := at[name]
		if !ok {
			g = len(out)
			at[name] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], results[i])
	}
	return out
}

// message is null for success, the text when there is one, else the error's name.
func message(e model.KafkaError, text string) *string {
	switch {
	case e == model.ErrNone:
		return nil
	case text == "":
		text = e.String()
	}
	return &text
}

// distinct sorts partitions and drops repetitions. asked: the list was there, so
// that an empty one does not come to mean all.
func distinct(list []model.TopicPartition, asked bool) []model.TopicPartition {
	slices.SortFunc(list, model.TopicPartition.Compare)
	list = slices.Compact(list)
	if list == nil && asked {
		list = []model.TopicPartition{}
	}
	return list
}
