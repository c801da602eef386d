package ui

import (
	"strings"

	"kstate/model"
)

// decoded is what the znodes of an inspection say, decoded once for each.
type decoded struct {
	of         *model.Inspection
	topic      *model.TopicAssignment
	leadership *model.LeaderIsrAndControllerEpoch
	broker     *model.BrokerRegistration
	marker     tristate // the delete marker
	stateRead  bool     // the state znode was read: nil leadership means none
	topicRead  bool
	brokerRead bool
	errors     []string
}

// tristate is yes, no, or not known.
type tristate uint8

const (
	unknown tristate = iota
	yes
	no
)

// decode reads the znodes as a controller does.
func decode(r *model.Inspection) decoded {
	d := decoded{of: r}
	if r == nil {
		return d
	}
	for i := range r.Znodes {
		z := &r.Znodes[i]
		if z.Err != "" {
			continue
		}
		if err := d.decodeZnode(z); err != nil {
			d.errors = append(d.errors, err.Error())
		}
	}
	return d
}

func (d *decoded) decodeZnode(z *model.Znode) error {
	path := kafkaPath(z.Path)
	switch model.ParsePath(path).Kind {
	case model.DeleteTopicZnode:
		d.marker = yes
		if z.Missing {
			d.marker = no
		}
	case model.PartitionStateZnode:
		if z.Missing {
			d.stateRead = true
			return nil
		}
		l, present, err := model.DecodePartitionState(path, z.Data)
		if err != nil {
			return err
		}
		d.stateRead = true
		if present {
			l.PartitionEpoch = z.Stat.Version
			d.leadership = &l
		}
	case model.TopicZnode:
		if z.Missing {
			d.topicRead = true
			return nil
		}
		t, present, err := model.DecodeTopic(path, z.Data)
		if err != nil {
			return err
		}
		d.topicRead = true
		if present {
			d.topic = &t
		}
	case model.BrokerZnode:
		if z.Missing {
			d.brokerRead = true
			return nil
		}
		b, err := model.DecodeBroker(path, z.Data)
		if err != nil {
			return err
		}
		b.Epoch = z.Stat.Czxid
		d.brokerRead, d.broker = true, &b
	}
	return nil
}

// kafkaPath takes a chroot off a path, as far as it can be told.
func kafkaPath(path string) string {
	if model.ParsePath(path).Kind != model.UnknownZnode {
		return path
	}
	for _, root := range []string{"/brokers/", "/admin/", "/config/"} {
		if i := strings.Index(path, root); i > 0 {
			return path[i:]
		}
	}
	return path
}
