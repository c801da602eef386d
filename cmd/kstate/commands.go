package main

import "slices"

// defaultCommand runs when no command is named; empty: there is none.
const defaultCommand = "lab"

// commands is the table of everything kstate does, in the order of the help.
// Each command is made in a file of its own.
func commands() []command {
	return slices.Concat([]command{
		labCommand(),
		runCommand(),
		observeCommand(),
		adminCommand(),
		controlCommand(),
		stateCommand(),
		watchCommand(),
	}, whyCommands(), []command{
		topicsListCommand(),
		topicsDescribeCommand(),
	}, topicsChangeCommands(), []command{
		simCommand(),
		failoverCommand(),
		electPreviewCommand(),
		electRunCommand(),
		reassignCommand(),
		controllerMoveCommand(),
		exportCommand(),
		completionCommand(),
		versionCommand(),
		helpCommand(),
	})
}
