package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"kstate/model"
)

// getBrokers reads all registered brokers; the epoch of each is the czxid of
// its znode. A child that is no number, or a payload that cannot be read, fails
// the whole. Kafka: KafkaZkClient.getAllBrokerAndEpochsInCluster.
func (e *Engine) getBrokers() ([]model.Broker, error) {
	names, err := e.children(model.BrokerIDsPath, true)
	if err != nil {
		return nil, err
	}
	return e.readBrokers(names, e.getOp)
}

// readBrokers reads the znodes of brokers, by id.
func (e *Engine) readBrokers(names []string, read func(path string) model.Op) ([]model.Broker, error) {
	list := make([]int32, 0, len(names))
	for _, n := range names {
		id, ok := model.ParseID(n)
		if !ok {
			return nil, &model.DecodeError{Path: model.BrokerIDsPath + "/" + n, Field: "name", Value: n, Category: model.NotANumber, Reason: "it is not a broker id"}
		}
		list = append(list, id)
	}
	slices.Sort(list)
	ops := make([]model.Op, len(list))
	for i, id := range list {
		ops[i] = read(model.BrokerIDPath(id))
	}
	results, err := e.call("get_broker", ops)
	if err != nil {
		return nil, err
	}
	var out []model.Broker
	for i, id := range list {
		switch results[i].Code {
		case model.CodeOK:
			if own, err := e.isOutsider(id, results[i].Stat); own || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
			reg, err := model.DecodeBroker(model.BrokerIDPath(id), results[i].Data)
			if err != nil {
				return nil, err
			}
			b := reg.Broker
			b.ID, b.Epoch = id, results[i].Stat.Czxid
			out = append(out, b)
		case model.CodeNoNode: // it went away in between
		default:
			return nil, &keeperError{results[i].Code, "get " + model.BrokerIDPath(id)}
		}
	}
	return out, nil
}

// compatible drops brokers whose supported features exclude a finalized one.
// Kafka: KafkaController.partitionOnFeatureCompatibility.
func (e *Engine) compatible(brokers []model.Broker) []model.Broker {
	return slices.DeleteFunc(slices.Clone(brokers), func(b model.Broker) bool {
		bad := e.incompatible(b)
		if bad != "" {
			e.logf(controllerLogger, model.Warn, "ignoring registration of new broker %d due to incompatibility with finalized feature %s", b.ID, bad)
		}
		return bad != ""
	})
}

func (e *Engine) incompatible(b model.Broker) string {
	for _, name := range sortedKeys(e.finalized) {
		if r, ok := b.Features[name]; !ok || e.finalized[name] < r.Min || e.finalized[name] > r.Max {
			return name
		}
	}
	return ""
}

// processBrokerChange compares the registered brokers with the known ones.
// Kafka: KafkaController.processBrokerChange.
func (e *Engine) processBrokerChange() error {
	current, err := e.getBrokers()
	if err != nil {
		return err
	}
	if !e.settleProtocol(current) {
		return nil
	}
	var fresh, bounced []model.Broker
	var dead []int32
	here := map[int32]bool{}
	for _, b := range current {
		here[b.ID] = true
		switch known := e.ctx.Broker(b.ID); {
		case known == nil:
			fresh = append(fresh, b)
		case b.Epoch > known.Epoch:
			bounced = append(bounced, b)
		}
	}
	for _, id := range e.ctx.LiveOrShuttingDown() {
		if !here[id] {
			dead = append(dead, id)
		}
	}
	e.logf(controllerLogger, model.Info, "newly added brokers: [%s], deleted brokers: [%s], bounced brokers: [%s], all live brokers: [%s]",
		model.JoinIDs(brokerIDs(fresh)), model.JoinIDs(dead), model.JoinIDs(brokerIDs(bounced)), model.JoinIDs(brokerIDs(current)))
	if err := e.relink(fresh, bounced, dead); err != nil {
		return err
	}
	if len(fresh) > 0 {
		if err := e.welcome(fresh); err != nil {
			return err
		}
	}
	if len(bounced) > 0 {
		if err := e.dismiss(brokerIDs(bounced)); err != nil {
			return err
		}
		if err := e.welcome(bounced); err != nil {
			return err
		}
	}
	if len(dead) > 0 {
		if err := e.dismiss(dead); err != nil {
			return err
		}
	}
	if len(fresh)+len(bounced)+len(dead) > 0 {
		e.logf(controllerLogger, model.Info, "updated broker epochs cache: %s", brokerEpochs(e.ctx.Brokers()))
	}
	return nil
}

