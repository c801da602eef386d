package wire

import (
	"maps"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// Kafka: ApiVersionsRequest.isValid.
var clientSoftware = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// apiVersionsAPI tells exactly what is served, and what brokers take that is
// handed on to them. Features are left out: the epoch
// -1 says that they are not known.
func apiVersionsAPI() api {
	return local(0, 4, func(c *call, q *kmsg.ApiVersionsRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.ApiVersionsResponse)
		if q.Version >= 3 && !(clientSoftware.MatchString(q.ClientSoftwareName) && clientSoftware.MatchString(q.ClientSoftwareVersion)) {
			out.ErrorCode = int16(model.ErrInvalidRequest)
			return out
		}
		apis := c.conn.server.relays()
		maps.Copy(apis, c.conn.server.apis)
		for _, key := range slices.Sorted(maps.Keys(apis)) {
			out.ApiKeys = append(out.ApiKeys, apiVersion(apis[key]))
		}
		return out
	})
}

// unsupportedApiVersions answers an ApiVersions of a version that is not served:
// in version 0, which any client reads, with the versions that it may use.
// Kafka: ApiVersionsRequest.getErrorResponse.
func unsupportedApiVersions() kmsg.Response {
	out := kmsg.NewPtrApiVersionsResponse()
	out.ErrorCode = int16(model.ErrUnsupportedVersion)
	out.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiVersion(apiVersionsAPI())}
	return out
}

func apiVersion(a api) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = a.key, a.min, a.max
	return k
}
