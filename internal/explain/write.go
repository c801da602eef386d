package explain

import (
	"bufio"
	"encoding/json"
	"io"

	"kstate/internal/tree"
	"kstate/model"
)

// WriteText writes an explanation for a reader. limit bounds causes and rows
// (0: no bound); what is left out is counted.
func WriteText(w io.Writer, e *model.Explanation, limit int) error {
	out := bufio.NewWriter(w)
	for _, l := range e.Lines(limit) {
		out.WriteString(tree.Printable(l.Text) + "\n")
	}
	return out.Flush()
}

// WriteJSON writes an explanation as one JSON object.
func WriteJSON(w io.Writer, e *model.Explanation) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(e)
}
