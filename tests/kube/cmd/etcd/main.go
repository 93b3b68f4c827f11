// SPDX-License-Identifier: Apache-2.0

// Command etcd is the store behind the test cluster's API server.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
