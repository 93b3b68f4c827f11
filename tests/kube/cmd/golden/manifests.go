// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// manifest is an object as JSON decodes it.
type manifest = map[string]any

// maybe sets a member in p of 100 cases.
func (r *random) maybe(m manifest, p int, key string, value func() any) {
	if r.chance(p) {
		m[key] = value()
	}
}

// some gives lo to hi of the names, in any order, each at most once.
func (r *random) some(names []string, lo, hi int) []string {
	order := r.Perm(len(names))
	out := []string{}
	for _, i := range order[:r.between(lo, min(hi, len(names)))] {
		out = append(out, names[i])
	}
	return out
}

func (r *random) texts(names []string, lo, hi int) []any {
	out := []any{}
	for _, n := range r.some(names, lo, hi) {
		out = append(out, n)
	}
	return out
}

func (r *random) labels(p int) any {
	out := manifest{}
	for _, k := range []string{"a", "b", "c"} {
		r.maybe(out, p, k, func() any { return pick(r, []string{"1", "2"}) })
	}
	return out
}

func (r *random) list(names []string, lo, hi int, item func(name string) manifest) any {
	out := []any{}
	for _, n := range r.some(names, lo, hi) {
		out = append(out, item(n))
	}
	return out
}

func (r *random) container(name string) manifest {
	c := manifest{"name": name}
	r.maybe(c, 80, "image", func() any { return pick(r, []string{"img:1", "img:2"}) })
	r.maybe(c, 40, "ports", func() any {
		return r.list([]string{"80", "443", "53"}, 0, 3, func(port string) manifest {
			var n int64
			fmt.Sscan(port, &n)
			p := manifest{"containerPort": n}
			r.maybe(p, 50, "protocol", func() any { return pick(r, []string{"TCP", "UDP"}) })
			r.maybe(p, 40, "name", func() any { return "p" + port })
			return p
		})
	})
	r.maybe(c, 40, "env", func() any {
		return r.list([]string{"X", "Y", "Z"}, 0, 3, func(n string) manifest {
			return manifest{"name": n, "value": pick(r, []string{"1", "2"})}
		})
	})
	r.maybe(c, 30, "args", func() any { return r.texts([]string{"-a", "-b", "-c"}, 0, 2) })
	r.maybe(c, 30, "volumeMounts", func() any {
		return r.list([]string{"/a", "/b"}, 0, 2, func(n string) manifest {
			return manifest{"mountPath": n, "name": "v" + n[1:]}
		})
	})
	r.maybe(c, 30, "resources", func() any {
		return manifest{"requests": manifest{"cpu": pick(r, []string{"1", "2"})}}
	})
	return c
}

func (r *random) volume(name string) manifest {
	v := manifest{"name": name}
	if r.chance(50) {
		v["emptyDir"] = manifest{}
	} else {
		v["hostPath"] = manifest{"path": pick(r, []string{"/x", "/y"})}
	}
	return v
}

func (r *random) podSpec() manifest {
	s := manifest{}
	r.maybe(s, 80, "containers", func() any { return r.list([]string{"c1", "c2", "c3"}, 0, 3, r.container) })
	r.maybe(s, 40, "volumes", func() any { return r.list([]string{"va", "vb", "vc"}, 0, 3, r.volume) })
	r.maybe(s, 40, "nodeSelector", func() any { return r.labels(50) })
	r.maybe(s, 30, "tolerations", func() any {
		return r.list([]string{"k1", "k2"}, 0, 2, func(n string) manifest {
			return manifest{"key": n, "operator": "Exists"}
		})
	})
	r.maybe(s, 30, "imagePullSecrets", func() any {
		return r.list([]string{"s1", "s2"}, 0, 2, func(n string) manifest { return manifest{"name": n} })
	})
	r.maybe(s, 30, "hostNetwork", func() any { return r.chance(50) })
	r.maybe(s, 30, "securityContext", func() any { return manifest{"runAsUser": int64(r.between(1, 3))} })
	r.maybe(s, 20, "topologySpreadConstraints", func() any {
		return r.list([]string{"zone", "host"}, 0, 2, func(n string) manifest {
			return manifest{"topologyKey": n, "whenUnsatisfiable": "DoNotSchedule", "maxSkew": int64(r.between(1, 2))}
		})
	})
	return s
}

