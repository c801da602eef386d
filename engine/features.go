package engine

import (
	"fmt"
	"maps"
	"math"

	"kstate/model"
)

// setUpFeatureVersioning brings /feature in line with the inter-broker protocol.
// Kafka waits here until its own cache has followed; there is no such cache.
// Kafka: KafkaController.maybeSetupFeatureVersioning.
func (e *Engine) setUpFeatureVersioning() error {
	if e.cfg.IBP == model.NoIBP {
		return nil // done when it is known
	}
	want := model.FinalizedFeatures{Version: e.cfg.IBP.FeatureZnodeVersion(), Status: model.FeaturesDisabled, Features: map[string]int16{}}
	data, _, present, err := e.get("get_feature", model.FeaturePath)
	if err != nil {
		return err
	}
	enable := e.cfg.IBP.FeatureVersioning()
	if enable {
		want.Status = model.FeaturesEnabled
	}
	op := model.Op{Kind: model.OpCreate, Path: model.FeaturePath}
	if present {
		have, err := model.DecodeFeatures(model.FeaturePath, data)
		if err != nil {
			return err
		}
		if enable && have.Status == model.FeaturesEnabled {
			want.Features = have.Features
		}
		if have.Version == want.Version && have.Status == want.Status && maps.Equal(have.Features, want.Features) {
			e.finalized = want.Features
			return nil
		}
		op.Kind, op.Version = model.OpSet, model.AnyVersion
	}
	op.Data = model.EncodeFeatures(want)
	if err := e.writePlain("write_feature", op); err != nil {
		return err
	}
	e.finalized = want.Features
	return nil
}

// writePlain is one unfenced write that must succeed.
func (e *Engine) writePlain(purpose string, op model.Op) error {
	r, err := e.call(purpose, []model.Op{op})
	if err != nil {
		return err
	}
	if r[0].Code != model.CodeOK {
		return &keeperError{r[0].Code, op.String()}
	}
	return nil
}

// processUpdateFeatures applies the valid ones of the updates together.
// Kafka: KafkaController.processFeatureUpdates.
func (e *Engine) processUpdateFeatures(ev *model.UpdateFeaturesEvent) error {
	if !e.IsActive() {
		e.reply(ev.AskID, &model.UpdateFeaturesAnswer{Error: model.ErrNotController})
		return nil
	}
	levels := maps.Clone(e.finalized)
	if levels == nil {
		levels = map[string]int16{}
	}
	answer := &model.UpdateFeaturesAnswer{}
	valid := map[string]bool{}
	for _, u := range ev.Ask.Updates {
		r := model.FeatureResult{Feature: u.Feature}
		if why := e.validateFeatureUpdate(u); why != "" {
			r.Error, r.Message = model.ErrInvalidRequest, why
		} else {
			valid[u.Feature] = true
			if u.MaxLevel < 1 {
				delete(levels, u.Feature)
			} else {
				levels[u.Feature] = u.MaxLevel
			}
		}
		answer.Features = append(answer.Features, r)
	}
	if len(valid) > 0 && !maps.Equal(levels, e.finalized) {
		err := e.writePlain("write_feature", model.Op{Kind: model.OpSet, Path: model.FeaturePath, Version: model.AnyVersion,
			Data: model.EncodeFeatures(model.FinalizedFeatures{Version: e.cfg.IBP.FeatureZnodeVersion(), Status: model.FeaturesEnabled, Features: levels})})
		if err == nil {
			e.finalized = levels
		} else {
			e.logf(controllerLogger, model.Error, "processing of feature updates failed: %v", err)
			for i := range answer.Features {
				if valid[answer.Features[i].Feature] {
					answer.Features[i].Error, answer.Features[i].Message = model.ErrFeatureUpdateFailed, err.Error()
				}
			}
		}
	}
	e.reply(ev.AskID, answer)
	return nil
}

