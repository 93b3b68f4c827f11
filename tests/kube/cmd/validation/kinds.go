// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apiserver/pkg/registry/rest"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
)

// strategy is what every strategy of upstream's registry can do.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// kinds has one row per kind: its strategy and, if it has one, that of its status.
var kinds = map[string]struct {
	main   strategy
	status rest.RESTUpdateStrategy
}{
	"v1/ConfigMap":             {configmap.Strategy, nil},
	"v1/Endpoints":             {endpoint.Strategy, nil},
	"v1/Event":                 {event.Strategy, nil},
	"v1/LimitRange":            {limitrange.Strategy, nil},
	"v1/Namespace":             {namespace.Strategy, namespace.StatusStrategy},
	"v1/Node":                  {node.Strategy, node.StatusStrategy},
	"v1/PersistentVolume":      {persistentvolume.Strategy, persistentvolume.StatusStrategy},
	"v1/PersistentVolumeClaim": {persistentvolumeclaim.Strategy, persistentvolumeclaim.StatusStrategy},
	"v1/Pod":                   {pod.Strategy, pod.StatusStrategy},
	"v1/PodTemplate":           {podtemplate.Strategy, nil},
	"v1/ReplicationController": {replicationcontroller.Strategy, replicationcontroller.StatusStrategy},
	"v1/ResourceQuota":         {resourcequota.Strategy, resourcequota.StatusStrategy},
	"v1/Secret":                {secret.Strategy, nil},
	"v1/Service":               {service.Strategy, service.StatusStrategy},
	"v1/ServiceAccount":        {serviceaccount.Strategy, nil},
}
