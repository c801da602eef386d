// Command kstate is an interactive debugger for Kafka's ZooKeeper controller.
//
// This package is flags and wiring: one file per command, one table of commands
// (commands.go) from which parsing, help, shell completion and docs/cli.md
// follow. What a command does lies in the packages that it calls.
//
// It may import everything. Nothing imports it.
package main
