package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"kstate/model"
)

// This file is what the external tests need of the inside.

// LeaveInOwnBatch leaves something unsent in the controller's own batch.
func LeaveInOwnBatch(e *Engine) { e.own.metadataTo[0] = true }

// Strict reads JSON; a field that v does not have is an error.
func Strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// faultOps are the calls that cases let fail.
var faultOps = []string{"get_state", "create_state", "update_state", "get_config", "controller_epoch"}

// CheckFault tells whether FaultResult knows the op and the error.
func CheckFault(op, name string) error {
	if !slices.Contains(faultOps, op) {
		return fmt.Errorf("no zk_op %q", op)
	}
	if name == "EXCEPTION" || name == "CONTROLLER_MOVED" {
		return nil
	}
	_, err := model.ParseCode(name)
	return err
}

// FaultResult is the result of a call if it is the op that is to fail, else nil:
// with a ZooKeeper code for every item, with none at all (EXCEPTION), or with
// a fence that no longer holds (CONTROLLER_MOVED).
func FaultResult(c *model.Call, op, name string) *model.Result {
	fence := op == "controller_epoch" && c.Fenced
	if c.Purpose != op && !fence {
		return nil
	}
	if name == "EXCEPTION" {
		return &model.Result{Code: model.CodeRuntimeInconsistency}
	}
	r := &model.Result{Ops: make([]model.OpResult, len(c.Ops))}
	code, _ := model.ParseCode(name)
	for i := range r.Ops {
		r.Ops[i].Code = code
		if fence || name == "CONTROLLER_MOVED" {
			r.Ops[i].Code, r.Ops[i].Check = model.CodeRuntimeInconsistency, model.CodeBadVersion
		}
	}
	return r
}
