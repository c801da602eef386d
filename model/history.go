package model

// Record is one line of history: an input that came, or a step that was taken.
// Exactly one of Input and Step is set; Result is set once a Call was answered.
type Record struct {
	Position uint64 // counts inputs and steps from 1
	At       int64  // ms since 1970
	EventSeq uint64 // the event at work, 0 between events
	Input    Stimulus
	Step     Step
	Result   *Result
	Inferred bool // observed from outside, not seen
}

const historyChunk = 256

// History is a growing list of records of which the oldest are dropped beyond a
// limit. Snapshot shares the records, so that a reader may keep one while the
// owner appends.
type History struct {
	chunks  [][]Record
	dropped int // records dropped so far
	n       int
	max     int
}

// NewHistory keeps at least the last max records.
func NewHistory(max int) *History { return &History{max: max} }

// Append adds a record.
func (h *History) Append(r Record) {
	if k := len(h.chunks); k == 0 || len(h.chunks[k-1]) == historyChunk {
		h.chunks = append(h.chunks, make([]Record, 0, historyChunk))
	}
	k := len(h.chunks) - 1
	h.chunks[k] = append(h.chunks[k], r)
	h.n++
	if h.n >= h.max+historyChunk {
		h.dropped += historyChunk
		h.n -= historyChunk
		h.chunks = append([][]Record(nil), h.chunks[1:]...)
	}
}

// SetResult gives the newest step its result; inputs may have come since. The
// chunk is replaced by a copy, because a snapshot may hold it.
func (h *History) SetResult(res Result) {
	for k := len(h.chunks) - 1; k >= 0; k-- {
		for i := len(h.chunks[k]) - 1; i >= 0; i-- {
			if h.chunks[k][i].Step == nil {
				continue
			}
			fresh := make([]Record, len(h.chunks[k]), historyChunk)
			copy(fresh, h.chunks[k])
			fresh[i].Result = &res
			h.chunks[k] = fresh
			return
		}
	}
}

// Snapshot is the history as it is now.
func (h *History) Snapshot() HistoryView {
	return HistoryView{chunks: append([][]Record(nil), h.chunks...), First: h.dropped, N: h.n}
}

// HistoryView is a history that does not change. First is how many records were
// dropped before the oldest one kept; N is how many are kept.
type HistoryView struct {
	chunks [][]Record
	First  int
	N      int
}

// At is the i-th kept record, 0 the oldest.
func (v HistoryView) At(i int) *Record { return &v.chunks[i/historyChunk][i%historyChunk] }
