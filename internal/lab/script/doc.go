// Package script is the language of the lab's scenarios: a text of lines that
// says what cluster there is, what is done to it, where the controller is held,
// what faults come over it, and what is expected. One text is an exercise, a
// test, a demonstration and a piece of documentation.
//
// Parse reads it, Scenario.String writes it, a Runner plays it on a Stage; the
// scenarios that kstate ships are embedded here. docs/scenarios.md is written
// from the table of words (words.go).
//
// It starts no lab and holds no engine: a Stage does.
//
// It may import kstate/model.
//
// Duties of the caller: a Witness is told of every record, in order, from the
// start on; a Stage carries out what it is given, or says why not.
package script
