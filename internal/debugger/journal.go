package debugger

import (
	"encoding/json"
	"fmt"

	"kstate/engine"
	"kstate/internal/journal"
	"kstate/model"
)

// Settings is what an engine was made with, as a journal holds it: without
// secrets.
func Settings(cfg engine.Config) []byte {
	cfg.BrokerConfig = journal.MaskSettings(cfg.BrokerConfig)
	text, err := json.Marshal(cfg)
	if err != nil { // a Config holds nothing that has no JSON form
		return []byte("null")
	}
	return text
}

// engineOf makes an engine by what a journal says of its settings.
func engineOf(settings []byte) (*engine.Engine, error) {
	var cfg engine.Config
	if err := json.Unmarshal(settings, &cfg); err != nil {
		return nil, fmt.Errorf("the engine's settings in the journal: %w", err)
	}
	return engine.New(cfg), nil
}

// journalStatus is how the journal stands, for the screen. What changes is said
// once, too.
func (s *Session) journalStatus() *model.JournalStatus {
	st, ok := s.opt.Journal.Status()
	if !ok {
		return nil
	}
	if why := st.Err; why != "" && !s.journalFails {
		s.journalFails = true
		s.notice(model.Error, fmt.Sprintf("the journal %s cannot be written: %s. The controller goes on; what the disk does not take in time will be missing", st.Path, why))
	} else if why == "" && s.journalFails {
		s.journalFails = false
		missing := "nothing is missing in it"
		if st.Lost > 0 {
			missing = fmt.Sprintf("%d records are missing in it", st.Lost)
		}
		s.notice(model.Warn, fmt.Sprintf("the journal %s is written again; %s", st.Path, missing))
	}
	return s.opt.Journal.Shown()
}
