/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/imports.h"

/* What a call of the host costs, so that a guest cannot use them without end. */
#define FUEL_OF_CALL 100

#define WASI "wasi_snapshot_preview1"

static const struct import_row not_supported = {WASI, "", "", "", wasi_not_supported};

static const struct import_row *find(const struct import_row *table, struct str module,
                                     struct str name, bool *known)
{
    for (; table->name; table++) {
        bool here = str_is(module, table->module);
        *known |= here;
        if (here && str_is(name, table->name))
            return table;
    }
    return NULL;
}

const struct import_row *import_find(struct str module, struct str name, bool *ret_known)
{
    bool known = false;
    const struct import_row *row = find(kube_imports, module, name, &known);
    if (!row)
        row = find(wasi_imports, module, name, &known);
    if (!row && str_is(module, WASI))
        row = &not_supported;
    *ret_known = known;
    return row;
}

wasm_trap_t *import_call(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *v, size_t n)
{
    const struct import_row *row = env;
    const struct wasmtime *wt = wasmtime_loaded();
    struct guest *g = wt->wasmtime_context_get_data(wt->wasmtime_caller_context(caller));
    (void)n;
    /* The next instruction of the guest notices that there is no fuel left. */
    if (!guest_spend(g, FUEL_OF_CALL))
        return NULL;
    const char *fault = row->fn(g, v);
    if (!fault)
        return NULL;
    if (!g->exited)
        g->fault = fault;
    return wt->wasmtime_trap_new(fault, strlen(fault));
}