func brokerEpochs(bs []model.Broker) string {
	var b strings.Builder
	for i := range bs {
		fmt.Fprintf(&b, "%d -> %d, ", bs[i].ID, bs[i].Epoch)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func brokerIDs(bs []model.Broker) []int32 {
	out := make([]int32, len(bs))
	for i := range bs {
		out[i] = bs[i].ID
	}
	return out
}

// relink brings the channels in line: new, then bounced, then dead brokers.
func (e *Engine) relink(fresh, bounced []model.Broker, dead []int32) error {
	for _, b := range fresh {
		if err := e.linkUp(b); err != nil {
			return err
		}
	}
	for _, b := range bounced {
		e.linkDown(b.ID)
	}
	for _, b := range bounced {
		if err := e.linkUp(b); err != nil {
			return err
		}
	}
	for _, id := range dead {
		e.linkDown(id)
	}
	return nil
}

func (e *Engine) welcome(bs []model.Broker) error {
	for _, b := range e.compatible(bs) {
		e.ctx.PutBroker(b)
	}
	return e.onBrokerStartup(brokerIDs(bs))
}

func (e *Engine) dismiss(ids []int32) error {
	for _, id := range ids {
		e.ctx.RemoveBroker(id)
	}
	return e.onBrokerFailure(ids)
}

// replicasOn lists the assigned replicas on brokers. Kafka: ControllerContext.replicasOnBrokers.
func (e *Engine) replicasOn(brokers []int32) []model.Replica {
	var out []model.Replica
	for t := range e.ctx.Entries() {
		for n, p := range t.Partitions() {
			for _, b := range brokers {
				if slices.Contains(p.Assignment.Replicas, b) {
					out = append(out, model.Replica{TopicPartition: model.TP(t.Name, n), Broker: b})
				}
			}
		}
	}
	return out
}

// onBrokerStartup brings new brokers up to date and tries what had waited for
// them. Kafka: KafkaController.onBrokerStartup.
func (e *Engine) onBrokerStartup(brokers []int32) error {
	e.logf(controllerLogger, model.Info, "new broker startup callback for [%s]", model.JoinIDs(brokers))
	for _, id := range brokers {
		e.ctx.ClearOfflineDirs(id)
	}
	if err := e.sendUpdateMetadata(model.Without(e.ctx.LiveOrShuttingDown(), brokers), nil); err != nil {
		return err
	}
	if err := e.sendUpdateMetadata(brokers, e.partitionsWithLeaders()); err != nil {
		return err
	}
	rs := e.replicasOn(brokers)
	if err := e.changeReplicas(rs, model.OnlineReplica, "its broker started"); err != nil {
		return err
	}
	if _, err := e.triggerOnlinePartitionStateChange("a broker started"); err != nil {
		return err
	}
	err := e.resumeReassignments(func(_ model.TopicPartition, a model.ReplicaAssignment) bool {
		return slices.ContainsFunc(a.Target(), func(b int32) bool { return slices.Contains(brokers, b) })
	})
	if err != nil {
		return err
	}
	if waiting := keepQueued(e, rs); len(waiting) > 0 {
		e.logf(controllerLogger, model.Info, "some replicas %v for topics scheduled for deletion are on the newly restarted brokers: signaling restart of topic deletion", waiting)
		if err := e.resumeDeletionForTopics(topicsOf(waiting), "a broker with its replicas started"); err != nil {
			return err
		}
	}
	return e.listenBrokers(brokers)
}

// partitionsWithLeaders excludes topics queued for deletion.
// Kafka: ControllerContext.partitionsWithLeaders.
func (e *Engine) partitionsWithLeaders() []model.TopicPartition {
	var out []model.TopicPartition
	for t := range e.ctx.Entries() {
		if e.ctx.IsQueued(t.Name) {
			continue
		}
		for n, p := range t.Entries() {
			if p.Leadership != nil {
				out = append(out, model.TP(t.Name, n))
			}
		}
	}
	return out
}

func (e *Engine) listenBrokers(ids []int32) error {
	for _, id := range ids {
		path := model.BrokerIDPath(id)
		e.listenNode(path)
		if _, err := e.exists(path); err != nil {
			return err
		}
	}
	return nil
}

// onBrokerFailure. Kafka: KafkaController.onBrokerFailure.
func (e *Engine) onBrokerFailure(dead []int32) error {
	e.logf(controllerLogger, model.Info, "broker failure callback for [%s]", model.JoinIDs(dead))
	for _, id := range dead {
		e.ctx.ClearOfflineDirs(id)
	}
	for _, id := range dead {
		e.ctx.SetShuttingDown(id, false)
	}
	if err := e.onReplicasBecomeOffline(e.replicasOn(dead), "its broker is gone"); err != nil {
		return err
	}
	for _, id := range dead {
		e.ignoreNode(model.BrokerIDPath(id))
	}
	return nil
}

// onReplicasBecomeOffline: brokers or log dirs went away. Every partition in the
// cluster whose leader is offline goes through an election first, so that a dead
// leader leaves the ISR there, and the replicas follow.
// Kafka: KafkaController.onReplicasBecomeOffline.
func (e *Engine) onReplicasBecomeOffline(rs []model.Replica, reason string) error {
	var doomed, others []model.Replica
	for _, r := range rs {
		if e.isQueuedForDeletion(r.Topic) {
			doomed = append(doomed, r)
		} else {
			others = append(others, r)
		}
	}
	if _, err := e.changePartitions(e.partitionsWithOfflineLeader(), model.OfflinePartition, 0, "its leader is offline"); err != nil {
		return err
	}
	results, err := e.triggerOnlinePartitionStateChange("replicas went offline")
	if err != nil {
		return err
	}
	if err := e.changeReplicas(others, model.OfflineReplica, reason); err != nil {
		return err
	}
	if len(doomed) > 0 {
		if err := e.failReplicaDeletion(doomed, reason); err != nil {
			return err
		}
	}
	if len(others) == 0 && !results.anyElected() {
		return e.sendUpdateMetadata(e.ctx.LiveOrShuttingDown(), nil)
	}
	return nil
}

// partitionsWithOfflineLeader. Kafka: ControllerContext.partitionsWithOfflineLeader.
func (e *Engine) partitionsWithOfflineLeader() []model.TopicPartition {
	var out []model.TopicPartition
	for t := range e.ctx.Entries() {
		if e.ctx.IsQueued(t.Name) {
			continue
		}
		for n, p := range t.Entries() {
			if tp := model.TP(t.Name, n); p.Leadership != nil && !e.ctx.IsReplicaOnline(p.Leadership.Leader, tp, false) {
				out = append(out, tp)
			}
		}
	}
	return out
}

// processBrokerModification: a broker rewrote its znode.
// Kafka: KafkaController.processBrokerModification.
func (e *Engine) processBrokerModification(id int32) error {
	path := model.BrokerIDPath(id)
	data, _, present, err := e.get("get_broker", path)
	if err != nil || !present {
		return err
	}
	reg, err := model.DecodeBroker(path, data)
	if err != nil {
		return err
	}
	known := e.ctx.Broker(id)
	if known == nil || (slices.Equal(reg.Endpoints, known.Endpoints) && maps.Equal(reg.Features, known.Features)) {
		return nil
	}
	e.logf(controllerLogger, model.Info, "updated broker metadata: broker %d", id)
	b := reg.Broker
	b.ID, b.Epoch = id, known.Epoch
	e.ctx.PutBroker(b)
	return e.sendUpdateMetadata(e.ctx.LiveOrShuttingDown(), nil)
}

// processControlledShutdown: failures, that the controller moved included, go
// to the caller and do not escape from the event.
// Kafka: KafkaController.processControlledShutdown.
func (e *Engine) processControlledShutdown(ev *model.ControlledShutdownEvent) error {
	remaining, err := e.doControlledShutdown(ev.Ask.BrokerID, ev.Ask.BrokerEpoch)
	if err != nil {
		e.logf(controllerLogger, model.Error, "controlled shutdown of broker %d: %v", ev.Ask.BrokerID, err)
	}
	e.reply(ev.AskID, &model.ControlledShutdownAnswer{Error: kafkaErrorOf(err), Remaining: remaining})
	return nil
}

// doControlledShutdown moves leadership off a broker and stops its followers.
// Kafka: KafkaController.doControlledShutdown.
func (e *Engine) doControlledShutdown(id int32, epoch int64) ([]model.TopicPartition, error) {
	if !e.IsActive() {
		return nil, errControllerMoved
	}
	known := e.ctx.Broker(id)
	switch {
	case epoch != -1 && known == nil:
		return nil, &missingValue{fmt.Sprintf("the epoch of broker %d", id)}
	case epoch != -1 && epoch < known.Epoch:
		return nil, &kafkaFailure{model.ErrStaleBrokerEpoch, fmt.Sprintf("received stale broker epoch %d, the registered one is %d", epoch, known.Epoch)}
	case known == nil:
		return nil, &kafkaFailure{model.ErrBrokerNotAvailable, fmt.Sprintf("broker %d doesn't exist", id)}
	}
	e.logf(controllerLogger, model.Info, "shutting down broker %d", id)
	e.ctx.SetShuttingDown(id, true)
	var led, followed []model.TopicPartition
	for _, r := range e.replicasOn([]int32{id}) {
		p := e.ctx.Partition(r.TopicPartition)
		switch {
		case len(p.Assignment.Replicas) < 2 || p.Leadership == nil || e.isQueuedForDeletion(r.Topic):
		case p.Leadership.Leader == id:
			led = append(led, r.TopicPartition)
		default:
			followed = append(followed, r.TopicPartition)
		}
	}
	if _, err := e.changePartitions(led, model.OnlinePartition, model.ControlledShutdownStrategy, "its leader shuts down"); err != nil {
		return nil, err
	}
	err := e.withOwnBatch(func() {
		for _, tp := range followed {
			e.own.addStopReplica(id, tp, false)
		}
	})
	if err != nil {
		return nil, err
	}
	rs := make([]model.Replica, len(followed))
	for i, tp := range followed {
		rs[i] = model.Replica{TopicPartition: tp, Broker: id}
	}
	if err := e.changeReplicas(rs, model.OfflineReplica, "its broker shuts down"); err != nil {
		return nil, err
	}
	return e.partitionsLedBy(id), nil
}

// partitionsLedBy: with more than one replica, topics queued for deletion excluded.
// Kafka: ControllerContext.partitionLeadersOnBroker.
func (e *Engine) partitionsLedBy(id int32) []model.TopicPartition {
	var out []model.TopicPartition
	for _, tp := range e.partitionsWithLeaders() {
		if p := e.ctx.Partition(tp); p.Leadership.Leader == id && p.Assignment != nil && len(p.Assignment.Replicas) > 1 {
			out = append(out, tp)
		}
	}
	return out
}

// processLogDirEventNotification: brokers have failed log directories. A
// LeaderAndIsr probe to each finds out which replicas; the notices are deleted
// whatever happens. Kafka: KafkaController.processLogDirEventNotification.
func (e *Engine) processLogDirEventNotification() error {
	names, err := e.notifications(model.LogDirEventNotificationPath)
	if err != nil {
		return err
	}
	err = e.probeLogDirs(names)
	if dropErr := e.deleteNotifications(model.LogDirEventNotificationPath, names); dropErr != nil {
		return dropErr
	}
	return err
}

// notifications lists a notification znode's children, arming its watch.
func (e *Engine) notifications(parent string) ([]string, error) {
	r, err := e.call("children", []model.Op{{Kind: model.OpChildren, Path: parent, Watch: e.childHandlers[parent]}})
	if err != nil {
		return nil, err
	}
	if r[0].Code != model.CodeOK && r[0].Code != model.CodeNoNode {
		return nil, &keeperError{r[0].Code, "children " + parent}
	}
	return e.notificationNames(parent, r[0].Children)
}

// notificationNames are the znodes that Kafka takes children of a notification
// znode for: it cuts the prefix off and puts it on again, wherever it stands. A
// name too short to be cut makes the event fail, and with it each failover.
// Kafka: IsrChangeNotificationSequenceZNode.sequenceNumber, LogDirEventNotificationSequenceZNode.sequenceNumber.
func (e *Engine) notificationNames(parent string, children []string) ([]string, error) {
	prefix := model.ChildName(model.IsrChangePath(""))
	if parent == model.LogDirEventNotificationPath {
		prefix = model.ChildName(model.LogDirEventPath(""))
	}
	out := make([]string, len(children))
	for i, name := range children {
		from := strings.LastIndex(name, prefix) + len(prefix)
		units := utf16.Encode([]rune(name)) // as Java counts
		if strings.Contains(name, prefix) {
			units = utf16.Encode([]rune(name[from:]))
			from = 0
		}
		if from > len(units) {
			e.logf(controllerLogger, model.Warn, "%s/%s is no notification, and its name is too short to be taken for one: no controller can start, this one and the next ones, until that znode is deleted", parent, name)
			return nil, &outOfBounds{parent + "/" + name}
		}
		out[i] = prefix + string(utf16.Decode(units[from:]))
	}
	return out, nil
}

func (e *Engine) probeLogDirs(names []string) error {
	brokers, err := e.readLogDirEvents(names)
	if err != nil {
		return err
	}
	slices.Sort(brokers)
	brokers = slices.Compact(brokers)
	e.logf(controllerLogger, model.Info, "handling log directory failure for brokers [%s]", model.JoinIDs(brokers))
	return e.changeReplicas(e.replicasOn(brokers), model.OnlineReplica, "a log directory of its broker failed: probe")
}

// readLogDirEvents lists the brokers that notices name, as often as they do.
// Kafka: KafkaZkClient.getBrokerIdsFromLogDirEvents.
func (e *Engine) readLogDirEvents(names []string) ([]int32, error) {
	var brokers []int32
	err := e.readNotifications(model.LogDirEventNotificationPath, names, func(path string, data []byte) error {
		id, present, err := model.DecodeLogDirEvent(path, data)
		if present {
			brokers = append(brokers, id)
		}
		return err
	})
	return brokers, err
}

// processLeaderAndIsrResponse: only KAFKA_STORAGE_ERROR and NONE matter per
// partition; they say whether the replica's log directory works.
// Kafka: KafkaController.processLeaderAndIsrResponseReceived.
func (e *Engine) processLeaderAndIsrResponse(ev *model.LeaderAndIsrResponseReceived) error {
	if ev.Response.Error != model.ErrNone {
		e.logf(stateChangeLogger, model.Error, "received error %s in LeaderAndIsr response from broker %d", ev.Response.Error, ev.Broker)
		return nil
	}
	var offline []model.Replica
	for _, p := range ev.Response.Partitions {
		r := model.Replica{TopicPartition: p.TopicPartition, Broker: ev.Broker}
		switch p.Error {
		case model.ErrKafkaStorageError:
			if !e.ctx.OnOfflineDir(r.Broker, r.TopicPartition) {
				offline = append(offline, r)
			}
			e.ctx.SetOfflineDir(r, true)
		case model.ErrNone:
			e.ctx.SetOfflineDir(r, false)
		}
	}
	if len(offline) == 0 {
		return nil
	}
	slices.SortFunc(offline, model.Replica.Compare)
	e.logf(stateChangeLogger, model.Info, "mark replicas %v on broker %d as offline", offline, ev.Broker)
	return e.onReplicasBecomeOffline(offline, "its log directory failed")
}