func (r *random) meta() manifest {
	m := manifest{"name": "x", "namespace": "default"}
	r.maybe(m, 60, "labels", func() any { return r.labels(50) })
	r.maybe(m, 40, "annotations", func() any { return r.labels(40) })
	r.maybe(m, 30, "finalizers", func() any { return r.texts([]string{"f/a", "f/b", "f/c"}, 0, 3) })
	r.maybe(m, 30, "ownerReferences", func() any {
		return r.list([]string{"u1", "u2"}, 0, 2, func(n string) manifest {
			return manifest{"uid": n, "name": "o", "kind": "K", "apiVersion": "v1"}
		})
	})
	return m
}

func (r *random) conditions(names ...string) any {
	return r.list(names, 0, len(names), func(n string) manifest {
		return manifest{"type": n, "status": pick(r, []string{"True", "False"})}
	})
}

// manifest gives a random object of a kind.
func (r *random) manifest(kind string) manifest {
	out := manifest{"apiVersion": "v1", "kind": kind, "metadata": r.meta()}
	switch kind {
	case "Pod":
		r.maybe(out, 90, "spec", func() any { return r.podSpec() })
		r.maybe(out, 30, "status", func() any { return manifest{"conditions": r.conditions("Ready", "Initialized")} })
	case "Deployment":
		out["apiVersion"] = "apps/v1"
		spec := manifest{"template": manifest{"metadata": manifest{"labels": r.labels(50)}, "spec": r.podSpec()}}
		r.maybe(spec, 60, "replicas", func() any { return int64(r.between(1, 3)) })
		r.maybe(spec, 40, "selector", func() any { return manifest{"matchLabels": r.labels(60)} })
		r.maybe(spec, 40, "strategy", func() any {
			if r.chance(50) {
				return manifest{"type": "Recreate"}
			}
			return manifest{"type": "RollingUpdate", "rollingUpdate": manifest{"maxSurge": int64(1)}}
		})
		out["spec"] = spec
		r.maybe(out, 30, "status", func() any { return manifest{"conditions": r.conditions("Available", "Progressing")} })
	case "Service":
		spec := manifest{"selector": r.labels(50)}
		r.maybe(spec, 80, "ports", func() any {
			return r.list([]string{"80", "443"}, 0, 2, func(port string) manifest {
				var n int64
				fmt.Sscan(port, &n)
				p := manifest{"port": n, "name": "p" + port}
				r.maybe(p, 60, "protocol", func() any { return pick(r, []string{"TCP", "UDP"}) })
				r.maybe(p, 40, "targetPort", func() any { return pick(r, []any{int64(8080), "web"}) })
				return p
			})
		})
		r.maybe(spec, 30, "externalIPs", func() any { return r.texts([]string{"1.1.1.1", "2.2.2.2"}, 0, 2) })
		out["spec"] = spec
	case "ConfigMap":
		r.maybe(out, 80, "data", func() any { return r.labels(60) })
		r.maybe(out, 20, "immutable", func() any { return r.chance(50) })
	case "Node":
		spec := manifest{}
		r.maybe(spec, 40, "taints", func() any {
			return r.list([]string{"t1", "t2"}, 0, 2, func(n string) manifest {
				return manifest{"key": n, "effect": pick(r, []string{"NoSchedule", "NoExecute"})}
			})
		})
		r.maybe(spec, 40, "unschedulable", func() any { return true })
		out["spec"] = spec
		r.maybe(out, 50, "status", func() any {
			return manifest{"conditions": r.conditions("Ready", "DiskPressure"), "capacity": manifest{"cpu": "4"}}
		})
	case "Widget": // a custom resource
		out["apiVersion"] = "example.com/v1"
		out["spec"] = manifest{"labels": r.labels(50), "list": r.texts([]string{"a", "b"}, 0, 2),
			"deep": manifest{"n": int64(r.between(0, 2)), "items": r.conditions("A", "B")}}
		r.maybe(out, 30, "status", func() any { return manifest{"phase": pick(r, []string{"A", "B"})} })
	}
	return out
}
