/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasmtime.h - wasmtime's C library, loaded at run time.
 *
 * Purpose:   WebAssembly guests need it; berth does not. These are the declarations of the part of
 *            its C API that guests use, with the names of the API. The library is loaded when the
 *            first guest is, and stays. Its path is $BERTH_WASMTIME, or libwasmtime.so where the
 *            dynamic linker finds it.
 * Ownership: one table and one engine per process.
 * Threading: wasmtime_get on any thread; the table is constant.
 *
 * The C API has no version to ask for, and structs may change between releases. What depends on
 * their layout is small: values are 16 bytes, an item of an instance begins with its kind and has
 * the rest at byte 8, an instance and an item are smaller than the room given here. wasmtime_get
 * runs a small module that uses all of it and refuses a library that gives other results.
 * Tried with 25.0.0, 30.0.0, 36.0.0 and 50.0.1.
 */
#ifndef BERTH_WASM_WASMTIME_H
#define BERTH_WASM_WASMTIME_H

#include "base/err.h"

typedef struct wasm_config_t wasm_config_t;
typedef struct wasm_engine_t wasm_engine_t;
typedef struct wasm_trap_t wasm_trap_t;
typedef struct wasm_valtype_t wasm_valtype_t;
typedef struct wasm_functype_t wasm_functype_t;
typedef struct wasm_externtype_t wasm_externtype_t;
typedef struct wasm_importtype_t wasm_importtype_t;
typedef struct wasm_exporttype_t wasm_exporttype_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_instance_pre wasmtime_instance_pre_t;
typedef struct wasmtime_store wasmtime_store_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_caller wasmtime_caller_t;

/* wasm_byte_vec_t, wasm_name_t and the other vectors: a length and an array. */
struct wasm_bytes {
    size_t size;
    char *data;
};
struct wasm_valtypes {
    size_t size;
    wasm_valtype_t **data;
};
struct wasm_importtypes {
    size_t size;
    wasm_importtype_t **data;
};
struct wasm_exporttypes {
    size_t size;
    wasm_exporttype_t **data;
};

/* wasm_valkind_t and wasm_externkind_t, of types. */
enum { WASM_I32 = 0, WASM_I64 = 1 };
enum { WASM_EXTERN_FUNC = 0, WASM_EXTERN_MEMORY = 3 };

/* wasmtime_val_raw_t. i32 values leave the upper half undefined. */
typedef union wasmtime_val_raw {
    int32_t i32;
    int64_t i64;
    uint8_t bytes[16];
} wasmtime_val_raw_t;

/* wasmtime_extern_t: an item that an instance exports. */
struct wasmtime_item {
    uint8_t kind; /* WASM_EXTERN_… */
    uint64_t of[7];
};
/* wasmtime_instance_t. */
struct wasmtime_instance_room {
    uint64_t of[4];
};

/* wasmtime_trap_code_t. */
enum wasmtime_trap_code_value {
    TRAP_STACK_OVERFLOW = 0,
    TRAP_MEMORY_OUT_OF_BOUNDS = 1,
    TRAP_TABLE_OUT_OF_BOUNDS = 3,
    TRAP_INDIRECT_CALL_TO_NULL = 4,
    TRAP_BAD_SIGNATURE = 5,
    TRAP_INTEGER_OVERFLOW = 6,
    TRAP_INTEGER_DIVISION_BY_ZERO = 7,
    TRAP_BAD_CONVERSION_TO_INTEGER = 8,
    TRAP_UNREACHABLE = 9,
    TRAP_OUT_OF_FUEL = 11,
};

typedef wasm_trap_t *wasmtime_callback(void *env, wasmtime_caller_t *caller,
                                       wasmtime_val_raw_t *args_and_results, size_t n);

