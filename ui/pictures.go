package ui

import "kstate/model"

// The graphs as they look on the screen. They are read, not only shown: a node
// is a box around a name, with room for its count below the name; an edge runs
// from a port in a border (├ ┤ ┬ ┴) along its stroke to an arrowhead in another
// border. Strokes neither meet nor cross, so that each can be lit alone.
// Changing a drawing is enough to change the screen; the tests follow every
// legal edge.

// The small drawings fit 80 columns together with everything else of a
// 24-row screen, a scenario's goal included; there the names of the deletion
// states lack their "Replica".
var (
	smallPartitions = readPicture(partitionNames, `
                               ╭────────────────────────────────────╮
┌────────────────────┐  ┌──────┴─────┐  ┌───────────────┐   ┌───────▼────────┐
│NonExistentPartition├──►NewPartition├──►OnlinePartition├───►OfflinePartition├─╮
│                    │  │            │  │               ◄───┤                ◄─╯
└─────────▲──────────┘  └────────────┘  └───┬─────▲─────┘   └───────┬────────┘
          │                                 ╰─────╯                 │
          ╰─────────────────────────────────────────────────────────╯
`)

	smallReplicas = readPicture(replicaNames, `
                              ╭─────────────────────────────────╮
┌──────────────────┐   ┌──────┴───┐   ┌─────────────┐   ┌───────▼──────┐
│NonExistentReplica├───►NewReplica├───►OnlineReplica├───►OfflineReplica├─╮
│                  │   │          │   │             ◄───┤              ◄─╯
└────────▲─────────┘   └──────────┘   └┬───▲──────▲─┘   └┬─▲────────┬──┘
         │                             ╰───╯      │      │ │        │
┌────────┴─────────┐                     ┌────────┴──────▼─┴┐  ┌────▼──────────┐
│DeletionSuccessful│                     │DeletionIneligible◄──┤DeletionStarted│
│                  │                     │                  │  │               │
└────────▲─────────┘                     └──────────────────┘  └───────┬───────┘
         ╰─────────────────────────────────────────────────────────────╯
`)

	largePartitions = readPicture(partitionNames, `
                                   ╭─────────────────────────────────────────────╮
┌──────────────────────┐    ┌──────┴───────┐    ┌─────────────────┐     ┌────────▼─────────┐
│ NonExistentPartition ├────► NewPartition ├────► OnlinePartition ├─────► OfflinePartition ├──╮
│                      │    │              │    │                 ◄─────┤                  ◄──╯
└──────────▲───────────┘    └──────────────┘    └────┬──────▲─────┘     └────────┬─────────┘
           │                                         ╰──────╯                    │
           ╰─────────────────────────────────────────────────────────────────────╯
`)

	largeReplicas = readPicture(replicaNames, `
                                   ╭───────────────────────────────────────────────╮
┌────────────────────┐       ┌─────┴──────┐       ┌───────────────┐       ┌────────▼───────┐
│ NonExistentReplica ├───────► NewReplica ├───────► OnlineReplica ├───────► OfflineReplica ├──╮
│                    │       │            │       │               ◄───────┤                ◄──╯
└──────────▲─────────┘       └────────────┘       └┬──▲─▲─────────┘       └─┬──▲──────┬────┘
           │                                       ╰──╯ │                   │  │      │
           │                                            │ ╭─────────────────╯  │      │
           │                                            │ │ ╭──────────────────╯      │
           │                                            │ │ │                         │
┌──────────┴────────────────┐    ┌──────────────────────┴─▼─┴┐      ┌─────────────────▼──────┐
│ ReplicaDeletionSuccessful │    │ ReplicaDeletionIneligible ◄──────┤ ReplicaDeletionStarted │
│                           │    │                           │      │                        │
└──────────▲────────────────┘    └───────────────────────────┘      └───────────┬────────────┘
           ╰────────────────────────────────────────────────────────────────────╯
`)
)

// partitionNames and replicaNames are the names that the drawings use.
var (
	partitionNames = namesOf(model.PartitionStates, nil)
	replicaNames   = namesOf(model.ReplicaStates, map[string]model.ReplicaState{
		"DeletionStarted":    model.ReplicaDeletionStarted,
		"DeletionSuccessful": model.ReplicaDeletionSuccessful,
		"DeletionIneligible": model.ReplicaDeletionIneligible,
	})
)

func namesOf[S interface{ String() string }](states []S, short map[string]S) map[string]S {
	names := map[string]S{}
	for _, s := range states {
		names[s.String()] = s
	}
	for n, s := range short {
		names[n] = s
	}
	return names
}
