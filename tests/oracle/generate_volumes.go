// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// Volumes: claims, volumes, classes and drivers, and pods that use them. Few names, so that pods
// share claims and disks; few places on a node, so that they run out.

// A storage is what the volume plugins see of a cluster. nil: the case has no volumes.
type storage struct {
	classes []string // those that exist or are referred to
	drivers []string
	claims  []claimName
	bound   map[claimName]bool
	csi     []csiVolume
	volumes int    // that exist
	size    int    // of the last volume: no two have the same, so that the smallest is one
	extra   []any  // objects that belong to pods drawn since
	missing string // the only driver that pods insist on: which of several is reported is random
}

type claimName struct{ namespace, name string }

type csiVolume struct{ name, driver string }

var (
	csiDrivers = []string{"csi.example", "ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com",
		"cinder.csi.openstack.org", "pxd.portworx.com", "file.csi.azure.com", "csi.vsphere.vmware.com"}
	inTreeNames = []string{"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk",
		"kubernetes.io/cinder", "kubernetes.io/portworx-volume", "kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"}
	classNames  = []string{"local", "fast", "topo", "now", "tree", "ghost"}
	accessModes = []string{"ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod"}
)

const noProvisioner = "kubernetes.io/no-provisioner"

// withStorage makes a case one about volumes: most other topics are left out.
func (g *generator) withStorage() {
	g.storage = &storage{bound: map[claimName]bool{}}
	for _, topic := range []string{"unschedulable", "taints", "images", "declaredFeatures", "owners", "nominated", "gates",
		"podResources", "overhead", "priority", "nodeSelector", "nodeAffinity", "podAffinity", "podAntiAffinity", "spread",
		"hostNetwork", "ports", "extended", "storage", "resize", "longLists", "longLabels", "terminating"} {
		if g.chance(0.8) {
			g.intensity[topic] = 0
		}
	}
	s := g.storage
	s.drivers = append(some(g.draw, 2, csiDrivers[1:]...), csiDrivers[0])
	s.missing = pick(g.draw, s.drivers...)
}

// storageObjects draws everything except the pods.
func (g *generator) storageObjects() []any {
	s := g.storage
	var list []any
	s.classes = append(some(g.draw, 4, classNames...), "local", "fast")
	for i, name := range some(g.draw, len(classNames), classNames...) {
		if i < 6 && name != "ghost" {
			list = append(list, g.class(name))
		}
	}
	for _, d := range s.drivers {
		if g.chance(0.6) {
			list = append(list, g.driver(d))
		}
	}
	for i := range g.nodes {
		if g.chance(0.85) {
			list = append(list, g.csiNode(nodeName(i)))
		}
	}
	if g.about("capacity") {
		for i := range g.between(1, 6) {
			list = append(list, g.storageCapacity(i))
		}
	}
	for i := range g.between(1, 12) {
		s.claims = append(s.claims, claimName{pick(g.draw, g.homes...), fmt.Sprintf("c%d", i)})
	}
	s.volumes = g.IntN(12)
	var volumes []tree
	for i := range s.volumes {
		volumes = append(volumes, g.volume(i))
	}
	for _, c := range s.claims {
		if g.chance(0.97) {
			list = append(list, g.claim(c, volumes))
		}
	}
	for i, v := range volumes {
		list = append(list, v)
		if g.about("attachments") && g.chance(0.6) {
			list = append(list, g.attachment(i))
		}
	}
	if len(s.csi) > 0 && g.about("attachments") {
		for i := range g.between(1, 2*g.nodes+1) {
			list = append(list, g.attachment(1000+i))
		}
	}
	return list
}

// takeExtra returns the objects of the pods that were drawn.
func (g *generator) takeExtra() []any {
	var list []any
	if g.storage != nil {
		list, g.storage.extra = g.storage.extra, nil
	}
	if g.devices != nil {
		list, g.devices.extra = append(list, g.devices.extra...), nil
	}
	return list
}

// ---- classes, drivers, nodes ---------------------------------------------------------------------

