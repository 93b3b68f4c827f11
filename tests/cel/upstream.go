// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// celCase is an expression and the devices on which it is evaluated: a line of cel_eval's input.
type celCase struct {
	Expression         string                          `json:"expression"`
	ConsumableCapacity bool                            `json:"consumableCapacity"`
	ListTypeAttributes bool                            `json:"listTypeAttributes"`
	Slices             []resourceapi.ResourceSliceSpec `json:"slices"`
}

func (c celCase) line() string {
	text, err := json.Marshal(c)
	if err != nil {
		fatal("%v", err)
	}
	return string(text)
}

// expected is what cel_eval should print: "compile HEX" with the error, or "ok MAXCOST" and for
// each device " true COST", " false COST" or " error HEX COST".
func (c celCase) expected() (out string) {
	defer func() {
		if problem := recover(); problem != nil { // a bug of cel-go
			out = "compile " + hex.EncodeToString([]byte(fmt.Sprint("panic: ", problem)))
		}
	}()
	features := dracel.Features{EnableConsumableCapacity: c.ConsumableCapacity, EnableListTypeAttributes: c.ListTypeAttributes}
	result := dracel.GetCompiler(features).CompileCELExpression(c.Expression, dracel.Options{})
	if result.Error != nil {
		return "compile " + hex.EncodeToString([]byte(result.Error.Detail))
	}
	out = fmt.Sprintf("ok %d", result.MaxCost)
	for _, slice := range c.Slices {
		for _, device := range slice.Devices {
			input := dracel.Device{Driver: slice.Driver, AllowMultipleAllocations: device.AllowMultipleAllocations,
				Attributes: device.Attributes, Capacity: device.Capacity}
			out += evaluate(result, input)
		}
	}
	return out
}

func evaluate(result dracel.CompilationResult, input dracel.Device) (out string) {
	defer func() {
		if problem := recover(); problem != nil {
			out = " error " + hex.EncodeToString([]byte(fmt.Sprint("panic: ", problem))) + " -"
		}
	}()
	matches, details, err := result.DeviceMatches(context.Background(), input)
	cost := "0"
	if details != nil && details.ActualCost() != nil {
		cost = fmt.Sprint(*details.ActualCost())
	}
	if err != nil {
		// berth keeps the first 511 bytes.
		return " error " + hex.EncodeToString([]byte(err.Error()[:min(511, len(err.Error()))])) + " " + cost
	}
	return fmt.Sprintf(" %v %s", matches, cost)
}

// readable shows an answer with its texts.
func readable(answer string) string {
	words := strings.Fields(answer)
	for i := 1; i < len(words); i++ {
		if words[i-1] == "error" || words[i-1] == "compile" {
			if text, err := hex.DecodeString(words[i]); err == nil {
				words[i] = fmt.Sprintf("%q", text)
			}
		}
	}
	return strings.Join(words, " ")
}
