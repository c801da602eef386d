package ui

import "kstate/model"

// candidateColumns are the conditions of an election, in the order in which a
// candidate must meet them.
var candidateColumns = []struct {
	title string
	width int
	of    func(c *model.Candidate) (text string, holds bool)
}{
	{"REGISTERED", 12, func(c *model.Candidate) (string, bool) { return yesNo(c.Registered), c.Registered }},
	{"SHUTS DOWN", 12, func(c *model.Candidate) (string, bool) { return yesNo(c.ShuttingDown), !c.ShuttingDown }},
	{"LOG DIR", 9, func(c *model.Candidate) (string, bool) {
		if c.OfflineDir {
			return "failed", false
		}
		return "ok", true
	}},
	{"LIVE", 6, func(c *model.Candidate) (string, bool) { return yesNo(c.Online), c.Online }},
	{"IN ISR", 8, func(c *model.Candidate) (string, bool) { return yesNo(c.InISR), c.InISR }},
}

const brokerColumn = 9 // with the sign of the elected one

// electLines is an election: its outcome, what is to be written, and each
// candidate with the conditions that it met.
func electLines(s *model.Elect) []line {
	v := &s.Verdict
	st, outcome := good, "broker "+itoa(v.Leader)+" is elected"
	switch {
	case v.Leader == model.NoLeader:
		st, outcome = bad, "no leader: "+orNone(v.Why)
	case v.Unclean:
		st, outcome = bad, outcome+", UNCLEAN: records may be lost"
	}
	out := []line{
		{{strong, "elect " + s.TopicPartition.String()}, {faint, " by strategy "}, {plain, v.Strategy.String()}},
		{{st, ""}, {st, outcome}},
	}
	out = append(out, candidateLines(v)...)
	if v.New != nil {
		out = append(out, line{{faint, "to be written: "}, {plain, "leader " + leaderName(v.New.Leader) + "  ISR " + idList(v.New.ISR) + "  leader epoch " + itoa(v.New.LeaderEpoch)}},
			line{{faint, "LeaderAndIsr goes to "}, {plain, idList(v.Recipients)}})
	}
	return out
}

// candidateLines is a table: a candidate in each row, in the order in which they
// were considered, with the conditions that it met.
func candidateLines(v *model.Verdict) []line {
	if len(v.Candidates) == 0 {
		return nil
	}
	head := line{{faint, pad("  BROKER", brokerColumn)}}
	for _, c := range candidateColumns {
		head = append(head, span{faint, pad(c.title, c.width)})
	}
	out := []line{head}
	for i := range v.Candidates {
		c := &v.Candidates[i]
		st, mark := plain, "  "
		if c.Broker == v.Leader {
			st, mark = good, "► "
		}
		row := line{{st, pad(mark+itoa(c.Broker), brokerColumn)}}
		for _, col := range candidateColumns {
			text, holds := col.of(c)
			cell := st
			if !holds {
				cell = bad
			}
			row = append(row, span{cell, pad(text, col.width)})
		}
		if c.Broker == v.Leader {
			row = append(row, span{good, "elected"})
		}
		out = append(out, row)
	}
	return out
}
