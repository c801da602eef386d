package main

import (
	"kstate/internal/tree"
)

// defaultLimit is how many partitions and queued topics the text form lists.
const defaultLimit = 40

func stateCommand() command {
	return command{
		name:    "state",
		summary: "brokers, partitions, replicas, counts by state and deletion queues: the tree as it lies, with what follows from it",
		detail: `A partition is OnlinePartition if its state znode names a registered leader, OfflinePartition if it names none
or another, NewPartition without a usable state znode, unreadable if that znode lacks a field. A replica is
OnlineReplica if its broker is registered. Znodes that cannot be read are named on standard error; that alone
is no failure.`,
		flags: append(sourceFlags(),
			flag{name: "json", usage: "write JSON"},
			flag{name: "limit", kind: isNumber, value: "N", usage: "list at most N partitions and N queued topics in the text form (default 40, 0: all)"}),
		run: func(inv *invocation) error {
			src, err := openSource(inv)
			if err != nil {
				return err
			}
			st := tree.BuildState(src.survey, src.mode, src.name)
			if inv.has("json") {
				err = st.WriteJSON(inv.console.out)
			} else {
				err = st.WriteText(inv.console.out, inv.number("limit", defaultLimit))
			}
			return src.close(err)
		},
	}
}