// validateFeatureUpdate says in words what is wrong; empty when nothing is.
// Kafka: KafkaController.validateFeatureUpdate.
func (e *Engine) validateFeatureUpdate(u model.FeatureUpdate) string {
	old, finalized := e.finalized[u.Feature]
	remove := u.MaxLevel < 1 && u.Type != model.Upgrade
	supported, known := e.cfg.Features[u.Feature]
	switch {
	case u.Feature == "":
		return "feature name can not be empty"
	case u.Type < model.Upgrade || u.Type > model.UnsafeDowngrade:
		return "received unknown upgrade type"
	case remove && !finalized:
		return fmt.Sprintf("can not delete non-existing finalized feature %s", u.Feature)
	case remove:
		return ""
	case u.MaxLevel < 1:
		return fmt.Sprintf("can not provide maxVersionLevel %d less than 1 without a downgrade", u.MaxLevel)
	case finalized && u.MaxLevel == old:
		return fmt.Sprintf("can not upgrade or downgrade feature %s to the same level %d", u.Feature, old)
	case finalized && u.MaxLevel < old && u.Type != model.SafeDowngrade:
		return fmt.Sprintf("can not downgrade feature %s from %d to %d without a safe downgrade", u.Feature, old, u.MaxLevel)
	case finalized && u.MaxLevel > old && u.Type != model.Upgrade:
		return fmt.Sprintf("can not upgrade feature %s from %d to %d as a downgrade", u.Feature, old, u.MaxLevel)
	case !known:
		return fmt.Sprintf("could not apply finalized feature update: the controller does not support feature %s", u.Feature)
	case u.MaxLevel < supported.Min || u.MaxLevel > supported.Max:
		return fmt.Sprintf("level %d of feature %s is outside the supported range %d to %d", u.MaxLevel, u.Feature, supported.Min, supported.Max)
	}
	for _, b := range e.ctx.Brokers() {
		if r, ok := b.Features[u.Feature]; !ok || u.MaxLevel < r.Min || u.MaxLevel > r.Max {
			return fmt.Sprintf("broker %d does not support level %d of feature %s", b.ID, u.MaxLevel, u.Feature)
		}
	}
	return ""
}

// processAllocateProducerIDs hands out the next block of producer ids.
// Kafka: KafkaController.processAllocateProducerIds, ZkProducerIdManager.getNewProducerIdBlock.
func (e *Engine) processAllocateProducerIDs(ev *model.AllocateProducerIDsEvent) error {
	refuse := func(code model.KafkaError) error {
		e.reply(ev.AskID, &model.AllocateProducerIDsAnswer{Error: code})
		return nil
	}
	if !e.IsActive() {
		return refuse(model.ErrNotController)
	}
	b := e.ctx.Broker(ev.Ask.BrokerID)
	switch {
	case b == nil:
		return refuse(model.ErrBrokerIDNotRegistered)
	case b.Epoch != ev.Ask.BrokerEpoch:
		return refuse(model.ErrStaleBrokerEpoch)
	}
	block, err := e.nextProducerIDBlock(ev.Ask.BrokerID)
	if err != nil {
		e.logf(controllerLogger, model.Error, "producer ids for broker %d: %v", ev.Ask.BrokerID, err)
		return refuse(kafkaErrorOf(err))
	}
	e.reply(ev.AskID, &model.AllocateProducerIDsAnswer{Start: block.First, Len: block.Size})
	return nil
}

// nextProducerIDBlock writes the block after the one in the znode, again while
// somebody else is faster.
func (e *Engine) nextProducerIDBlock(broker int32) (model.ProducerIDBlock, error) {
	for {
		data, stat, present, err := e.get("get_producer_id_block", model.ProducerIDBlockPath)
		if err != nil {
			return model.ProducerIDBlock{}, err
		}
		next := model.ProducerIDBlock{Broker: broker, Size: model.ProducerIDBlockSize}
		if present && data != nil {
			last, err := model.DecodeProducerIDBlock(model.ProducerIDBlockPath, data)
			if err != nil {
				return next, err
			}
			if last.Last() > math.MaxInt64-model.ProducerIDBlockSize {
				return next, fmt.Errorf("exhausted all producer ids: the last block ends at %d", last.Last())
			}
			next.First = last.Last() + 1
		}
		r, err := e.call("set_producer_id_block", []model.Op{{Kind: model.OpSet, Path: model.ProducerIDBlockPath, Version: stat.Version, Data: model.EncodeProducerIDBlock(next)}})
		if err != nil {
			return next, err
		}
		switch r[0].Code {
		case model.CodeOK:
			return next, nil
		case model.CodeBadVersion:
		default:
			return next, &keeperError{r[0].Code, "set " + model.ProducerIDBlockPath}
		}
	}
}
