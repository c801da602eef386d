package model

import "strings"

// Pattern is a text in which * stands for any characters, none included.
type Pattern string

// Is tells whether the whole text is of the pattern.
func (p Pattern) Is(text string) bool {
	parts := strings.Split(string(p), "*")
	if len(parts) == 1 {
		return string(p) == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) || len(text) < len(first)+len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	_, ok := inOrder(text[len(first):len(text)-len(last)], parts[1:len(parts)-1])
	return ok
}

// In tells whether the pattern is found anywhere in a text.
func (p Pattern) In(text string) bool {
	_, ok := inOrder(text, strings.Split(string(p), "*"))
	return ok
}

// inOrder finds the parts one behind the other; what is left of the text.
func inOrder(text string, parts []string) (string, bool) {
	for _, part := range parts {
		i := strings.Index(text, part)
		if i < 0 {
			return "", false
		}
		text = text[i+len(part):]
	}
	return text, true
}
