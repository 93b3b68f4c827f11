/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/wasmtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#define LIBRARY     "libwasmtime.so"
/* A guest's own stack; what exceeds it is a trap. Threads of berth have at least 2 MiB. */
#define GUEST_STACK ((size_t)512 << 10)

static struct wasmtime loaded;
static enum { NOT_TRIED, USABLE, UNUSABLE } state;
static struct err why;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int wasmtime_fail(const struct wasmtime *wt, wasmtime_error_t *error, struct err *reterr)
{
    struct wasm_bytes message;
    wt->wasmtime_error_message(error, &message);
    struct str text = {message.data, message.size};
    err_set(reterr, -EINVAL, "%.*s", (int)MIN(str_find(text, '\n'), (size_t)300), text.p);
    wt->wasm_byte_vec_delete(&message);
    wt->wasmtime_error_delete(error);
    return -EINVAL;
}

wasmtime_error_t *wasmtime_compile(const struct wasmtime *wt, struct str bytes,
                                   wasmtime_module_t **ret_module)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t mask, before;
    sigfillset(&mask);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        sigdelset(&mask, faults[i]);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    wasmtime_error_t *error =
        wt->wasmtime_module_new(wt->engine, (const uint8_t *)bytes.p, bytes.n, ret_module);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* --- check of the layout ---------------------------------------------------------------------- */

/*
 * (module (import "t" "f" (func $f (param i32 i64) (result i64)))
 *   (memory (export "memory") 1) (data (i32.const 8) "berth")
 *   (func (export "run") (result i64) (call $f (i32.const -7) (i64.const 1))))
 */
static const uint8_t probe[] = {
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,                               /* version 1 */
    0x01, 0x0b, 0x02, 0x60, 0x02, 0x7f, 0x7e, 0x01, 0x7e, 0x60, 0x00, 0x01, 0x7e, /* types */
    0x02, 0x07, 0x01, 0x01, 't',  0x01, 'f',  0x00, 0x00,                         /* imports */
    0x03, 0x02, 0x01, 0x01, 0x05, 0x03, 0x01, 0x00, 0x01,                   /* functions, memory */
    0x07, 0x10, 0x02, 0x06, 'm',  'e',  'm',  'o',  'r',  'y',  0x02, 0x00, /* exports */
    0x03, 'r',  'u',  'n',  0x00, 0x01,                                     /* exports */
    0x0a, 0x0a, 0x01, 0x08, 0x00, 0x41, 0x79, 0x42, 0x01, 0x10, 0x00, 0x0b, /* code */
    0x0b, 0x0b, 0x01, 0x00, 0x41, 0x08, 0x0b, 0x05, 'b',  'e',  'r',  't',  'h', /* data */
};

static wasm_trap_t *probe_call(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *v,
                               size_t n)
{
    const struct wasmtime *wt = env;
    bool *called = wt->wasmtime_context_get_data(wt->wasmtime_caller_context(caller));
    *called = n == 2 && v[0].i32 == -7 && v[1].i64 == 1;
    v[0].i64 = INT64_C(0x123456789);
    return NULL;
}

/* Runs the instance; true if it does what the module says. */
static bool probe_run(const struct wasmtime *wt, wasmtime_context_t *context,
                      const struct wasmtime_instance_room *instance, const bool *called)
{
    struct wasmtime_item run = {0}, memory = {0};
    wasmtime_val_raw_t result = {0};
    wasm_trap_t *trap = NULL;
    uint64_t fuel = 0;
    if (!wt->wasmtime_instance_export_get(context, instance, "run", 3, &run) ||
        !wt->wasmtime_instance_export_get(context, instance, "memory", 6, &memory) ||
        run.kind != WASM_EXTERN_FUNC || memory.kind != WASM_EXTERN_MEMORY)
        return false;
    if (wt->wasmtime_func_call_unchecked(context, run.of, &result, 1, &trap) || trap || !*called ||
        result.i64 != INT64_C(0x123456789))
        return false;
    if (wt->wasmtime_context_get_fuel(context, &fuel) || fuel == 0 || fuel >= 1000)
        return false;
    return wt->wasmtime_memory_data_size(context, memory.of) == 65536 &&
           memcmp(wt->wasmtime_memory_data(context, memory.of) + 8, "berth", 5) == 0;
}

