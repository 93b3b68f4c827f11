// SPDX-License-Identifier: Apache-2.0

//go:build oldconfig

// Oldconfig says what a kube-scheduler of an older release makes of flags and configuration files.
// It is built inside that release's own module (old_configs.py), sets the scheduler up as its
// command does and asks the result.
//
// Standard input: a JSON list of lists of flags. Standard output: a JSON list of what came of each:
// the configuration with all defaults, the plugins that run at every point, or the error.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

type outcome struct {
	Error   string                       `json:"error,omitempty"`
	Config  json.RawMessage              `json:"config,omitempty"`
	Plugins map[string]map[string]string `json:"plugins,omitempty"`
}

// The ports without TLS of up to 1.22 would be listened on; nothing is to be served here.
func servesInsecurely(flags []string, opts *options.Options) {
	if f := reflect.ValueOf(opts).Elem().FieldByName("CombinedInsecureServing"); f.IsValid() {
		for _, s := range flags {
			if strings.HasPrefix(s, "--port") || strings.HasPrefix(s, "--address") {
				return
			}
		}
		f.Set(reflect.Zero(f.Type()))
	}
}

// "A=1 B" for every point that runs something.
func pointsOf(p *config.Plugins) map[string]string {
	points := map[string]string{}
	v := reflect.ValueOf(*p)
	for i := 0; i < v.NumField(); i++ {
		set, ok := v.Field(i).Interface().(config.PluginSet)
		if !ok || len(set.Enabled) == 0 {
			continue
		}
		var names []string
		for _, e := range set.Enabled {
			name := e.Name
			if e.Weight != 0 {
				name = fmt.Sprintf("%s=%d", name, e.Weight)
			}
			names = append(names, name)
		}
		field := v.Type().Field(i).Name
		points[strings.ToLower(field[:1])+field[1:]] = strings.Join(names, " ")
	}
	return points
}

func encode(c *config.KubeSchedulerConfiguration) (json.RawMessage, error) {
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil {
		return nil, err
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, gv), c)
}

func try(flags []string) (o *outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	opts := options.NewOptions()
	fs := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	for _, f := range opts.Flags.FlagSets {
		fs.AddFlagSet(f)
	}
	if err := fs.Parse(flags); err != nil {
		return nil, err
	}
	servesInsecurely(flags, opts)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cc, sched, err := app.Setup(ctx, opts)
	if err != nil {
		return nil, err
	}
	written, err := encode(&cc.ComponentConfig)
	if err != nil {
		return nil, fmt.Errorf("cannot be written: %w", err)
	}
	o = &outcome{Config: written, Plugins: map[string]map[string]string{}}
	for name, framework := range sched.Profiles {
		o.Plugins[name] = pointsOf(framework.ListPlugins())
	}
	return o, nil
}

func main() {
	// At level 2 the configuration is completed for the log, which nobody reads.
	levels := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(levels)
	for name, value := range map[string]string{"v": "2", "logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := levels.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)

	var cases [][]string
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	outcomes := []*outcome{}
	for _, flags := range cases {
		o, err := try(flags)
		if err != nil {
			o = &outcome{Error: err.Error()}
		}
		outcomes = append(outcomes, o)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(outcomes); err != nil {
		panic(err)
	}
}
