/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imports.h - the functions that a guest may import.
 *
 * Purpose:   the modules k8s.io/api, k8s.io/klog and k8s.io/scheduler of
 *            kube-scheduler-wasm-extension, and wasi_snapshot_preview1 without files, network,
 *            environment and real time: a guest can do nothing but answer, and the same calls get
 *            the same answers. Functions of WASI that are not in the table return ENOSYS.
 * Ownership: constant.
 * Threading: a function runs on the thread that calls its guest.
 */
#ifndef BERTH_WASM_IMPORTS_H
#define BERTH_WASM_IMPORTS_H

#include "wasm/guest.h"

/*
 * Parameters are in v, the result goes to v[0]. Returns NULL, or why the call ends: upstream's
 * panics.
 */
typedef const char *import_fn(struct guest *guest, wasmtime_val_raw_t *v);

struct import_row {
    const char *module, *name;
    const char *params, *results; /* one character per value: i is i32, l is i64 */
    import_fn *fn;
};

/* NULL: there is no such function. ret_known: whether there is such a module. */
const struct import_row *import_find(struct str module, struct str name, bool *ret_known);

/* Rows of the modules; each table ends with a row whose name is NULL. */
extern const struct import_row kube_imports[], wasi_imports[];
/* What the other functions of WASI do. */
const char *wasi_not_supported(struct guest *guest, wasmtime_val_raw_t *v);

/* The callback for the library; env is the struct import_row. */
wasmtime_callback import_call;

#endif
