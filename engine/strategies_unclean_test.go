package engine

import (
	"slices"
	"testing"

	"kstate/model"
)

// TestUncleanIsConsideredWithoutOnlineISROnly: an unclean election comes into
// question only where no member of the ISR is online, whether that member is
// assigned or not (F6).
func TestUncleanIsConsideredWithoutOnlineISROnly(t *testing.T) {
	tp := model.TP("t", 0)
	for registered := brokerSet(0); registered < 1<<5; registered += 2 {
		for leaving := brokerSet(0); leaving < 1<<5; leaving += 2 {
			e := New(DefaultConfig(9))
			for _, b := range bits(registered) {
				e.ctx.PutBroker(model.Broker{ID: b})
				e.ctx.SetShuttingDown(b, leaving.has(b))
			}
			online := func(b int32) bool { return registered.has(b) && !leaving.has(b) }
			for _, isr := range arrangements(4) {
				got, err := e.collectUnclean([]candidacy{{tp: tp, record: &model.LeaderAndIsr{ISR: isr}}}, true)
				want := !slices.ContainsFunc(isr, online)
				if err != nil || len(got) != 1 || got[0].unclean != want {
					t.Fatalf("ISR %v, registered %v, shutting down %v: unclean %v, want %t (%v)", isr, bits(registered), bits(leaving), got, want, err)
				}
			}
		}
	}
}
