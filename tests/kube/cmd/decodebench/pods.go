// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What the two writers of a pod's life, the controller manager and the kubelet, leave in
// managedFields, somewhat shortened.
const (
	controllerFields = `{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},` +
		`"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},` +
		`"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},"f:spec":{"f:affinity":{},` +
		`"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{},"f:image":{},"f:livenessProbe":{},"f:name":{},` +
		`"f:ports":{},"f:readinessProbe":{},"f:resources":{}}},"f:volumes":{}}}`
	kubeletFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{}},"f:containerStatuses":{},"f:hostIP":{},` +
		`"f:phase":{},"f:podIP":{},"f:podIPs":{},"f:startTime":{}}}`
)

type maker struct {
	*rand.Rand
	now time.Time
}

func makePods(n int) []v1.Pod {
	m := &maker{rand.New(rand.NewPCG(36, 3)), time.Unix(1_760_000_000, 0)}
	pods := make([]v1.Pod, n)
	for i := range pods {
		m.pod(&pods[i], i)
	}
	return pods
}

func (m *maker) letters(n int) string {
	const from = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = from[m.IntN(len(from))]
	}
	return string(b)
}

func (m *maker) uid() types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", m.Uint32(), m.IntN(1<<16), m.IntN(1<<12), m.IntN(1<<12), m.Uint64()>>16))
}

// at is a moment within so many seconds of the pod's start.
func (m *maker) at(start time.Time, seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(m.IntN(seconds+1)) * time.Second))
}

func one[T any](v T) *T { return &v }

func (m *maker) pod(p *v1.Pod, i int) {
	app := fmt.Sprintf("%s-%s", []string{"checkout", "search", "billing", "frontend", "mailer"}[i%5], []string{"api", "worker", "web"}[i%3])
	hash := m.letters(10)
	start := m.now.Add(-time.Duration(m.IntN(30*24*3600)) * time.Second)
	owner, ip := m.uid(), fmt.Sprintf("10.%d.%d.%d", m.IntN(256), m.IntN(256), m.IntN(254)+1)
	host := fmt.Sprintf("172.16.%d.%d", m.IntN(256), m.IntN(254)+1)

	p.ObjectMeta = metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%s-%s", app, hash, m.letters(5)), GenerateName: app + "-" + hash + "-",
		Namespace: fmt.Sprintf("team-%02d", i%40), UID: m.uid(), ResourceVersion: fmt.Sprint(40_000_000 + i*13),
		Generation: 1, CreationTimestamp: metav1.NewTime(start),
		Labels: map[string]string{
			"app.kubernetes.io/name": app, "app.kubernetes.io/version": fmt.Sprintf("v1.%d.%d", m.IntN(40), m.IntN(10)),
			"pod-template-hash": hash, "team": fmt.Sprintf("team-%02d", i%40),
		},
		Annotations: map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "9102",
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + hash, UID: owner,
			Controller: one(true), BlockOwnerDeletion: one(true),
		}},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{
				Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", Time: one(metav1.NewTime(start)),
				FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fmt.Sprintf(controllerFields, owner))},
			},
			{
				Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: one(m.at(start, 60)),
				FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(kubeletFields)}, Subresource: "status",
			},
		},
	}
	p.Spec = m.spec(app, i)
	p.Status = m.status(p, start, ip, host)
}

func (m *maker) spec(app string, i int) v1.PodSpec {
	token := "kube-api-access-" + m.letters(5)
	cpu := []string{"50m", "100m", "250m", "500m", "1"}[m.IntN(5)]
	memory := []string{"64Mi", "128Mi", "256Mi", "1Gi", "2Gi"}[m.IntN(5)]
	probe := func(path string, delay int32) *v1.Probe {
		return &v1.Probe{
			ProbeHandler:        v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: "HTTP"}},
			InitialDelaySeconds: delay, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	return v1.PodSpec{
		NodeName: fmt.Sprintf("node-%04d", m.IntN(1000)), RestartPolicy: "Always", DNSPolicy: "ClusterFirst",
		SchedulerName: "default-scheduler", ServiceAccountName: app, DeprecatedServiceAccount: app,
		TerminationGracePeriodSeconds: one(int64(30)), EnableServiceLinks: one(true), Priority: one(int32(0)),
		PreemptionPolicy: one(v1.PreemptLowerPriority),
		SecurityContext:  &v1.PodSecurityContext{},
		Containers: []v1.Container{{
			Name: "main", Image: fmt.Sprintf("registry.test/shop/%s:v1.%d.%d", app, m.IntN(40), m.IntN(10)), ImagePullPolicy: "IfNotPresent",
			Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}},
			Env: []v1.EnvVar{
				{Name: "LOG_LEVEL", Value: []string{"info", "warn", "debug"}[i%3]},
				{Name: "POD_NAME", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
			},
			Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)},
				Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)},
			},
			VolumeMounts: []v1.VolumeMount{
				{Name: "config", ReadOnly: true, MountPath: "/etc/app"},
				{Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
			},
			LivenessProbe: probe("/healthz", 15), ReadinessProbe: probe("/readyz", 0),
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
		}},
		Volumes: []v1.Volume{
			{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
				LocalObjectReference: v1.LocalObjectReference{Name: app + "-config"}, DefaultMode: one(int32(420)),
			}}},
			{Name: token, VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
				Sources: []v1.VolumeProjection{
					{ServiceAccountToken: &v1.ServiceAccountTokenProjection{ExpirationSeconds: one(int64(3607)), Path: "token"}},
					{ConfigMap: &v1.ConfigMapProjection{
						LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
					}},
				},
				DefaultMode: one(int32(420)),
			}}},
		},
		Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
				Weight: 100, PodAffinityTerm: v1.PodAffinityTerm{
					TopologyKey:   "kubernetes.io/hostname",
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": app}},
				},
			}},
		}},
		Tolerations: []v1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: one(int64(300))},
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: one(int64(300))},
		},
	}
}

func (m *maker) status(p *v1.Pod, start time.Time, ip, host string) v1.PodStatus {
	s := v1.PodStatus{
		Phase: v1.PodRunning, HostIP: host, PodIP: ip, QOSClass: v1.PodQOSBurstable, StartTime: one(m.at(start, 1)),
		HostIPs: []v1.HostIP{{IP: host}}, PodIPs: []v1.PodIP{{IP: ip}}, ObservedGeneration: 1,
	}
	for _, kind := range []v1.PodConditionType{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		s.Conditions = append(s.Conditions, v1.PodCondition{
			Type: kind, Status: v1.ConditionTrue, LastTransitionTime: m.at(start, 30),
		})
	}
	digest := fmt.Sprintf("%016x%016x%016x%016x", m.Uint64(), m.Uint64(), m.Uint64(), m.Uint64())
	c := p.Spec.Containers[0]
	s.ContainerStatuses = []v1.ContainerStatus{{
		Name: c.Name, Image: c.Image, ImageID: "registry.test/shop/app@sha256:" + digest, Ready: true, Started: one(true),
		RestartCount: int32(m.IntN(3)), State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: m.at(start, 30)}},
		ContainerID: fmt.Sprintf("containerd://%016x%016x%016x%016x", m.Uint64(), m.Uint64(), m.Uint64(), m.Uint64()),
	}}
	return s
}
