package adminclient

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"kstate/internal/handshake"
	"kstate/internal/security"
	"kstate/model"
)

// dialLimit bounds one connection with its handshake.
const dialLimit = 10 * time.Second

// answerGrace is how much longer an answer may take than the controller was given:
// one that waits that long in vain says so then.
const answerGrace = 5 * time.Second

// Client asks one cluster. It finds the controller by itself, and again when it
// moves.
type Client struct {
	cl  *kgo.Client
	via string
}

// Refusal is an answer that refuses the whole request.
type Refusal struct {
	Request string
	Code    model.KafkaError
	Message string
}

// Error names request, error and the broker's own words.
func (e *Refusal) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: the controller answers %s", e.Request, e.Code)
	}
	return fmt.Sprintf("%s: the controller answers %s: %s", e.Request, e.Code, e.Message)
}

// New makes a client of the cluster that host:port names belong to. It connects
// with the first request.
func New(bootstrap []string, how security.Channel) (*Client, error) {
	dialer := &handshake.Client{Channel: how}
	// Older brokers take an ElectLeaders without a type, for a preferred one.
	oldest := new(kversion.Versions)
	oldest.SetMaxKeyVersion(kmsg.ElectLeaders.Int16(), 1)
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), kgo.ClientID("kstate"), kgo.MinVersions(oldest),
		kgo.Dialer(func(ctx context.Context, _, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialLimit)
			defer cancel()
			return dialer.Dial(ctx, address)
		}))
	if err != nil {
		return nil, fmt.Errorf("a Kafka client for %v: %w", bootstrap, err)
	}
	return &Client{cl, fmt.Sprintf("%v (%s)", bootstrap, how.Protocol)}, nil
}

// Close ends its connections.
func (c *Client) Close() { c.cl.Close() }

func (c *Client) failed(request string, err error) error {
	return fmt.Errorf("%s by way of %s: %w", request, c.via, err)
}

// ClusterID is the id that the brokers know.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // brokers only
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return "", c.failed("Metadata", err)
	}
	if resp.ClusterID == nil {
		return "", nil
	}
	return *resp.ClusterID, nil
}

// ElectLeaders asks for elections, and has an answer for each partition. The
// controller may take as long as limit, and answers REQUEST_TIMED_OUT for those
// whose leader its metadata does not show by then, elected or not.
func (c *Client) ElectLeaders(ctx context.Context, kind model.ElectionType, list []model.TopicPartition, limit time.Duration) ([]model.ElectionResult, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+answerGrace)
	defer cancel()
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis = int32(limit.Milliseconds())
	if kind == model.UncleanElection {
		req.ElectionType = 1
	}
	at := map[string]int{}
	for _, tp := range list {
		i, known := at[tp.Topic]
		if !known {
			i = len(req.Topics)
			at[tp.Topic] = i
			t := kmsg.NewElectLeadersRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, tp.Partition)
	}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, c.failed("ElectLeaders", err)
	}
	if resp.ErrorCode != 0 {
		return nil, &Refusal{"ElectLeaders", model.KafkaError(resp.ErrorCode), ""}
	}
	var out []model.ElectionResult
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			out = append(out, model.ElectionResult{TopicPartition: model.TP(t.Topic, p.Partition), Error: model.KafkaError(p.ErrorCode), Why: text(p.ErrorMessage)})
		}
	}
	return out, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// ReassignResult is the answer for one partition.
type ReassignResult struct {
	model.TopicPartition
	Error   model.KafkaError
	Message string
}

// Reassign starts, replaces or cancels reassignments, and has an answer for each
// partition. The controller has accepted those without an error; they take longer.
func (c *Client) Reassign(ctx context.Context, list []model.ReassignmentTarget, limit time.Duration) ([]ReassignResult, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+answerGrace)
	defer cancel()
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = int32(limit.Milliseconds())
	at := map[string]int{}
	for i := range list {
		e := &list[i]
		k, known := at[e.Topic]
		if !known {
			k = len(req.Topics)
			at[e.Topic] = k
			t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			t.Topic = e.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		if p.Partition = e.Partition; !e.Cancel {
			p.Replicas = e.Target
		}
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, p)
	}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, c.failed("AlterPartitionReassignments", err)
	}
	if resp.ErrorCode != 0 {
		return nil, &Refusal{"AlterPartitionReassignments", model.KafkaError(resp.ErrorCode), text(resp.ErrorMessage)}
	}
	var out []ReassignResult
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			out = append(out, ReassignResult{model.TP(t.Topic, p.Partition), model.KafkaError(p.ErrorCode), text(p.ErrorMessage)})
		}
	}
	return out, nil
}
