/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - a WebAssembly module with a scheduling plugin, compiled: a guest's code.
 *
 * Purpose:   reads what a module exports, links the functions of the host that it imports, and
 *            makes a struct berth_plugin of it. The interface is that of
 *            kube-scheduler-wasm-extension: a guest built for it runs unmodified.
 * Ownership: reference-counted. The plugin is valid until the last reference is gone; no instance
 *            may exist then.
 * Threading: one thread makes it, any thread may use it.
 */
#ifndef BERTH_WASM_MODULE_H
#define BERTH_WASM_MODULE_H

#include "berth/plugin.h"
#include "wasm/wasmtime.h"

/* The largest module that is accepted. */
#define WASM_MODULE_MAX ((size_t)64 << 20)

/* The functions that a guest may export; all take nothing. */
enum guest_export {
    GUEST_ENQUEUE,
    GUEST_PREFILTER,
    GUEST_ADDPOD,
    GUEST_REMOVEPOD,
    GUEST_FILTER,
    GUEST_POSTFILTER,
    GUEST_PRESCORE,
    GUEST_SCORE,
    GUEST_NORMALIZESCORE,
    GUEST_RESERVE,
    GUEST_UNRESERVE,
    GUEST_PERMIT,
    GUEST_PREBIND,
    GUEST_BIND,
    GUEST_POSTBIND,
    GUEST_EXPORT_COUNT,
};
const char *guest_export_name(enum guest_export fn);

#define WASM_ARGS 6

struct wasm_module {
    unsigned refs;
    char *name;       /* of the plugin */
    char *url;        /* where it comes from */
    struct str bytes; /* what it was compiled from; owned */
    const struct wasmtime *wt;
    wasmtime_module_t *code;
    wasmtime_linker_t *linker;
    wasmtime_instance_pre_t *pre;
    unsigned exports; /* bits of enum guest_export */
    /* Each module has a copy of the table, so that an instance finds the module by it. */
    struct berth_arg args[WASM_ARGS + 1];
    struct berth_plugin plugin;
};

/*
 * Compiles a module of that plugin name. Errors are upstream's where it has them: "wasm: error
 * compiling guest: …". Sets everything but args and plugin.
 */
int wasm_module_new(struct str name, struct str url, struct str bytes,
                    struct wasm_module **ret_module, struct err *reterr) MUST_CHECK;
struct wasm_module *wasm_module_ref(struct wasm_module *module);
/* NULL is allowed. Returns NULL. */
struct wasm_module *wasm_module_unref(struct wasm_module *module);
static inline bool wasm_module_exports(const struct wasm_module *m, enum guest_export fn)
{
    return m->exports >> fn & 1;
}

#endif
