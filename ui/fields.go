package ui

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"kstate/model"
)

// fieldsShown bounds the lines of one list: a request may hold 100,000 partitions.
const fieldsShown = 500

// fieldLines says what a request, an event or an answer holds, field by field;
// lists of partitions have a line for each.
func fieldLines(v any) []line { return appendFields(nil, reflect.ValueOf(v), "") }

func appendFields(out []line, v reflect.Value, margin string) []line {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return out
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return out
	}
	t := v.Type()
	for i := range v.NumField() {
		f := v.Field(i)
		name := fieldName(t.Field(i).Name)
		text, plainValue := valueText(f)
		switch {
		case f.Kind() == reflect.Pointer && f.IsNil(): // it does not apply
		case plainValue:
			out = append(out, line{{plain, margin}, {faint, pad(name, factWidth)}, {plain, text}})
		case t.Field(i).Anonymous:
			out = appendFields(out, f, margin)
		case f.Kind() == reflect.Slice:
			out = append(out, line{{plain, margin}, {faint, name + " (" + itoa(f.Len()) + ")"}})
			out = appendEntries(out, f, margin+"  ")
		default:
			out = append(out, line{{plain, margin}, {faint, name}})
			out = appendFields(out, f, margin+"  ")
		}
	}
	return out
}

// appendEntries has a line for each entry of a list.
func appendEntries(out []line, list reflect.Value, margin string) []line {
	for i := range list.Len() {
		if i == fieldsShown {
			return append(out, line{{plain, margin}, {faint, fmt.Sprintf("and %d more", list.Len()-i)}})
		}
		out = append(out, append(line{{plain, margin}}, entrySpans(nil, list.Index(i))...))
	}
	return out
}

// entrySpans is an entry of a list in one line: what it is about, then each field.
func entrySpans(out line, v reflect.Value) line {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return append(out, span{faint, "none"})
		}
		v = v.Elem()
	}
	if text, ok := valueText(v); ok {
		return append(out, span{strong, text})
	}
	if v.Kind() != reflect.Struct {
		return append(out, span{plain, fmt.Sprint(v.Interface())})
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		text, ok := valueText(v.Field(i))
		switch {
		case ok && f.Anonymous:
			out = append(out, span{strong, text})
		case ok && f.Name == "Leadership" && !v.Field(i).IsNil(): // its text begins with a name of its own
			out = append(out, span{plain, "  " + text})
		case ok, v.Field(i).Kind() == reflect.Slice:
			gap := "  "
			if len(out) == 0 {
				gap = ""
			}
			if !ok {
				text = listText(v.Field(i))
			}
			out = append(out, span{faint, gap + fieldName(f.Name) + " "}, span{plain, text})
		default:
			out = entrySpans(out, v.Field(i))
		}
	}
	return out
}

// listText is a short list within an entry, in one line.
func listText(list reflect.Value) string {
	parts := make([]string, list.Len())
	for i := range parts {
		text, ok := valueText(list.Index(i))
		if !ok {
			text = fmt.Sprint(list.Index(i).Interface())
		}
		parts[i] = text
	}
	return strings.Join(parts, ", ")
}

// valueText is a value in a word or a few; false when it has parts to be shown
// one by one.
func valueText(v reflect.Value) (string, bool) {
	switch x := v.Interface().(type) {
	case model.TopicPartition:
		if x.Topic == "" { // the topic is named by its id
			return "partition " + itoa(x.Partition), true
		}
		return x.String(), true
	case model.Replica:
		return x.String(), true
	case model.Uuid:
		return idText(x), true
	case model.Endpoint:
		return x.String(), true
	case model.ReplicaAssignment:
		return assignmentText(x), true
	case *model.ReplicaAssignment:
		if x == nil {
			return "none", true
		}
		return assignmentText(*x), true
	case *model.LeaderIsrAndControllerEpoch:
		if x == nil {
			return "none", true
		}
		return recordText(x), true
	case []int32:
		return idList(x), true
	case bool:
		return yesNo(x), true
	case string:
		return orNone(x), true
	case error:
		return x.Error(), true
	}
	switch v.Kind() {
	case reflect.String: // a word of a closed list
		return orNone(v.String()), true
	case reflect.Slice:
		return "none", v.Len() == 0
	case reflect.Map:
		return mapText(v), true
	case reflect.Pointer, reflect.Interface:
		return "none", v.IsNil()
	case reflect.Struct:
		return "", false
	}
	return fmt.Sprint(v.Interface()), true // numbers, and names of states, errors and kinds
}

// recordText is a leadership record in one line that can be broken.
func recordText(l *model.LeaderIsrAndControllerEpoch) string {
	s := fmt.Sprintf("leader %s, ISR %s, leader epoch %d, partition epoch %d, controller epoch %d",
		leaderName(l.Leader), idList(l.ISR), l.LeaderEpoch, l.PartitionEpoch, l.ControllerEpoch)
	if l.Recovery != model.Recovered {
		s += ", " + l.Recovery.String()
	}
	return s
}

func mapText(v reflect.Value) string {
	parts := map[string]string{}
	for _, k := range v.MapKeys() {
		parts[fmt.Sprint(k.Interface())] = fmt.Sprint(v.MapIndex(k).Interface())
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(parts)) {
		out = append(out, k+"="+parts[k])
	}
	return orNone(strings.Join(out, " "))
}

// fieldName is the name of a field in words: LeaderEpoch is "leader epoch". The
// requests keep their names.
func fieldName(s string) string {
	switch s {
	case "TopicPartition":
		return "partition"
	case "LeaderAndIsr", "UpdateMetadata", "StopReplica":
		return s
	}
	var words []string
	from := 0
	r := []rune(s)
	for i := 1; i <= len(r); i++ {
		if i == len(r) || unicode.IsUpper(r[i]) && (unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			word := string(r[from:i])
			if word != strings.ToUpper(word) || len(word) == 1 {
				word = strings.ToLower(word)
			}
			words, from = append(words, word), i
		}
	}
	return strings.Join(words, " ")
}