func (g *generator) class(name string) tree {
	o, _ := object("storage.k8s.io/v1", "StorageClass", "", name)
	o["provisioner"] = pick(g.draw, g.storage.drivers...)
	o["volumeBindingMode"] = "WaitForFirstConsumer"
	switch name {
	case "local":
		o["provisioner"] = noProvisioner
	case "now":
		o["volumeBindingMode"] = "Immediate"
		if g.chance(0.2) {
			delete(o, "volumeBindingMode")
		}
	case "tree":
		o["provisioner"] = pick(g.draw, inTreeNames...)
	}
	if name == "topo" || g.chance(0.1) {
		o["allowedTopologies"] = repeat(g.draw, 1, 2, func() any {
			return tree{"matchLabelExpressions": repeat(g.draw, 1, 2, func() any {
				key := pick(g.draw, zoneLabel, zoneLabel, "disk", "rack", regionLabel)
				return tree{"key": key, "values": repeat(g.draw, 1, 2, func() any { return g.nodeValue(key, g.nodes) })}
			})}
		})
	}
	return o
}

func (g *generator) driver(name string) tree {
	o, _ := object("storage.k8s.io/v1", "CSIDriver", "", name)
	spec := tree{}
	if g.chance(0.5) {
		spec["storageCapacity"] = g.chance(0.8)
	}
	if name == g.storage.missing && g.chance(0.6) {
		spec["preventPodSchedulingIfMissing"] = g.chance(0.9)
	}
	o["spec"] = spec
	return o
}

func (g *generator) csiNode(name string) tree {
	o, meta := object("storage.k8s.io/v1", "CSINode", "", name)
	if g.chance(0.6) {
		plugins := ""
		for i, p := range some(g.draw, len(inTreeNames), inTreeNames...) {
			if i > 0 {
				plugins += ","
			}
			plugins += p
		}
		meta["annotations"] = tree{"storage.alpha.kubernetes.io/migrated-plugins": plugins}
	}
	drivers := []any{}
	for _, d := range csiDrivers {
		if !g.chance(0.7) {
			continue
		}
		driver := tree{"name": d, "nodeID": name}
		if g.chance(0.75) {
			driver["allocatable"] = tree{"count": pick(g.draw, 0, 1, 1, 2, 2, 3, 5, 100)}
		} else if g.chance(0.3) {
			driver["allocatable"] = tree{}
		}
		drivers = append(drivers, driver)
	}
	o["spec"] = tree{"drivers": drivers}
	return o
}

func (g *generator) storageCapacity(i int) tree {
	o, _ := object("storage.k8s.io/v1", "CSIStorageCapacity", "default", fmt.Sprintf("capacity-%d", i))
	o["storageClassName"] = pick(g.draw, g.storage.classes...)
	if g.chance(0.9) {
		key := pick(g.draw, zoneLabel, hostnameLabel, "disk")
		o["nodeTopology"] = tree{"matchLabels": tree{key: g.nodeValue(key, g.nodes)}}
		if g.chance(0.2) {
			o["nodeTopology"] = tree{}
		}
	}
	if g.chance(0.9) {
		o["capacity"] = pick(g.draw, "0", "1Gi", "5Gi", "10Gi", "100Gi")
	}
	if g.chance(0.3) {
		o["maximumVolumeSize"] = pick(g.draw, "1Gi", "4Gi", "20Gi")
	}
	return o
}

func (g *generator) attachment(i int) tree {
	o, _ := object("storage.k8s.io/v1", "VolumeAttachment", "", fmt.Sprintf("va-%d", i))
	source := tree{"persistentVolumeName": fmt.Sprintf("v%d", g.IntN(g.storage.volumes+1))}
	if g.chance(0.1) {
		source = tree{}
	}
	o["spec"] = tree{"attacher": pick(g.draw, append(g.storage.drivers, g.storage.drivers...)...),
		"nodeName": nodeName(g.IntN(max(g.nodes, 1))), "source": source}
	if g.chance(0.05) {
		o["spec"].(tree)["attacher"] = ""
	}
	if len(g.storage.csi) > 0 && g.chance(0.7) {
		// One that pods on the node may use as well.
		v := pick(g.draw, g.storage.csi...)
		o["spec"].(tree)["attacher"], o["spec"].(tree)["source"] = v.driver, tree{"persistentVolumeName": v.name}
	}
	return o
}

