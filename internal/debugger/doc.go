// Package debugger holds an engine and drives it against an environment: it has
// the only loop there is. It decides when the next step is taken (running,
// paused, stepping by a grain), keeps the history, and turns what happens into
// frames for a front end and commands from it.
//
// It is not the controller, and it draws nothing.
//
// It may import kstate/model, kstate/engine and kstate/internal/journal.
//
// Duties of the caller: an Environment performs what it is asked and nothing
// else; its inputs go in by Input, from any goroutine.
package debugger
