package debugger

import (
	"fmt"

	"kstate/model"
)

// channels are the ways to the brokers, and what to say while one of them is
// silent: the controller itself waits without a word, for as long as the broker is
// registered. Silence and its end are each said once.
func (s *Session) channels() (all []model.Channel, alert string) {
	if s.opt.Channels == nil {
		return nil, ""
	}
	all = s.opt.Channels()
	now := s.opt.Clock()
	silent := map[int32]bool{}
	for i := range all {
		c := &all[i]
		ms := c.Silent(now)
		if ms == 0 {
			continue
		}
		silent[c.Broker] = true
		text := fmt.Sprintf("broker %d has not answered for %d s: %s", c.Broker, ms/1000, c.Head)
		if alert == "" {
			alert = text
		}
		if !s.silent[c.Broker] {
			s.notice(model.Warn, text+silenceMeans(c))
		}
	}
	for i := range all {
		if id := all[i].Broker; s.silent[id] && !silent[id] {
			s.notice(model.Info, fmt.Sprintf("broker %d answers again", id))
		}
	}
	s.silent = silent
	return all, alert
}

// silenceMeans is how a channel stands whose broker is silent.
func silenceMeans(c *model.Channel) string {
	text := ""
	if !c.Connected {
		text = "; there is no connection to it"
	}
	if behind := c.Depth - 1; behind > 0 {
		text += fmt.Sprintf("; %d more wait behind it", behind)
	}
	return text + "; the controller waits until it answers or its registration ends"
}
