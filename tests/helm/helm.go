// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package helm names the program that build.sh builds, so that go.mod keeps what it needs.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