/* X(result, name, parameters) */
/* clang-format off */
#define WASMTIME_SYMBOLS(X)                                                                        \
    X(wasm_config_t *, wasm_config_new, (void))                                                    \
    X(wasm_engine_t *, wasm_engine_new_with_config, (wasm_config_t *config))                       \
    X(void, wasmtime_config_consume_fuel_set, (wasm_config_t *config, bool on))                    \
    X(void, wasmtime_config_max_wasm_stack_set, (wasm_config_t *config, size_t bytes))             \
    X(void, wasm_byte_vec_delete, (struct wasm_bytes *bytes))                                      \
    X(void, wasm_importtype_vec_delete, (struct wasm_importtypes *types))                          \
    X(void, wasm_exporttype_vec_delete, (struct wasm_exporttypes *types))                          \
    X(const struct wasm_bytes *, wasm_importtype_module, (const wasm_importtype_t *type))          \
    X(const struct wasm_bytes *, wasm_importtype_name, (const wasm_importtype_t *type))            \
    X(const wasm_externtype_t *, wasm_importtype_type, (const wasm_importtype_t *type))            \
    X(const struct wasm_bytes *, wasm_exporttype_name, (const wasm_exporttype_t *type))            \
    X(const wasm_externtype_t *, wasm_exporttype_type, (const wasm_exporttype_t *type))            \
    X(uint8_t, wasm_externtype_kind, (const wasm_externtype_t *type))                              \
    X(const wasm_functype_t *, wasm_externtype_as_functype_const, (const wasm_externtype_t *type)) \
    X(const struct wasm_valtypes *, wasm_functype_params, (const wasm_functype_t *type))           \
    X(const struct wasm_valtypes *, wasm_functype_results, (const wasm_functype_t *type))          \
    X(uint8_t, wasm_valtype_kind, (const wasm_valtype_t *type))                                    \
    X(void, wasm_trap_message, (const wasm_trap_t *trap, struct wasm_bytes *ret_message))          \
    X(void, wasm_trap_delete, (wasm_trap_t *trap))                                                 \
    X(wasm_trap_t *, wasmtime_trap_new, (const char *message, size_t n))                           \
    X(bool, wasmtime_trap_code, (const wasm_trap_t *trap, uint8_t *ret_code))                      \
    X(void, wasmtime_error_message, (const wasmtime_error_t *e, struct wasm_bytes *ret_message))   \
    X(void, wasmtime_error_delete, (wasmtime_error_t *error))                                      \
    X(wasmtime_error_t *, wasmtime_module_new, (wasm_engine_t *engine, const uint8_t *wasm,        \
        size_t n, wasmtime_module_t **ret_module))                                                 \
    X(void, wasmtime_module_delete, (wasmtime_module_t *module))                                   \
    X(void, wasmtime_module_imports, (const wasmtime_module_t *module,                             \
        struct wasm_importtypes *ret_types))                                                       \
    X(void, wasmtime_module_exports, (const wasmtime_module_t *module,                             \
        struct wasm_exporttypes *ret_types))                                                       \
    X(wasmtime_linker_t *, wasmtime_linker_new, (wasm_engine_t *engine))                           \
    X(void, wasmtime_linker_delete, (wasmtime_linker_t *linker))                                   \
    X(wasmtime_error_t *, wasmtime_linker_define_func_unchecked, (wasmtime_linker_t *linker,       \
        const char *module, size_t module_n, const char *name, size_t name_n,                      \
        const wasm_functype_t *type, wasmtime_callback *fn, void *env, void (*done)(void *)))      \
    X(wasmtime_error_t *, wasmtime_linker_instantiate_pre, (const wasmtime_linker_t *linker,       \
        const wasmtime_module_t *module, wasmtime_instance_pre_t **ret_pre))                       \
    X(void, wasmtime_instance_pre_delete, (wasmtime_instance_pre_t *pre))                          \
    X(wasmtime_error_t *, wasmtime_instance_pre_instantiate, (const wasmtime_instance_pre_t *pre,  \
        wasmtime_context_t *context, struct wasmtime_instance_room *ret_instance,                  \
        wasm_trap_t **ret_trap))                                                                   \
    X(bool, wasmtime_instance_export_get, (wasmtime_context_t *context,                            \
        const struct wasmtime_instance_room *instance, const char *name, size_t n,                 \
        struct wasmtime_item *ret_item))                                                           \
    X(wasmtime_store_t *, wasmtime_store_new, (wasm_engine_t *engine, void *data,                  \
        void (*done)(void *)))                                                                     \
    X(void, wasmtime_store_delete, (wasmtime_store_t *store))                                      \
    X(wasmtime_context_t *, wasmtime_store_context, (wasmtime_store_t *store))                     \
    X(void, wasmtime_store_limiter, (wasmtime_store_t *store, int64_t memory, int64_t elements,    \
        int64_t instances, int64_t tables, int64_t memories))                                      \
    X(void *, wasmtime_context_get_data, (const wasmtime_context_t *context))                      \
    X(wasmtime_error_t *, wasmtime_context_set_fuel, (wasmtime_context_t *context, uint64_t fuel)) \
    X(wasmtime_error_t *, wasmtime_context_get_fuel, (const wasmtime_context_t *context,           \
        uint64_t *ret_fuel))                                                                       \
    X(wasmtime_context_t *, wasmtime_caller_context, (wasmtime_caller_t *caller))                  \
    X(wasmtime_error_t *, wasmtime_func_call_unchecked, (wasmtime_context_t *context,              \
        const void *func, wasmtime_val_raw_t *args_and_results, size_t n, wasm_trap_t **ret_trap)) \
    X(uint8_t *, wasmtime_memory_data, (wasmtime_context_t *context, const void *memory))          \
    X(size_t, wasmtime_memory_data_size, (const wasmtime_context_t *context, const void *memory))
/* clang-format on */

struct wasmtime {
#define WASMTIME_MEMBER_(result, name, params) result(*name) params;
    WASMTIME_SYMBOLS(WASMTIME_MEMBER_)
#undef WASMTIME_MEMBER_
    wasm_engine_t *engine; /* counts fuel */
};

/* Loads the library if it is not loaded yet. NULL and *reterr: it cannot be used; how to get it. */
const struct wasmtime *wasmtime_get(struct err *reterr);
/* The same after a success. */
const struct wasmtime *wasmtime_loaded(void);

/* Compiles a module. The first call starts threads, which take no signals of the process. */
wasmtime_error_t *wasmtime_compile(const struct wasmtime *wt, struct str bytes,
                                   wasmtime_module_t **ret_module);

/* Turns an error of the library into one line and deletes it. Returns -EINVAL. */
int wasmtime_fail(const struct wasmtime *wt, wasmtime_error_t *error, struct err *reterr);

#endif
