// Command cireport runs `go test` for .ci/run and says what came of it.
//
//	cireport test -stage NAME -results FILE [-show REGEXP] [-must-run REGEXP] -- go test ARGS...
//	cireport summary -results FILE
//
// test runs the command with -json, prints a line for each package, the output
// of what failed and the log of what -show matches, and appends each test's
// result to FILE. It exits with 1 if a test failed, if the command did, or if
// of the tests that -must-run matches one was skipped or none was there.
//
// summary prints every test that was skipped, with its reason and the stages
// that did run it, and closes with `N passed, N failed, N skipped`: each test
// counted once, failed if it failed in any stage, skipped if no stage ran it.
//
// It is no test framework and knows nothing of kstate. It imports the standard
// library only. Its caller is .ci/run.
package main
