package explain

import (
	"bytes"
	"path/filepath"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

// FuzzExplain puts anything into one znode of a report's tree: every question has
// an answer or a reason why not, in text and JSON, and nothing panics.
func FuzzExplain(f *testing.F) {
	files, err := filepath.Glob(reports + "*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no reports: %v", err)
	}
	trees := make([]*report, len(files))
	for i, file := range files {
		trees[i] = loadReport(f, file)
		if len(trees[i].tree.Znodes) > 100 {
			continue // a wide tree takes its time, and holds nothing that the others do not
		}
		for k, z := range trees[i].tree.Znodes {
			if k%5 == i%5 { // every znode of a seed is explained anew each time that the tests run
				f.Add(uint8(i), uint16(k), z.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, data []byte) {
		r := trees[int(which)%len(trees)]
		if len(r.tree.Znodes) == 0 {
			return
		}
		changed := *r.tree
		changed.Znodes = append([]tree.Znode{}, r.tree.Znodes...)
		changed.Znodes[int(at)%len(changed.Znodes)].Data = data
		s := tree.SurveyFile(&changed)
		subjects := []model.Subject{{Kind: model.ControllerSubject}, {Kind: model.LeadershipSubject}}
		n := 0
		for topic := range s.View().Entries() {
			subjects = append(subjects, model.Subject{Kind: model.TopicSubject, Topic: topic.Name})
			for p := range topic.Entries() {
				if n++; n > 20 {
					break
				}
				subjects = append(subjects, model.Subject{Kind: model.PartitionSubject, Topic: topic.Name, Partition: p}, model.Subject{Kind: model.ReplicaSubject, Topic: topic.Name, Partition: p, Broker: 1})
			}
		}
		for _, b := range s.View().Brokers() {
			subjects = append(subjects, model.Subject{Kind: model.BrokerSubject, Broker: b.ID})
		}
		c := OfTree(s)
		for _, subject := range subjects {
			e, err := c.Explain(subject)
			if err != nil {
				continue
			}
			var out bytes.Buffer
			if err := WriteText(&out, e, 40); err != nil {
				t.Fatal(err)
			}
			if err := WriteJSON(&out, e); err != nil {
				t.Fatal(err)
			}
			if e.Found && len(e.Causes) == 0 {
				t.Errorf("%+v: something holds it, and no cause is named", subject)
			}
		}
	})
}