static bool probe_link(struct wasmtime *wt, wasmtime_module_t *module, wasmtime_linker_t *linker,
                       wasmtime_instance_pre_t **ret_pre)
{
    struct wasm_importtypes imports = {0};
    wt->wasmtime_module_imports(module, &imports);
    if (imports.size != 1 || imports.data == NULL)
        return false;
    const wasm_externtype_t *type = wt->wasm_importtype_type(imports.data[0]);
    const wasm_functype_t *fn = wt->wasm_externtype_as_functype_const(type);
    const struct wasm_valtypes *params = fn ? wt->wasm_functype_params(fn) : NULL;
    bool good = params && params->size == 2 && wt->wasm_valtype_kind(params->data[0]) == WASM_I32 &&
                wt->wasm_valtype_kind(params->data[1]) == WASM_I64 &&
                !wt->wasmtime_linker_define_func_unchecked(linker, "t", 1, "f", 1, fn, probe_call,
                                                           wt, NULL) &&
                !wt->wasmtime_linker_instantiate_pre(linker, module, ret_pre);
    wt->wasm_importtype_vec_delete(&imports);
    return good;
}

/* What a library with another layout allocated is left: it is not used again. */
static bool works(struct wasmtime *wt)
{
    wasmtime_module_t *module = NULL;
    wasmtime_instance_pre_t *pre = NULL;
    struct wasmtime_instance_room instance;
    wasm_trap_t *trap = NULL;
    bool called = false;
    if (wasmtime_compile(wt, (struct str){(const char *)probe, sizeof(probe)}, &module))
        return false;
    wasmtime_linker_t *linker = wt->wasmtime_linker_new(wt->engine);
    wasmtime_store_t *store = wt->wasmtime_store_new(wt->engine, &called, NULL);
    wasmtime_context_t *context = wt->wasmtime_store_context(store);
    bool good = probe_link(wt, module, linker, &pre) &&
                !wt->wasmtime_context_set_fuel(context, 1000) &&
                !wt->wasmtime_instance_pre_instantiate(pre, context, &instance, &trap) && !trap &&
                probe_run(wt, context, &instance, &called);
    if (good) {
        wt->wasmtime_store_delete(store);
        wt->wasmtime_instance_pre_delete(pre);
        wt->wasmtime_linker_delete(linker);
        wt->wasmtime_module_delete(module);
    }
    return good;
}

/* --- loading ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(result, name, params) {#name, offsetof(struct wasmtime, name)},
    WASMTIME_SYMBOLS(SYMBOL)
#undef SYMBOL
};

static int find_symbols(void *lib, const char *path, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *symbol = dlsym(lib, symbols[i].name);
        if (!symbol)
            return err_set(reterr, -EINVAL,
                           "%s has no %s: it is not wasmtime's C library, or an old one; install "
                           "the C API of a newer release of wasmtime",
                           path, symbols[i].name);
        memcpy((char *)&loaded + symbols[i].offset, &symbol, sizeof(symbol));
    }
    return 0;
}

static int load(struct err *reterr)
{
    const char *given = getenv("BERTH_WASMTIME");
    const char *path = given && *given ? given : LIBRARY;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return err_set(
            reterr, -ENOENT,
            "guests need wasmtime's C library: %.200s; install the C API of a release of "
            "wasmtime, or set BERTH_WASMTIME to the path of its " LIBRARY,
            dlerror());
    int r = find_symbols(lib, path, reterr);
    if (r < 0)
        return r;
    wasm_config_t *config = loaded.wasm_config_new();
    loaded.wasmtime_config_consume_fuel_set(config, true);
    loaded.wasmtime_config_max_wasm_stack_set(config, GUEST_STACK);
    loaded.engine = loaded.wasm_engine_new_with_config(config);
    if (!loaded.engine || !works(&loaded))
        return err_set(reterr, -EINVAL,
                       "%s is a release of wasmtime that this berth does not know; install 50.0.1",
                       path);
    return 0;
}

const struct wasmtime *wasmtime_get(struct err *reterr)
{
    pthread_mutex_lock(&lock);
    if (state == NOT_TRIED)
        state = load(&why) < 0 ? UNUSABLE : USABLE;
    bool usable = state == USABLE;
    pthread_mutex_unlock(&lock);
    if (!usable)
        err_set(reterr, why.code, "%s", why.msg);
    return usable ? &loaded : NULL;
}

const struct wasmtime *wasmtime_loaded(void)
{
    return &loaded;
}
