// SPDX-License-Identifier: Apache-2.0

// Command decodebench makes the same realistic pods again and again, for measuring decoders, and
// measures how long Go takes for them.
//
//	decodebench [-pods N] DIR             writes pods.json and pods.pb (a PodList each)
//	decodebench -measure [-runs N] DIR    measures decoding them, as client-go does it
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// format is one of the two ways in which a list comes over the wire.
type format struct {
	name, file string
	serializer apiruntime.Serializer
}

var formats = []format{
	{"JSON", "pods.json", json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{})},
	{"protobuf", "pods.pb", protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("decodebench: ")
	pods := flag.Int("pods", 5000, "how many pods to make")
	measure := flag.Bool("measure", false, "measure decoding")
	runs := flag.Int("runs", 10, "how often to decode")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: decodebench [-pods N] [-measure [-runs N]] DIR")
	}
	dir := flag.Arg(0)
	if !exist(dir) || !*measure {
		makeFiles(dir, *pods)
	}
	if *measure {
		measureAll(dir, *runs)
	}
}

func exist(dir string) bool {
	for _, f := range formats {
		if _, err := os.Stat(filepath.Join(dir, f.file)); err != nil {
			return false
		}
	}
	return true
}

func makeFiles(dir string, n int) {
	check(os.MkdirAll(dir, 0o755))
	list := &v1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "48151623"},
		Items:    makePods(n),
	}
	for _, f := range formats {
		var b bytes.Buffer
		check(f.serializer.Encode(list, &b))
		check(os.WriteFile(filepath.Join(dir, f.file), b.Bytes(), 0o644))
		fmt.Printf("%s: %d pods, %d bytes, %d a pod\n", f.file, n, b.Len(), b.Len()/n)
	}
}

func measureAll(dir string, runs int) {
	all := runtime.GOMAXPROCS(0)
	fmt.Printf("%s, %d runs each; cpu is the least CPU time of all threads, garbage collector included\n\n", runtime.Version(), runs)
	fmt.Println("format     GOMAXPROCS   best ms  median ms    cpu ms    MB/s  us/pod")
	for _, threads := range slices.Compact([]int{1, all}) {
		runtime.GOMAXPROCS(threads)
		for _, f := range formats {
			data, err := os.ReadFile(filepath.Join(dir, f.file))
			check(err)
			times, cpu, pods := decode(f, data, runs)
			best, median := times[0], times[len(times)/2]
			fmt.Printf("%-10s %10d %9.1f %10.1f %9.1f %7.0f %7.1f\n", f.name, threads, millis(best), millis(median), millis(cpu),
				float64(len(data))/best.Seconds()/1e6, float64(best.Microseconds())/float64(pods))
		}
	}
}

// decode gives the wall-clock times, sorted, and the least CPU time. What the run before left behind
// is collected outside of them.
func decode(f format, data []byte, runs int) (times []time.Duration, cpu time.Duration, pods int) {
	cpu = time.Hour
	for range runs {
		list := &v1.PodList{}
		runtime.GC()
		start, used := time.Now(), cpuTime()
		_, _, err := f.serializer.Decode(data, nil, list)
		times = append(times, time.Since(start))
		cpu = min(cpu, cpuTime()-used)
		check(err)
		pods = len(list.Items)
	}
	slices.Sort(times)
	return times, cpu, pods
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
