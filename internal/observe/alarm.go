package observe

import (
	"strings"
	"time"

	"kstate/model"
)

// alarmPeriod is how often a lasting alarm is raised again: a notice of an error
// stays on the screen for half a minute, or until a key is pressed.
const alarmPeriod = 20 * time.Second

// alarm tells that what is shown is not the cluster: its tree is not there, or
// may not be read.
type alarm struct {
	text string
	at   time.Time
}

func (a *alarm) raise(o *Observer) {
	text := ""
	if o.synced {
		text = o.notTheCluster()
	}
	if text == "" {
		*a = alarm{}
		return
	}
	if text != a.text || time.Since(a.at) > alarmPeriod {
		*a = alarm{text, time.Now()}
		o.notice(model.Error, text)
	}
}

func (o *Observer) notTheCluster() string {
	if o.survey.Refused() {
		return "no permission to read anything: what is shown is not the cluster"
	}
	if blind := o.survey.Blind(); len(blind) > 0 {
		return "no permission to read " + strings.Join(blind, ", ") + ": what is shown is not the cluster"
	}
	if _, there := o.survey.Znode(model.BrokerIDsPath); !there {
		return model.BrokerIDsPath + " is not there: no Kafka cluster, or a wrong chroot"
	}
	return ""
}
