package engine

import (
	"errors"
	"maps"
	"slices"

	"kstate/model"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// processStartup watches /controller and runs for the role.
// Kafka: KafkaController.processStartup.
func (e *Engine) processStartup() error {
	if on := e.cfg.Mend.String(); on != "" {
		e.logf(controllerLogger, model.Info, "faults of Kafka's controller that this one does not share (--mend): %s", on)
	}
	e.listenNode(model.ControllerPath)
	if _, err := e.exists(model.ControllerPath); err != nil {
		return err
	}
	return e.elect()
}

// processReelect: nobody holds the role any more. Kafka: KafkaController.processReelect.
func (e *Engine) processReelect() error {
	if err := e.maybeResign(); err != nil {
		return err
	}
	return e.elect()
}

// processRegisterBrokerAndReelect: a new session is there.
// Kafka: KafkaController.processRegisterBrokerAndReelect.
func (e *Engine) processRegisterBrokerAndReelect() error {
	if e.cfg.Registration != nil {
		if err := e.registerBroker(); err != nil {
			return err
		}
	}
	return e.processReelect()
}

// registerBroker makes the process's broker znode, created and set in one
// transaction. One that exists already is fine if it is of this session (the
// answer to the creation got lost), is made anew if it is of the session before,
// and else is another broker's. Kafka: KafkaZkClient.registerBroker, CheckedEphemeral.
func (e *Engine) registerBroker() error {
	path := model.BrokerIDPath(e.cfg.ID)
	for {
		r, err := e.perform(&model.Call{Purpose: "register_broker", Atomic: true, Ops: []model.Op{
			{Kind: model.OpCreate, Path: path, Ephemeral: true},
			{Kind: model.OpSet, Path: path, Data: e.cfg.Registration}}})
		if err != nil {
			return err
		}
		code := firstCode(r)
		if code == model.CodeNodeExists {
			var done bool
			if done, err = e.settleRegistration(path); err != nil {
				return err
			}
			if !done {
				continue
			}
		} else if code != model.CodeOK {
			return &keeperError{code, "register at " + path}
		}
		e.registeredIn = e.session
		return nil
	}
}

// settleRegistration looks whose a registration is: done when it is ours, an
// error when it is another's, else it is gone now.
func (e *Engine) settleRegistration(path string) (done bool, err error) {
	_, stat, present, err := e.get("get_broker", path)
	switch owner := stat.EphemeralOwner; {
	case err != nil || !present:
		return false, err
	case owner != 0 && owner == e.session:
		return true, nil
	case owner != e.registeredIn || owner == 0:
		return false, &keeperError{model.CodeNodeExists, "register at " + path}
	}
	e.logf(controllerLogger, model.Info, "%s is of the session before: it is deleted and made again", path)
	r, err := e.call("delete_broker", []model.Op{{Kind: model.OpDelete, Path: path, Version: model.AnyVersion}})
	if err == nil && r[0].Code != model.CodeOK && r[0].Code != model.CodeNoNode {
		err = &keeperError{r[0].Code, "delete " + path}
	}
	return false, err
}

// processExpire: the session is gone, and with it the role.
// Kafka: KafkaController.processExpire.
func (e *Engine) processExpire() error {
	e.active = NoController
	e.resign()
	return nil
}

// formerSelf: /controller holds this process's id, but from a session that is
// not the present one. Kafka compares ids only, and is saved by its registration
// as a broker, which fails in that case; a process that does not register would
// take itself for the controller without having run a failover.
const formerSelf int32 = -3

// getControllerID reads /controller. Kafka: KafkaZkClient.getControllerId.
func (e *Engine) getControllerID() (int32, error) {
	data, stat, present, err := e.get("get_controller", model.ControllerPath)
	if err != nil || !present {
		return NoController, err
	}
	id, present, err := model.DecodeController(model.ControllerPath, data)
	switch {
	case err != nil || !present:
		return NoController, err
	case id == e.cfg.ID && e.session != 0 && stat.EphemeralOwner != e.session:
		return formerSelf, nil
	}
	return id, nil
}

// elect runs for the role unless somebody holds it. Kafka: KafkaController.elect.
func (e *Engine) elect() error {
	id, err := e.getControllerID()
	if err != nil {
		return err
	}
	e.active = id
	if id != NoController && !e.cfg.TakeOver {
		e.logf(controllerLogger, model.Debug, "broker %d has been elected as the controller, so stopping the election process", e.ActiveController())
		return nil
	}
	if wait, err := e.awaitsProtocol(); wait || err != nil {
		return err
	}
	register := e.registerController
	if id != NoController {
		e.cfg.TakeOver = false
		register = func() (int32, int32, error) { return e.takeOver(id) }
	}
	err = e.tryToBecomeController(register)
	e.takeoverErr = err
	switch {
	case err == nil:
		return nil
	case moved(err):
		e.logf(controllerLogger, model.Warn, "a controller has been elected but just resigned, or another one was faster: %v", err)
		return e.maybeResign()
	}
	e.logf(controllerLogger, model.Error, "error while electing or becoming controller on broker %d, trigger controller movement immediately: %v", e.cfg.ID, err)
	if _, taken := errors.AsType[*idTaken](err); taken {
		return e.bar(err)
	}
	return e.triggerControllerMove()
}

func (e *Engine) tryToBecomeController(register func() (epoch, version int32, err error)) error {
	epoch, version, err := register()
	if err != nil {
		return err
	}
	e.ctx.Epoch, e.ctx.EpochZkVersion = epoch, version
	e.active = e.cfg.ID
	e.logf(controllerLogger, model.Info, "%d successfully elected as the controller: epoch incremented to %d and epoch zk version is now %d", e.cfg.ID, epoch, version)
	return e.failover()
}

// registerController creates /controller and raises /controller_epoch in one
// transaction; it returns the new epoch and its data version. A refusal is not a
// loss when it is our own earlier attempt whose answer got lost.
// Kafka: KafkaZkClient.registerControllerAndIncrementControllerEpoch.
func (e *Engine) registerController() (epoch, version int32, err error) {
	current, version, err := e.controllerEpoch()
	if err != nil {
		return 0, 0, err
	}
	epoch = current + 1
	r, err := e.perform(&model.Call{Purpose: "controller_epoch", Atomic: true, Ops: []model.Op{
		{Kind: model.OpCreate, Path: model.ControllerPath, Ephemeral: true, Data: model.EncodeController(2, e.cfg.ID, e.now, -1)},
		{Kind: model.OpSet, Path: model.ControllerEpochPath, Version: version, Data: model.EncodeControllerEpoch(epoch)}}})
	if err != nil {
		return 0, 0, err
	}
	switch code := firstCode(r); code {
	case model.CodeOK:
		return epoch, r[1].Stat.Version, nil
	case model.CodeNodeExists, model.CodeBadVersion:
		return e.checkOwnRegistration(epoch)
	default:
		return 0, 0, &keeperError{code, "create " + model.ControllerPath}
	}
}

// firstCode is the first code of a transaction that is not OK.
func firstCode(rs []model.OpResult) model.Code {
	for _, r := range rs {
		if r.Code != model.CodeOK && r.Code != model.CodeRuntimeInconsistency {
			return r.Code
		}
	}
	return model.CodeOK
}

// controllerEpoch reads /controller_epoch, creating it with 0 when it is missing.
// Kafka: KafkaZkClient.getControllerEpoch, maybeCreateControllerEpochZNode.
func (e *Engine) controllerEpoch() (epoch, version int32, err error) {
	data, stat, present, err := e.get("get_controller_epoch", model.ControllerEpochPath)
	if err != nil {
		return 0, 0, err
	}
	if !present {
		r, err := e.call("create_controller_epoch", []model.Op{{Kind: model.OpCreate, Path: model.ControllerEpochPath, Data: model.EncodeControllerEpoch(0)}})
		if err != nil {
			return 0, 0, err
		}
		switch r[0].Code {
		case model.CodeOK:
			return 0, 0, nil
		case model.CodeNodeExists:
			if data, stat, present, err = e.get("get_controller_epoch", model.ControllerEpochPath); err != nil {
				return 0, 0, err
			}
			if !present {
				return 0, 0, illegalf("%s existed before but goes away while trying to read it", model.ControllerEpochPath)
			}
		default:
			return 0, 0, &keeperError{r[0].Code, "create " + model.ControllerEpochPath}
		}
	}
	epoch, err = model.DecodeControllerEpoch(model.ControllerEpochPath, data)
	return epoch, stat.Version, err
}

// checkOwnRegistration finds out whether a refused registration was in fact ours.
func (e *Engine) checkOwnRegistration(epoch int32) (int32, int32, error) {
	id, err := e.getControllerID()
	if err != nil {
		return 0, 0, err
	}
	if id == e.cfg.ID {
		data, stat, present, err := e.get("get_controller_epoch", model.ControllerEpochPath)
		if err != nil {
			return 0, 0, err
		}
		if !present {
			return 0, 0, illegalf("%s existed before but goes away while trying to read it", model.ControllerEpochPath)
		}
		now, err := model.DecodeControllerEpoch(model.ControllerEpochPath, data)
		if err != nil {
			return 0, 0, err
		}
		if now == epoch {
			return epoch, stat.Version, nil
		}
	}
	return 0, 0, errControllerMoved
}

// maybeResign reads who the controller is, watching for changes, and gives the
// role up if it was ours and no longer is. Kafka: KafkaController.maybeResign.
func (e *Engine) maybeResign() error {
	was := e.IsActive()
	if _, err := e.exists(model.ControllerPath); err != nil {
		return err
	}
	id, err := e.getControllerID()
	if err != nil {
		return err
	}
	e.active = id
	if was && !e.IsActive() {
		e.resign()
	}
	return nil
}

// triggerControllerMove gives the role up by deleting /controller, so that all
// run for it again. If somebody else holds it already, the term is not undone, and
// its leftovers make the next failover of this process fail once. Kafka: KafkaController.triggerControllerMove.
func (e *Engine) triggerControllerMove() error {
	id, err := e.getControllerID()
	if err != nil {
		return err
	}
	e.active = id
	if !e.IsActive() {
		e.logf(controllerLogger, model.Warn, "controller has already moved when trying to trigger controller movement")
		return nil
	}
	version := e.ctx.EpochZkVersion
	e.active = NoController
	e.resign()
	_, err = e.fencedAt("delete_controller", []model.Op{{Kind: model.OpDelete, Path: model.ControllerPath, Version: model.AnyVersion}}, version)
	if moved(err) {
		e.logf(controllerLogger, model.Warn, "controller has already moved when trying to trigger controller movement")
		return nil
	}
	return err
}

// handleIllegalState: the controller's own batch is in disorder; the role moves.
// Kafka: KafkaController.handleIllegalState.
func (e *Engine) handleIllegalState(err error) error {
	e.logf(controllerLogger, model.Error, "forcing the controller to resign: %v", err)
	e.own.clear()
	if moveErr := e.triggerControllerMove(); moveErr != nil {
		return moveErr
	}
	return err
}

// resign undoes everything that failover set up, in Kafka's order. The request
// batches are not cleared: leftovers of the two machines survive (KAFKA-12315).
// Kafka: KafkaController.onControllerResignation.
func (e *Engine) resign() {
	e.logf(controllerLogger, model.Debug, "resigning")
	e.ignoreChild(model.IsrChangeNotificationPath)
	e.ignoreNode(model.ReassignPartitionsPath)
	e.ignoreNode(model.PreferredReplicaElectionPath)
	e.ignoreChild(model.LogDirEventNotificationPath)
	e.ignoreAll(model.BrokerZnode)
	if e.rebalancing {
		e.step(&model.Alarm{Name: rebalanceAlarm, Cancel: true})
		e.rebalancing = false
	}
	e.scheduling = false
	e.ignoreAll(model.PartitionStateZnode)
	e.logf(controllerLogger, model.Info, "stopped partition state machine")
	e.ignoreChild(model.TopicsPath)
	e.ignoreAll(model.TopicZnode)
	e.ignoreChild(model.DeleteTopicsPath)
	e.logf(controllerLogger, model.Info, "stopped replica state machine")
	e.ignoreChild(model.BrokerIDsPath)
	for _, id := range ids(e.channels) {
		e.linkDown(id)
	}
	for _, b := range []*batch{e.psm, e.rsm} {
		if !b.empty() && e.cfg.Mend.ClearBatches {
			b.clear()
		} else if !b.empty() {
			e.logf(controllerLogger, model.Warn, "%s keeps unsent requests, of %s: every later transition through it in this process fails (KAFKA-12315). Restart the process to be rid of them; --mend clear-batches drops them", b.machine, b.subjects())
		}
	}
	e.ctx.Reset()
	e.logf(controllerLogger, model.Info, "resigned")
}

func (e *Engine) ignoreAll(kind model.ZnodeKind) {
	for _, path := range sortedKeys(e.nodeHandlers) {
		if model.ParsePath(path).Kind == kind {
			e.ignoreNode(path)
		}
	}
}
