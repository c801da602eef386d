// Package tidy keeps the style of the whole tree as a test: which package may
// import which, what the engine must never use, a doc.go for each package, the
// length of files and functions, gofmt, and words that have no place here.
//
// It is no linter of code (vet and staticcheck are) and holds no code but its
// tests. They parse the files and build nothing, so they see a package that
// does not compile too.
//
// It imports the standard library only. Its duty to who adds a package: it
// fails until the package is listed in packages_test.go, with what it may
// import.
package tidy
