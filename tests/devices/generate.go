// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	resourcebeta "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

type generator struct {
	*rand.Rand
	k       *kase
	drivers []string
	serial  int
	nasty   bool // things that are wrong are drawn often; else rarely
}

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

// wrong: something is wrong with what is drawn, with that chance in nasty cases.
func (g *generator) wrong(percent int) bool {
	return g.chance(percent) && (g.nasty || g.chance(3))
}

func pick[T any](g *generator, list ...T) T { return list[g.Intn(len(list))] }

func (g *generator) name(prefix string) string {
	g.serial++
	return fmt.Sprintf("%s-%d", prefix, g.serial)
}

func generate(seed int64) *kase {
	g := &generator{Rand: rand.New(rand.NewSource(seed)), k: &kase{}}
	g.drivers = []string{"gpu.example.com", "net.example.com"}[:1+g.Intn(2)]
	g.nasty = g.chance(25)
	g.features()
	for i := range 1 + g.Intn(4) {
		g.k.Nodes = append(g.k.Nodes, g.node(fmt.Sprintf("node-%d", i)))
	}
	for i := range 1 + g.Intn(3) {
		g.k.Classes = append(g.k.Classes, g.class(fmt.Sprintf("class-%d", i)))
	}
	for range 1 + g.Intn(5) {
		g.k.Slices = append(g.k.Slices, g.pool()...)
	}
	for i := range g.Intn(3) {
		if g.chance(30) {
			g.k.Rules = append(g.k.Rules, g.rule(fmt.Sprintf("rule-%d", i)))
		}
	}
	for i := range 1 + g.Intn(5) {
		g.k.Steps = append(g.k.Steps, g.step(i))
	}
	return g.k
}

// features: mostly what 1.36 has on by default, else anything.
func (g *generator) features() {
	f := &g.k.Features
	*f = structured.Features{AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true,
		DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true}
	if g.chance(50) {
		return
	}
	for _, b := range []*bool{&f.AdminAccess, &f.ConsumableCapacity, &f.DeviceBindingAndStatus,
		&f.DeviceTaints, &f.PartitionableDevices, &f.PrioritizedList} {
		*b = g.chance(70)
	}
	f.ListTypeAttributes = g.chance(25)
	if g.chance(20) {
		f.ConsumableCapacity, f.DeviceBindingAndStatus, f.ListTypeAttributes = false, false, false
	}
}

func (g *generator) node(name string) v1.Node {
	labels := map[string]string{"zone": pick(g, "a", "b"), "rack": pick(g, "1", "2", "3")}
	return v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func (g *generator) nodeName() string { return g.k.Nodes[g.Intn(len(g.k.Nodes))].Name }

func (g *generator) expression() string {
	term := func() string {
		switch n := g.Intn(12); {
		case n < 5:
			return fmt.Sprintf("device.driver == %q", pick(g, g.drivers...))
		case n < 9 && (len(g.drivers) == 1 || g.wrong(50)):
			return fmt.Sprintf("device.attributes[%q].%s == %q", pick(g, g.drivers...), pick(g, "model", "bus"), pick(g, "a", "b"))
		case n == 9:
			return pick(g, `device.attributes["example.org"].?numa.hasValue()`, `"memory" in device.capacity[device.driver]`,
				`!("rare" in device.attributes[device.driver]) || device.attributes[device.driver].rare != "b"`,
				`device.capacity[device.driver].?memory.orValue(quantity("1")).isGreaterThan(quantity("1500m"))`,
				fmt.Sprintf(`cel.bind(d, device.attributes[%q], d.?model.orValue("") == "a")`, pick(g, g.drivers...)))
		case n == 10 && g.k.Features.ConsumableCapacity:
			return pick(g, "device.allowMultipleAllocations", "!device.allowMultipleAllocations", "device.allowMultipleAllocations || true")
		case n < 11 || !g.wrong(100):
			return "true"
		default:
			return fmt.Sprintf("device.attributes[%q].rare == %q", pick(g, g.drivers...), "a")
		}
	}
	if g.wrong(3) {
		return pick(g, "broken", "1", "device.nothing", `device.attributes == "a"`, "device.allowMultipleAllocations")
	}
	if g.chance(20) {
		return term() + " && " + term()
	}
	return term()
}

func (g *generator) selectors(percent int) (list []resourceapi.DeviceSelector) {
	for g.chance(percent) && len(list) < 2 {
		list = append(list, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: g.expression()}})
	}
	return list
}

