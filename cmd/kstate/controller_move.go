package main

import "kstate/internal/admin"

func controllerMoveCommand() command {
	return command{
		name:    "controller move",
		summary: "have another controller elected, by deleting /controller",
		detail:  "The broker that takes over reads the whole tree and tells all brokers; which one it is, ZooKeeper decides.\n" + changeDetail,
		flags:   changeFlags(),
		run: func(inv *invocation) error {
			return runChange(inv, (*admin.Planner).MoveController)
		},
	}
}
