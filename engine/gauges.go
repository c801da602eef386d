package engine

import "kstate/model"

// zkMigrationState is ZkMigrationState.ZK: the cluster lives in ZooKeeper.
const zkMigrationState = 4

// Gauges are the metrics of Kafka's controller by name, as memory stands now;
// Kafka takes the counts at the end of each event. All counts are zero while
// this engine is not the active controller.
// Kafka: KafkaController.updateMetrics.
func (e *Engine) Gauges() map[string]int {
	g := map[string]int{"ZkMigrationState": zkMigrationState, "ActiveControllerCount": 0, "ControllerState": int(e.state()),
		"OfflinePartitionsCount": 0, "PreferredReplicaImbalanceCount": 0, "GlobalTopicCount": 0, "GlobalPartitionCount": 0,
		"TopicsToDeleteCount": 0, "ReplicasToDeleteCount": 0, "TopicsIneligibleToDeleteCount": 0, "ReplicasIneligibleToDeleteCount": 0,
		"ActiveBrokerCount": 0, "FencedBrokerCount": 0}
	if !e.IsActive() {
		return g
	}
	v := e.ctx
	g["ActiveControllerCount"] = 1
	g["OfflinePartitionsCount"] = v.OfflinePartitionCount
	g["PreferredReplicaImbalanceCount"] = v.PreferredReplicaImbalanceCount
	g["GlobalTopicCount"] = v.TopicCount
	for t := range v.Entries() {
		for _, p := range t.Entries() {
			if p.Leadership != nil {
				g["GlobalPartitionCount"]++
			}
		}
	}
	g["TopicsToDeleteCount"] = v.TopicsToBeDeleted.Len()
	g["TopicsIneligibleToDeleteCount"] = v.TopicsIneligibleForDeletion.Len()
	g["ActiveBrokerCount"] = len(v.Brokers())
	for topic := range v.TopicsToBeDeleted.All() {
		for _, p := range v.Topic(topic).Partitions() {
			for _, b := range p.Assignment.Replicas {
				switch r, _ := p.Replica(b); r.State {
				case model.ReplicaDeletionSuccessful:
				case model.ReplicaDeletionIneligible:
					g["ReplicasIneligibleToDeleteCount"]++
					g["ReplicasToDeleteCount"]++
				default:
					g["ReplicasToDeleteCount"]++
				}
			}
		}
	}
	return g
}

// state is that of the event at work; Idle between events.
// Kafka: ControllerEventManager.state.
func (e *Engine) state() model.ControllerState {
	if e.turn == nil {
		return model.StateIdle
	}
	return e.turn.event.Event.State()
}
