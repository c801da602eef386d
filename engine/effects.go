package engine

import (
	"fmt"

	"kstate/model"
)

// call performs operations without a fence. Nothing to do is no step. The error
// is set when no results came at all. Kafka: KafkaZkClient.retryRequestsUntilConnected.
func (e *Engine) call(purpose string, ops []model.Op) ([]model.OpResult, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	return e.perform(&model.Call{Purpose: purpose, Ops: ops})
}

func (e *Engine) perform(c *model.Call) ([]model.OpResult, error) {
	r := e.step(c)
	e.now = max(e.now, r.At)
	if len(r.Ops) != len(c.Ops) {
		code := r.Code
		if code == model.CodeOK {
			code = model.CodeRuntimeInconsistency
		}
		return nil, &keeperError{code, c.Purpose}
	}
	return r.Ops, nil
}

// fenced performs writes, each under the fence of this controller's epoch. The
// first result whose fence failed becomes the error, whatever the others say,
// as in Kafka. Kafka: KafkaZkClient.unwrapResponseWithControllerEpochCheck.
func (e *Engine) fenced(purpose string, ops []model.Op) ([]model.OpResult, error) {
	return e.fencedAt(purpose, ops, e.ctx.EpochZkVersion)
}

func (e *Engine) fencedAt(purpose string, ops []model.Op, epoch int32) ([]model.OpResult, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	results, err := e.perform(&model.Call{Purpose: purpose, Ops: ops, Fenced: true, Epoch: epoch})
	if err != nil {
		return nil, err
	}
	for i := range results {
		switch results[i].Check {
		case model.CodeOK:
		case model.CodeBadVersion:
			return nil, errControllerMoved
		default:
			return nil, &keeperError{results[i].Check, purpose + ": check of " + model.ControllerEpochPath}
		}
	}
	return results, nil
}

// getOp reads a znode; it arms a watch if a handler for that node is registered.
func (e *Engine) getOp(path string) model.Op {
	return model.Op{Kind: model.OpGet, Path: path, Watch: e.nodeHandlers[path]}
}

// get reads one znode; present is false when it does not exist.
func (e *Engine) get(purpose, path string) (data []byte, stat model.Stat, present bool, err error) {
	r, err := e.call(purpose, []model.Op{e.getOp(path)})
	if err != nil {
		return nil, model.Stat{}, false, err
	}
	switch r[0].Code {
	case model.CodeOK:
		return r[0].Data, r[0].Stat, true, nil
	case model.CodeNoNode:
		return nil, model.Stat{}, false, nil
	}
	return nil, model.Stat{}, false, &keeperError{r[0].Code, "get " + path}
}

// exists tells whether a znode is there, arming a watch if a handler is registered.
// Kafka: KafkaZkClient.registerZNodeChangeHandlerAndCheckExistence, pathExists.
func (e *Engine) exists(path string) (bool, error) {
	r, err := e.call("exists", []model.Op{{Kind: model.OpExists, Path: path, Watch: e.nodeHandlers[path]}})
	if err != nil {
		return false, err
	}
	switch r[0].Code {
	case model.CodeOK:
		return true, nil
	case model.CodeNoNode:
		return false, nil
	}
	return false, &keeperError{r[0].Code, "exists " + path}
}

// children lists a znode's children; a missing znode has none. With watch it
// arms the child watch if a handler is registered. Kafka: KafkaZkClient.getChildren.
func (e *Engine) children(path string, watch bool) ([]string, error) {
	r, err := e.call("children", []model.Op{{Kind: model.OpChildren, Path: path, Watch: watch && e.childHandlers[path]}})
	if err != nil {
		return nil, err
	}
	switch r[0].Code {
	case model.CodeOK:
		return r[0].Children, nil
	case model.CodeNoNode:
		return nil, nil
	}
	return nil, &keeperError{r[0].Code, "children " + path}
}

func (e *Engine) listenNode(path string)  { e.listen(e.nodeHandlers, path, false) }
func (e *Engine) listenChild(path string) { e.listen(e.childHandlers, path, true) }

func (e *Engine) listen(handlers map[string]bool, path string, child bool) {
	e.step(&model.Watch{Path: path, Child: child, On: true})
	if !handlers[path] {
		e.watching[model.ParsePath(path).Kind]++
	}
	handlers[path] = true
}

func (e *Engine) ignoreNode(path string)  { e.ignore(e.nodeHandlers, path, false) }
func (e *Engine) ignoreChild(path string) { e.ignore(e.childHandlers, path, true) }

func (e *Engine) ignore(handlers map[string]bool, path string, child bool) {
	if handlers[path] {
		e.step(&model.Watch{Path: path, Child: child})
		e.watching[model.ParsePath(path).Kind]--
		delete(handlers, path)
	}
}

const (
	controllerLogger  = "controller"
	stateChangeLogger = "state.change.logger"
)

func (e *Engine) logf(logger string, level model.Level, format string, args ...any) {
	e.step(&model.Log{Logger: logger, Level: level, Text: fmt.Sprintf(format, args...)})
}

// mark puts a topic into a deletion set, or takes it out, if that changes anything.
func (e *Engine) mark(topic string, set model.DeletionSet, on bool, reason string, why model.IneligibleReason) {
	var has bool
	switch set {
	case model.ToBeDeleted:
		has = e.ctx.TopicsToBeDeleted.Has(topic)
	case model.DeletionStarted:
		has = e.ctx.TopicsWithDeletionStarted.Has(topic)
	case model.IneligibleForDeletion:
		has = e.ctx.TopicsIneligibleForDeletion.Has(topic) && (!on || e.ctx.IneligibleReason(topic) == why)
	}
	if has == on {
		return
	}
	e.step(&model.Mark{Topic: topic, Set: set, On: on, Reason: reason, Why: why})
	switch {
	case set == model.ToBeDeleted: // leaving the queue is part of forgetting the topic
		e.ctx.QueueTopicDeletion(topic)
	case set == model.DeletionStarted:
		e.ctx.BeginTopicDeletion(topic)
	case on:
		e.ctx.MarkIneligible(topic, why)
	default:
		e.ctx.ClearIneligible(topic)
	}
}

// send queues a request for a broker. Kafka: ControllerChannelManager.sendRequest.
func (e *Engine) send(broker int32, r model.ControlRequest) {
	if !e.channels[broker] {
		e.logf(controllerLogger, model.Warn, "not sending %s to broker %d, since it is offline", r.Kind(), broker)
		return
	}
	e.step(&model.Send{Broker: broker, Request: r})
}

// linkUp opens the channel to a broker. Kafka: ControllerChannelManager.addBroker.
func (e *Engine) linkUp(b model.Broker) error {
	if e.channels[b.ID] {
		return nil
	}
	if _, ok := b.Endpoint(e.cfg.InterBrokerListener); !ok {
		return &noEndpoint{b.ID, e.cfg.InterBrokerListener}
	}
	e.step(&model.Link{Broker: b, Up: true})
	e.channels[b.ID] = true
	return nil
}

// linkDown drops the channel and what is queued in it.
// Kafka: ControllerChannelManager.removeBroker.
func (e *Engine) linkDown(id int32) {
	if e.channels[id] {
		e.step(&model.Link{Broker: model.Broker{ID: id}})
		delete(e.channels, id)
		e.metadataLost(id)
	}
}

// reply answers an ask once.
func (e *Engine) reply(id uint64, a model.Answer) {
	ask, ok := e.asks[id]
	if !ok {
		return
	}
	delete(e.asks, id)
	e.step(&model.Reply{Ask: id, Name: ask.AskName(), Answer: a})
}