// ---- volumes -------------------------------------------------------------------------------------

func (g *generator) volume(i int) tree {
	s := g.storage
	o, meta := object("v1", "PersistentVolume", "", fmt.Sprintf("v%d", i))
	meta["uid"] = fmt.Sprintf("uid-v%d", i)
	s.size += g.between(1, 2000)
	spec := tree{"capacity": tree{"storage": fmt.Sprintf("%dMi", s.size)}, "accessModes": g.modes(),
		"persistentVolumeReclaimPolicy": "Retain", "storageClassName": pick(g.draw, s.classes...)}
	if g.chance(0.05) {
		spec["storageClassName"] = ""
	}
	if g.chance(0.1) {
		spec["volumeMode"] = pick(g.draw, "Block", "Filesystem")
	}
	if g.about("attributes") {
		spec["volumeAttributesClassName"] = pick(g.draw, "gold", "silver", "")
	}
	labels := tree{}
	if g.chance(0.4) {
		g.volumeZones(labels)
	}
	if g.chance(0.5) {
		labels["tier"] = pick(g.draw, "a", "b")
	}
	meta["labels"] = labels
	g.volumeSource(spec)
	if csi, ok := spec["csi"].(tree); ok {
		s.csi = append(s.csi, csiVolume{fmt.Sprintf("v%d", i), csi["driver"].(string)})
	}
	if spec["local"] != nil || g.chance(0.4) {
		g.volumeAffinity(spec)
	}
	o["spec"] = spec
	o["status"] = tree{"phase": "Available"}
	if g.chance(0.05) {
		o["status"] = tree{"phase": pick(g.draw, "Pending", "Released", "Failed")}
	}
	if g.chance(0.02) {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	// VolumeBinding chooses a free volume by its own topology, and PreBind, which does not run here,
	// checks that of the CSI driver.
	inTree := spec["awsElasticBlockStore"] != nil || spec["gcePersistentDisk"] != nil || spec["azureDisk"] != nil ||
		spec["cinder"] != nil || spec["portworxVolume"] != nil
	if inTree {
		o["status"] = tree{"phase": "Released"}
	}
	if !inTree && g.chance(0.1) {
		// It waits for a claim.
		c := claimName{pick(g.draw, g.homes...), fmt.Sprintf("c%d", g.IntN(6))}
		if len(s.claims) > 0 {
			c = pick(g.draw, s.claims...)
		}
		ref := tree{"kind": "PersistentVolumeClaim", "namespace": c.namespace, "name": c.name}
		if g.chance(0.3) {
			ref["uid"] = pick(g.draw, "uid-"+c.namespace+"-"+c.name, "another")
		}
		spec["claimRef"] = ref
	}
	return o
}

func (g *generator) modes() []any {
	modes := []any{pick(g.draw, accessModes...)}
	if g.chance(0.3) {
		modes = append(modes, pick(g.draw, accessModes...))
	}
	return modes
}

func (g *generator) volumeZones(labels tree) {
	key := pick(g.draw, zoneLabel, zoneLabel, zoneLabel, oldZone)
	labels[key] = pick(g.draw, "z0", "z0", "z1", "z1", "z2", "z0__z1", "z1__z2", "z0__", "", " z1 ", "us-east1-b",
		"us-east1-b__us-east1-c", "us-east1-b__eu-west1-c")
	if g.chance(0.3) {
		labels[pick(g.draw, regionLabel, regionLabel, oldRegion)] = pick(g.draw, "r0", "r1", "r0__r1")
	}
}

func (g *generator) volumeAffinity(spec tree) {
	spec["nodeAffinity"] = tree{"required": tree{"nodeSelectorTerms": repeat(g.draw, 1, 2, func() any {
		return tree{"matchExpressions": repeat(g.draw, 1, 2, func() any {
			key := pick(g.draw, hostnameLabel, hostnameLabel, zoneLabel, zoneLabel, oldZone, regionLabel, oldRegion, "disk", "gen",
				"topology.gke.io/zone")
			e := tree{"key": key, "operator": pick(g.draw, "In", "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt")}
			switch e["operator"] {
			case "In", "NotIn":
				e["values"] = repeat(g.draw, 1, 3, func() any { return g.nodeValue(key, g.nodes) })
			case "Gt":
				e["values"] = []any{"1"}
			}
			return e
		})}
	})}}
}

func (g *generator) diskName() string { return pick(g.draw, "disk-0", "disk-1", "disk-2") }

func (g *generator) volumeSource(spec tree) {
	switch g.IntN(16) {
	case 0, 1, 2:
		spec["local"] = tree{"path": "/mnt"}
	case 3:
		spec["gcePersistentDisk"] = tree{"pdName": g.diskName()}
	case 4:
		spec["awsElasticBlockStore"] = tree{"volumeID": g.awsID()}
	case 5:
		spec["azureDisk"] = g.azureDisk()
	case 6:
		spec["cinder"] = tree{"volumeID": g.diskName()}
	case 7:
		spec["portworxVolume"] = tree{"volumeID": g.diskName()}
	case 8:
		spec["azureFile"] = tree{"secretName": pick(g.draw, "secret", "azure-storage-account-acc-secret"), "shareName": g.diskName()}
		if g.chance(0.5) {
			spec["azureFile"].(tree)["secretNamespace"] = pick(g.draw, "default", "")
		}
	case 9:
		spec["vsphereVolume"] = tree{"volumePath": g.diskName()}
	case 10:
		spec["nfs"] = tree{"server": "nfs.example", "path": "/"}
	default:
		spec["csi"] = tree{"driver": pick(g.draw, g.storage.drivers...), "volumeHandle": fmt.Sprintf("h%d", g.IntN(8))}
	}
}

func (g *generator) awsID() string {
	return pick(g.draw, "vol-0", "vol-1", "aws://us-east-1a/vol-0", "aws:///vol-1", "aws://us-east-1a/bad", "aws://%zz/vol-1",
		"aws://z/vol-1/x", "disk-0")
}

func (g *generator) azureDisk() tree {
	d := tree{"diskName": g.diskName(), "diskURI": g.diskName()}
	if g.chance(0.3) {
		d["kind"] = pick(g.draw, "Managed", "managed", "Dedicated", "Shared")
	}
	return d
}

// ---- claims --------------------------------------------------------------------------------------

func (g *generator) claimSpec() tree {
	spec := tree{"accessModes": g.modes(),
		"resources": tree{"requests": tree{"storage": pick(g.draw, "1Mi", "500Mi", "1Gi", "1Gi", "3Gi", "5Gi", "20Gi")}}}
	if g.chance(0.97) {
		spec["storageClassName"] = pick(g.draw, g.storage.classes...)
	}
	if g.chance(0.02) {
		spec["storageClassName"] = ""
	}
	if g.chance(0.1) {
		spec["selector"] = tree{"matchLabels": tree{"tier": pick(g.draw, "a", "b")}}
		if g.chance(0.1) {
			spec["selector"] = tree{"matchExpressions": []any{tree{"key": "tier", "operator": pick(g.draw, "Exists", "In", "Sometimes")}}}
		}
	}
	if g.chance(0.08) {
		spec["volumeMode"] = pick(g.draw, "Block", "Filesystem")
	}
	if g.about("attributes") {
		spec["volumeAttributesClassName"] = pick(g.draw, "gold", "silver", "")
	}
	if g.chance(0.02) {
		delete(spec["resources"].(tree), "requests")
	}
	return spec
}

func (g *generator) claim(name claimName, volumes []tree) tree {
	o, meta := object("v1", "PersistentVolumeClaim", name.namespace, name.name)
	uid := "uid-" + name.namespace + "-" + name.name
	meta["uid"] = uid
	spec, annotations, phase := g.claimSpec(), tree{}, "Pending"
	if g.chance(0.05) {
		annotations["volume.beta.kubernetes.io/storage-class"] = pick(g.draw, g.storage.classes...)
	}
	switch {
	case g.chance(0.45) && len(volumes) > 0: // bound
		v := pick(g.draw, volumes...)
		spec["volumeName"], phase = v["metadata"].(tree)["name"], "Bound"
		g.storage.bound[name] = true
		annotations["pv.kubernetes.io/bind-completed"] = "yes"
		if v["spec"].(tree)["claimRef"] == nil {
			v["spec"].(tree)["claimRef"] = tree{"kind": "PersistentVolumeClaim", "namespace": name.namespace, "name": name.name, "uid": uid}
			v["status"] = tree{"phase": "Bound"}
		}
	case g.chance(0.05): // to a volume that does not exist, or not completely
		spec["volumeName"] = pick(g.draw, "v99", "v0")
		if g.chance(0.5) {
			annotations["pv.kubernetes.io/bind-completed"] = "yes"
		}
		phase = pick(g.draw, "Bound", "Pending", "Lost")
	case g.chance(0.1):
		annotations["volume.kubernetes.io/selected-node"] = nodeName(g.IntN(g.nodes + 1))
	}
	if g.chance(0.02) {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	meta["annotations"] = annotations
	o["spec"], o["status"] = spec, tree{"phase": phase}
	return o
}

// ---- pods ----------------------------------------------------------------------------------------

// addVolumes gives a pod volumes.
func (g *generator) addVolumes(pod tree) {
	if g.storage == nil || g.chance(0.15) {
		return
	}
	meta, spec := pod["metadata"].(tree), pod["spec"].(tree)
	list, used := []any{}, map[claimName]bool{}
	for i := range g.between(1, pick(g.draw, 1, 2, 3, 4)) {
		v := g.podVolume(meta, fmt.Sprintf("d%d", i))
		// A claim that is used twice could be both bound to a volume and provisioned: what comes of
		// that depends on who writes first.
		if claim, ok := v["persistentVolumeClaim"].(tree); ok {
			name := claimName{meta["namespace"].(string), claim["claimName"].(string)}
			if used[name] && !g.storage.bound[name] {
				continue
			}
			used[name] = true
		}
		list = append(list, v)
	}
	spec["volumes"] = list
}

func (g *generator) podVolume(meta tree, name string) tree {
	v := tree{"name": name}
	switch {
	case g.chance(0.55):
		v["persistentVolumeClaim"] = tree{"claimName": g.claimFor(meta["namespace"].(string))}
	case g.about("ephemeral"):
		v["ephemeral"] = tree{"volumeClaimTemplate": tree{"spec": g.claimSpec()}}
		g.ephemeralClaim(meta, name)
	default:
		g.inlineVolume(v)
	}
	return v
}

func (g *generator) claimFor(namespace string) string {
	if g.chance(0.03) {
		return pick(g.draw, "none", "c99")
	}
	for range 4 {
		if len(g.storage.claims) > 0 {
			if c := pick(g.draw, g.storage.claims...); c.namespace == namespace {
				return c.name
			}
		}
	}
	return fmt.Sprintf("c%d", g.IntN(6))
}

// ephemeralClaim: the claim of an ephemeral volume, made by a controller; another pod's, or nobody's.
func (g *generator) ephemeralClaim(meta tree, volume string) {
	if g.chance(0.08) {
		return
	}
	c := claimName{meta["namespace"].(string), meta["name"].(string) + "-" + volume}
	o := g.claim(c, nil)
	owner := tree{"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": true}
	if g.about("strangers") && g.chance(0.3) {
		owner["uid"] = "another"
		if g.chance(0.5) {
			owner["uid"], owner["controller"] = meta["uid"], false
		}
	}
	o["metadata"].(tree)["ownerReferences"] = []any{owner}
	g.storage.extra = append(g.storage.extra, o)
}

func (g *generator) inlineVolume(v tree) {
	readOnly := g.chance(0.5)
	switch g.IntN(14) {
	case 0, 1:
		v["gcePersistentDisk"] = tree{"pdName": g.diskName(), "readOnly": readOnly}
	case 2, 3:
		v["awsElasticBlockStore"] = tree{"volumeID": pick(g.draw, "vol-0", "vol-1", "vol-2", "aws://us-east-1a/vol-0"), "readOnly": readOnly}
		if g.about("bad disks") {
			v["awsElasticBlockStore"].(tree)["volumeID"] = g.awsID()
		}
	case 4:
		v["iscsi"] = tree{"targetPortal": "10.0.0.1", "iqn": pick(g.draw, "iqn-0", "iqn-1"), "lun": g.IntN(2), "readOnly": readOnly}
	case 5:
		v["rbd"] = tree{"monitors": anys(some(g.draw, 3, "m0", "m1", "m2", "m3")), "image": pick(g.draw, "i0", "i1"),
			"pool": pick(g.draw, "rbd", "other"), "readOnly": readOnly}
	case 6:
		v["azureDisk"] = tree{"diskName": g.diskName(), "diskURI": g.diskName()}
		if g.about("bad disks") {
			v["azureDisk"] = g.azureDisk()
		}
	case 7:
		v["cinder"] = tree{"volumeID": g.diskName()}
	case 8:
		v["portworxVolume"] = tree{"volumeID": g.diskName()}
	case 9:
		v["azureFile"] = tree{"secretName": "secret", "shareName": g.diskName()}
	case 10:
		v["vsphereVolume"] = tree{"volumePath": g.diskName()}
	case 11:
		v["csi"] = tree{"driver": pick(g.draw, csiDrivers...)}
	case 12:
		v["configMap"] = tree{"name": "config"}
	default:
		v["emptyDir"] = tree{}
	}
}

// ---- later events --------------------------------------------------------------------------------

// mayLeave: without a controller manager nobody would tell the claims of a volume.
func mayLeave(o tree) bool { return kindOf(o) != "PersistentVolume" }

// changedStorage returns another version of a storage object; nil: no change.
func (g *generator) changedStorage(o, meta tree) tree {
	switch kindOf(o) {
	case "CSINode":
		fresh := g.csiNode(meta["name"].(string))
		o["spec"] = fresh["spec"]
		if g.chance(0.5) {
			o["metadata"] = fresh["metadata"]
		}
	case "CSIDriver":
		o["spec"] = g.driver(meta["name"].(string))["spec"]
	case "CSIStorageCapacity":
		o["capacity"] = pick(g.draw, "0", "1Gi", "5Gi", "10Gi", "100Gi")
	case "PersistentVolume":
		if o["status"].(tree)["phase"] != "Bound" {
			return nil // unknown whether it has been bound since
		}
		labels := tree{}
		g.volumeZones(labels)
		meta["labels"] = labels
	case "PersistentVolumeClaim":
		if o["status"].(tree)["phase"] != "Bound" {
			return nil
		}
		o["spec"].(tree)["accessModes"] = g.modes()
	default:
		return nil
	}
	return o
}

// newStorage draws an object that appears later.
func (g *generator) newStorage() tree {
	switch g.IntN(4) {
	case 0:
		g.storage.volumes++
		return g.volume(g.storage.volumes - 1)
	case 1:
		c := claimName{pick(g.draw, g.homes...), fmt.Sprintf("c%d", len(g.storage.claims)+20)}
		g.storage.claims = append(g.storage.claims, c)
		return g.claim(c, nil)
	case 2:
		g.storage.volumes++
		return g.attachment(100 + g.storage.volumes)
	}
	return g.storageCapacity(100 + g.IntN(1000))
}
