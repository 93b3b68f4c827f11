// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// writeTranslations prints volumes and what upstream's library translates them to, for
// tests/unit/test_csi_translation.c:
//
//	oracle -translations 800 -seed 1 > tests/golden/csi_translation.json
func writeTranslations(seed uint64, n int) {
	g := &generator{draw: newDraw(seed), nodes: 3, homes: []string{"default", "team-a"}}
	g.withStorage()
	g.storage.classes = []string{"fast"}
	g.intensity["bad disks"] = 0.7
	t := csitrans.New()
	separator := "{\"rows\":["
	for i := range n {
		line := tree{}
		var pv *corev1.PersistentVolume
		var err error
		if i%3 == 0 {
			volume := tree{"name": "d0"}
			g.inlineVolume(volume)
			v, decodeErr := decode[corev1.Volume](volume)
			if decodeErr != nil || !t.IsInlineMigratable(v) {
				continue
			}
			line["inline"] = volume
			pv, err = t.TranslateInTreeInlineVolumeToCSI(klog.Background(), v, "team-a")
		} else {
			volume := g.volume(i)
			delete(volume, "status")
			v, decodeErr := decode[corev1.PersistentVolume](volume)
			if decodeErr != nil || !t.IsPVMigratable(v) {
				continue
			}
			line["pv"] = volume
			pv, err = t.TranslateInTreePVToCSI(klog.Background(), v)
		}
		if err != nil {
			line["error"] = err.Error()
		} else {
			line["driver"], line["handle"] = pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
			if pv.Spec.NodeAffinity != nil {
				line["affinity"] = pv.Spec.NodeAffinity.Required
			}
		}
		fmt.Printf("%s\n%s", separator, bytes.TrimSpace(encode(line)))
		separator = ","
	}
	fmt.Println("\n]}")
}