func (g *generator) config() resourceapi.DeviceConfiguration {
	return resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: pick(g, g.drivers...),
		Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"n":%d}`, g.Intn(100))}}}
}

func (g *generator) class(name string) resourceapi.DeviceClass {
	c := resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Selectors = g.selectors(30)
	for g.chance(30) {
		c.Spec.Config = append(c.Spec.Config, resourceapi.DeviceClassConfiguration{DeviceConfiguration: g.config()})
	}
	return c
}

// --- slices -----------------------------------------------------------------

func (g *generator) selector() *v1.NodeSelector {
	term := v1.NodeSelectorTerm{}
	if g.chance(30) {
		term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name",
			Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{g.nodeName()}})
	}
	for range g.Intn(3) {
		term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{Key: pick(g, "zone", "rack"),
			Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
			Values:   pick(g, []string{"a", "1"}, []string{"1", "a"}, []string{"b", "2", "3"})})
	}
	s := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	if g.wrong(40) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, term)
	}
	return s
}

// pool draws the slices of a pool: usually complete, valid and of one generation.
func (g *generator) pool() []resourceapi.ResourceSlice {
	driver := pick(g, g.drivers...)
	pool := resourceapi.ResourcePool{Name: g.name("pool"), Generation: 1}
	local := ""
	if g.chance(60) {
		local = g.nodeName()
		pool.Name = local
	} else if g.chance(20) {
		pool.Name = "shared"
	}
	n := 1
	if g.chance(40) {
		n += g.Intn(3)
	}
	var list []resourceapi.ResourceSlice
	counters := g.counters()
	if counters != nil {
		s := resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: g.sliceName()}}
		s.Spec.SharedCounters = counters
		g.reach(&s, local)
		s.Spec.PerDeviceNodeSelection = nil
		if s.Spec.NodeName == nil && s.Spec.NodeSelector == nil {
			s.Spec.AllNodes = ptr.To(true)
		}
		list = append(list, s)
	}
	devices := 0
	for range n {
		s := resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: g.sliceName()}}
		g.reach(&s, local)
		if counters != nil && local == "" && g.chance(60) {
			// Devices of several nodes share the counters.
			s.Spec = resourceapi.ResourceSliceSpec{NodeName: ptr.To(g.nodeName())}
		}
		for range g.Intn(7) {
			s.Spec.Devices = append(s.Spec.Devices, g.device(fmt.Sprintf("dev-%d", devices), driver, counters, &s))
			devices++
		}
		list = append(list, s)
	}
	pool.ResourceSliceCount = int64(len(list))
	if g.wrong(8) {
		pool.ResourceSliceCount += int64(pick(g, -1, 1))
	}
	for i := range list {
		list[i].Spec.Driver = driver
		list[i].Spec.Pool = pool
		if g.wrong(10) {
			list[i].Spec.Pool.Generation = int64(g.Intn(3))
		}
		if g.wrong(6) && len(list[i].Spec.Devices) > 0 {
			list[i].Spec.Devices[0].Name = "dev-1" // perhaps twice
		}
		if counters != nil && g.wrong(6) && len(list[i].Spec.Devices) > 0 {
			list[i].Spec.Devices[0].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: pick(g, "set-0", "gone"),
				Counters: map[string]resourceapi.Counter{pick(g, "gone", "slots"): {Value: resource.MustParse("1")}}}}
		}
	}
	return list
}

func (g *generator) sliceName() string {
	g.serial++
	return fmt.Sprintf("slice-%c%d", 'a'+rune(g.Intn(26)), g.serial)
}

// reach: where the slice's devices can be used.
func (g *generator) reach(s *resourceapi.ResourceSlice, local string) {
	switch n := g.Intn(100); {
	case local != "" && n < 95:
		s.Spec.NodeName = &local
	case n < 40:
		s.Spec.AllNodes = ptr.To(true)
	case n < 65:
		s.Spec.NodeSelector = g.selector()
	case n < 80:
		s.Spec.PerDeviceNodeSelection = ptr.To(true)
	case n < 98:
		s.Spec.NodeName = ptr.To(g.nodeName())
	}
}

func (g *generator) counters() (sets []resourceapi.CounterSet) {
	if !g.chance(32) {
		return nil
	}
	for i := range 1 + g.Intn(2) {
		set := resourceapi.CounterSet{Name: fmt.Sprintf("set-%d", i), Counters: map[string]resourceapi.Counter{}}
		for _, name := range []string{"slots", "memory"} {
			set.Counters[name] = resourceapi.Counter{Value: resource.MustParse(pick(g, "1", "2", "4", "3000m", "8Gi"))}
		}
		sets = append(sets, set)
	}
	if g.wrong(6) {
		sets = append(sets, sets[0])
	}
	return sets
}

func (g *generator) attribute() resourceapi.DeviceAttribute {
	switch n := g.Intn(20); {
	case n < 10:
		return resourceapi.DeviceAttribute{StringValue: ptr.To(pick(g, "a", "b"))}
	case n < 14:
		return resourceapi.DeviceAttribute{IntValue: ptr.To(int64(g.Intn(2)))}
	case n < 16:
		return resourceapi.DeviceAttribute{BoolValue: ptr.To(g.chance(50))}
	case n < 17 || g.nasty:
		return resourceapi.DeviceAttribute{StringValue: ptr.To(pick(g, "a", "c"))}
	default:
		return resourceapi.DeviceAttribute{VersionValue: ptr.To(pick(g, "1.0.0", "1.2.0"))}
	}
}

// unversioned: selectors compare it with a string.
func (g *generator) unversioned() resourceapi.DeviceAttribute {
	a := g.attribute()
	if a.VersionValue != nil {
		a = resourceapi.DeviceAttribute{StringValue: ptr.To("a")}
	}
	return a
}

func (g *generator) listAttribute() resourceapi.DeviceAttribute {
	switch g.Intn(4) {
	case 0:
		return resourceapi.DeviceAttribute{IntValues: pick(g, []int64{0, 1}, []int64{1, 2, 3}, []int64{2})}
	case 1:
		return resourceapi.DeviceAttribute{BoolValues: pick(g, []bool{true}, []bool{false, true})}
	case 2:
		return resourceapi.DeviceAttribute{StringValues: pick(g, []string{"a"}, []string{"a", "b"}, []string{"b", "c"})}
	default:
		return resourceapi.DeviceAttribute{VersionValues: pick(g, []string{"1.0.0"}, []string{"1.0.0", "1.2.0"})}
	}
}

func (g *generator) quantity() resource.Quantity {
	return resource.MustParse(pick(g, "0", "1", "2", "3", "4", "8", "1Gi", "2Gi", "1500m", "1e3"))
}

func (g *generator) policy() *resourceapi.CapacityRequestPolicy {
	if !g.chance(60) {
		return nil
	}
	p := &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse(pick(g, "1", "2", "1")))}
	if g.chance(50) {
		p.ValidRange = &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse(pick(g, "1", "2")))}
		if g.chance(50) {
			p.ValidRange.Max = ptr.To(resource.MustParse(pick(g, "3", "4", "6")))
		}
		if g.chance(50) {
			p.ValidRange.Step = ptr.To(resource.MustParse(pick(g, "1", "2", "3")))
		}
	} else if g.chance(70) {
		p.ValidValues = []resource.Quantity{resource.MustParse("1"), resource.MustParse("2"), resource.MustParse(pick(g, "3", "4"))}
	}
	if g.chance(10) {
		p.Default = nil
	}
	return p
}

func (g *generator) taint() resourceapi.DeviceTaint {
	return resourceapi.DeviceTaint{Key: pick(g, "k", "l"), Value: pick(g, "", "v"),
		Effect: pick(g, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute, resourceapi.DeviceTaintEffect("None"))}
}

func (g *generator) device(name, driver string, counters []resourceapi.CounterSet, s *resourceapi.ResourceSlice) resourceapi.Device {
	d := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}}
	if !g.wrong(10) {
		d.Attributes["model"] = resourceapi.DeviceAttribute{StringValue: ptr.To(pick(g, "a", "b"))}
	}
	d.Attributes[resourceapi.QualifiedName(pick(g, driver+"/bus", "bus", "bus", "bus"))] = g.unversioned()
	if g.chance(80) {
		d.Attributes["example.org/numa"] = g.attribute()
	}
	if !g.wrong(20) {
		d.Attributes["rare"] = g.unversioned()
	}
	// The selectors of the generator fail on lists where the feature is off.
	if g.k.Features.ListTypeAttributes && g.chance(70) {
		d.Attributes["list"] = g.listAttribute()
	}
	if g.chance(40) {
		d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
		for _, c := range []resourceapi.QualifiedName{"memory", "cores"} {
			if g.chance(70) {
				d.Capacity[c] = resourceapi.DeviceCapacity{Value: g.quantity()}
			}
		}
		if g.chance(60) {
			d.AllowMultipleAllocations = ptr.To(true)
			for c, v := range d.Capacity {
				v.RequestPolicy = g.policy()
				d.Capacity[c] = v
			}
		}
	} else if g.chance(5) || counters != nil && g.chance(25) {
		d.AllowMultipleAllocations = ptr.To(true)
	}
	if counters != nil && g.chance(80) {
		used := map[string]resourceapi.Counter{}
		for _, name := range []string{"slots", "memory"} {
			if g.chance(70) {
				used[name] = resourceapi.Counter{Value: resource.MustParse(pick(g, "1", "1", "2", "500m", "2Gi"))}
			}
		}
		d.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: counters[g.Intn(len(counters))].Name, Counters: used}}
	}
	for g.chance(10) {
		d.Taints = append(d.Taints, g.taint())
	}
	if g.chance(6) {
		d.BindingConditions = []string{"ready"}
		d.BindingFailureConditions = []string{"failed"}
		d.BindsToNode = ptr.To(g.chance(50))
	}
	if ptr.Deref(s.Spec.PerDeviceNodeSelection, false) {
		switch g.Intn(4) {
		case 0:
			d.NodeName = ptr.To(g.nodeName())
		case 1:
			d.AllNodes = ptr.To(true)
		default:
			d.NodeSelector = g.selector()
		}
	}
	return d
}

func (g *generator) rule(name string) resourcebeta.DeviceTaintRule {
	r := resourcebeta.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t := g.taint()
	r.Spec.Taint = resourcebeta.DeviceTaint{Key: t.Key, Value: t.Value, Effect: resourcebeta.DeviceTaintEffect(t.Effect)}
	if g.chance(90) {
		s := &resourcebeta.DeviceTaintSelector{}
		if g.chance(50) {
			s.Driver = ptr.To(pick(g, g.drivers...))
		}
		if g.chance(50) && len(g.k.Slices) > 0 {
			s.Pool = ptr.To(g.k.Slices[g.Intn(len(g.k.Slices))].Spec.Pool.Name)
		}
		if g.chance(50) {
			s.Device = ptr.To(fmt.Sprintf("dev-%d", g.Intn(4)))
		}
		r.Spec.DeviceSelector = s
	}
	return r
}

// --- claims -----------------------------------------------------------------

func (g *generator) tolerations() (list []resourceapi.DeviceToleration) {
	for g.chance(15) {
		t := resourceapi.DeviceToleration{Key: pick(g, "", "k", "l"), Operator: pick(g, resourceapi.DeviceTolerationOpExists,
			resourceapi.DeviceTolerationOpEqual, ""), Value: pick(g, "", "v"),
			Effect: pick(g, "", resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute)}
		list = append(list, t)
	}
	return list
}

func (g *generator) capacity(percent int) *resourceapi.CapacityRequirements {
	if !g.chance(percent) {
		return nil
	}
	c := &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{}}
	for _, name := range []resourceapi.QualifiedName{"memory", "cores", "gone"} {
		if name == "gone" && g.wrong(15) || name != "gone" && g.chance(40) {
			c.Requests[name] = g.quantity()
		}
	}
	return c
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *generator) mode() (resourceapi.DeviceAllocationMode, int64) {
	if g.chance(15) {
		return resourceapi.DeviceAllocationModeAll, 0
	}
	if g.wrong(3) {
		return pick(g, resourceapi.DeviceAllocationMode("Some"), ""), 1
	}
	return resourceapi.DeviceAllocationModeExactCount, g.number()
}

func (g *generator) number() int64 {
	if g.wrong(12) {
		return int64(pick(g, 12, 17))
	}
	return int64(pick(g, 1, 1, 1, 1, 2, 2, 3))
}

func (g *generator) className() string {
	if g.wrong(4) {
		return pick(g, "gone", "")
	}
	return g.k.Classes[g.Intn(len(g.k.Classes))].Name
}

// capacityPercent: where the feature is off a request for capacity only ends in an error.
func (g *generator) capacityPercent() int {
	if g.k.Features.ConsumableCapacity {
		return 25
	}
	return 5 * btoi(g.nasty)
}

func (g *generator) request(name string) resourceapi.DeviceRequest {
	r := resourceapi.DeviceRequest{Name: name}
	prioritized := 25
	if !g.k.Features.PrioritizedList {
		prioritized = 5 * btoi(g.nasty)
	}
	if g.chance(prioritized) {
		for i := range 1 + g.Intn(3) {
			s := resourceapi.DeviceSubRequest{Name: fmt.Sprintf("sub-%d", i), DeviceClassName: g.className(), Selectors: g.selectors(30),
				Tolerations: g.tolerations(), Capacity: g.capacity(g.capacityPercent())}
			s.AllocationMode, s.Count = g.mode()
			r.FirstAvailable = append(r.FirstAvailable, s)
		}
		return r
	}
	e := &resourceapi.ExactDeviceRequest{DeviceClassName: g.className(), Selectors: g.selectors(30), Tolerations: g.tolerations(),
		Capacity: g.capacity(g.capacityPercent())}
	e.AllocationMode, e.Count = g.mode()
	if g.chance(10) && (g.k.Features.AdminAccess || g.wrong(60)) {
		e.AdminAccess = ptr.To(true)
	}
	if g.wrong(4) {
		e.Selectors = append(e.Selectors, resourceapi.DeviceSelector{})
	}
	r.Exactly = e
	return r
}

func (g *generator) requestNames(requests []resourceapi.DeviceRequest, percent int) (names []string) {
	for _, r := range requests {
		if !g.chance(percent) {
			continue
		}
		if len(r.FirstAvailable) > 0 && g.chance(50) {
			names = append(names, r.Name+"/"+r.FirstAvailable[g.Intn(len(r.FirstAvailable))].Name)
		} else {
			names = append(names, r.Name)
		}
	}
	return names
}

func (g *generator) claim() resourceapi.ResourceClaim {
	c := resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: g.name("claim"), Namespace: "default"}}
	c.UID = types.UID(c.Name)
	d := &c.Spec.Devices
	for i := range pick(g, 1, 1, 1, 2, 2, 3) {
		d.Requests = append(d.Requests, g.request(fmt.Sprintf("req-%d", i)))
	}
	constraints := 0
	if g.chance(35) {
		constraints = 1 + g.Intn(2)
	}
	for range constraints {
		attribute := resourceapi.FullyQualifiedName(pick(g, g.drivers[0]+"/bus", g.drivers[0]+"/bus", g.drivers[0]+"/model", "example.org/numa", "example.org/numa"))
		if g.wrong(10) {
			attribute = "numa"
		}
		if g.k.Features.ListTypeAttributes && g.chance(50) {
			attribute = resourceapi.FullyQualifiedName(g.drivers[0] + "/list")
		}
		constraint := resourceapi.DeviceConstraint{Requests: g.requestNames(d.Requests, 60)}
		if g.chance(60) || (isStable(g.k.Features) && !g.wrong(30)) {
			constraint.MatchAttribute = &attribute
		} else if !g.wrong(15) {
			constraint.DistinctAttribute = &attribute
		}
		d.Constraints = append(d.Constraints, constraint)
	}
	for g.chance(20) {
		d.Config = append(d.Config, resourceapi.DeviceClaimConfiguration{Requests: g.requestNames(d.Requests, 60), DeviceConfiguration: g.config()})
	}
	return c
}

func (g *generator) step(number int) step {
	s := step{}
	if number > 0 && g.chance(40) {
		// The same specs as before, as in pods of one template.
		for _, c := range g.k.Steps[number-1].Claims {
			again := c.DeepCopy()
			again.Name = g.name("claim")
			s.Claims = append(s.Claims, *again)
		}
	}
	for again := len(s.Claims) == 0; again; again = len(s.Claims) < 3 && g.chance(35) {
		s.Claims = append(s.Claims, g.claim())
	}
	for _, i := range g.Perm(len(g.k.Nodes)) {
		s.On = append(s.On, g.k.Nodes[i].Name)
	}
	if number == 0 {
		return s
	}
	if g.chance(20) {
		s.GiveBack = ptr.To(g.Intn(number))
	}
	if g.chance(10) && len(g.k.Slices) > 0 {
		s.DeleteSlices = []string{g.k.Slices[g.Intn(len(g.k.Slices))].Name}
	}
	if g.chance(10) {
		s.Slices = g.pool()
	}
	if g.chance(10) && len(g.k.Slices) > 0 {
		again := g.k.Slices[g.Intn(len(g.k.Slices))].DeepCopy()
		again.Spec.Pool.Generation += int64(g.Intn(2))
		if len(again.Spec.Devices) > 0 {
			again.Spec.Devices = again.Spec.Devices[1:]
		}
		s.Slices = append(s.Slices, *again)
	}
	if g.chance(5) && len(g.k.Rules) > 0 {
		s.DeleteRules = []string{g.k.Rules[0].Name}
	}
	if g.chance(5) {
		s.Rules = append(s.Rules, g.rule("rule-0"))
	}
	if g.chance(5) {
		s.Classes = append(s.Classes, g.class(g.k.Classes[0].Name))
	}
	if g.chance(5) {
		s.Nodes = append(s.Nodes, g.node(g.nodeName()))
	}
	return s
}
