// SPDX-License-Identifier: Apache-2.0
// Empty: lets Go files declare functions of other packages (go:linkname).
