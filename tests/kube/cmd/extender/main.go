// SPDX-License-Identifier: Apache-2.0

// extender is examples/extender in Go, for comparison: net/http, encoding/json and the API types of
// k8s.io/kube-scheduler. It keeps every node, scores them by their position, and binds with
// client-go.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

func filter(args *extenderv1.ExtenderArgs) any {
	return &extenderv1.ExtenderFilterResult{Nodes: args.Nodes, NodeNames: args.NodeNames}
}

func prioritize(args *extenderv1.ExtenderArgs) any {
	scores := extenderv1.HostPriorityList{}
	add := func(name string) {
		scores = append(scores, extenderv1.HostPriority{Host: name, Score: int64(len(scores))})
	}
	if args.Nodes != nil {
		for i := range args.Nodes.Items {
			add(args.Nodes.Items[i].Name)
		}
	} else if args.NodeNames != nil {
		for _, name := range *args.NodeNames {
			add(name)
		}
	}
	return scores
}

func bind(client kubernetes.Interface) func(*extenderv1.ExtenderBindingArgs) any {
	return func(args *extenderv1.ExtenderBindingArgs) any {
		if client == nil {
			return &extenderv1.ExtenderBindingResult{Error: "no API server given"}
		}
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID},
			Target:     corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: args.Node},
		}
		err := client.CoreV1().Pods(args.PodNamespace).Bind(context.Background(), binding, metav1.CreateOptions{})
		if err != nil {
			return &extenderv1.ExtenderBindingResult{Error: err.Error()}
		}
		return &extenderv1.ExtenderBindingResult{}
	}
}

func verb[Args any](answer func(*Args) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var args Args
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer(&args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "the API server for bindings")
	cert := flag.String("tls-cert-file", "", "certificate; without one, HTTP without TLS is served")
	key := flag.String("tls-private-key-file", "", "its key")
	port := flag.Int("port", 0, "0: any free one")
	flag.Parse()
	var client kubernetes.Interface
	if *kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
		if err != nil {
			return err
		}
		if client, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
	}
	http.HandleFunc("POST /filter", verb(filter))
	http.HandleFunc("POST /prioritize", verb(prioritize))
	http.HandleFunc("POST /bind", verb(bind(client)))
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Serving port=%d\n", listener.Addr().(*net.TCPAddr).Port)
	if *cert != "" {
		return http.ServeTLS(listener, nil, *cert, *key)
	}
	return http.Serve(listener, nil)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
