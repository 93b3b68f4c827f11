/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/guest.h"

#include <inttypes.h>

/* wazero's clock begins on 2022-01-01. */
#define WALL_CLOCK_START INT64_C(1640995200000000000)
#define RANDOM_SEED      42

/* Tables are small; a module has one memory, as wazero has it. */
#define MAX_TABLE_ELEMENTS 1000000
#define MAX_TABLES         16

/* --- memory and fuel -------------------------------------------------------------------------- */

void *guest_memory(struct guest *g, uint32_t at, uint32_t n)
{
    size_t size = g->wt->wasmtime_memory_data_size(g->context, g->memory.of);
    if (at > size || n > size - at)
        return NULL;
    return g->wt->wasmtime_memory_data(g->context, g->memory.of) + at;
}

bool guest_spend(struct guest *g, uint64_t fuel)
{
    uint64_t left = 0;
    wasmtime_error_t *error = g->wt->wasmtime_context_get_fuel(g->context, &left);
    if (!error)
        error = g->wt->wasmtime_context_set_fuel(g->context, left - MIN(left, fuel));
    if (error)
        g->wt->wasmtime_error_delete(error);
    return !error && left >= fuel;
}

static void refuel(struct guest *g)
{
    wasmtime_error_t *error = g->wt->wasmtime_context_set_fuel(g->context, g->settings->fuel);
    if (error)
        g->wt->wasmtime_error_delete(error);
}

/* --- failures --------------------------------------------------------------------------------- */

/* wazero's texts. */
static const char *trap_text(uint8_t code)
{
    switch (code) {
    case TRAP_STACK_OVERFLOW:
        return "wasm error: stack overflow";
    case TRAP_MEMORY_OUT_OF_BOUNDS:
        return "wasm error: out of bounds memory access";
    case TRAP_TABLE_OUT_OF_BOUNDS:
    case TRAP_INDIRECT_CALL_TO_NULL:
        return "wasm error: invalid table access";
    case TRAP_BAD_SIGNATURE:
        return "wasm error: indirect call type mismatch";
    case TRAP_INTEGER_OVERFLOW:
        return "wasm error: integer overflow";
    case TRAP_INTEGER_DIVISION_BY_ZERO:
        return "wasm error: integer divide by zero";
    case TRAP_BAD_CONVERSION_TO_INTEGER:
        return "wasm error: invalid conversion to integer";
    case TRAP_UNREACHABLE:
        return "wasm error: unreachable";
    default:
        return NULL;
    }
}

/* Writes the first line of a text of wasmtime. */
static void add_line(struct buf *out, const struct wasm_bytes *text)
{
    struct str s = {text->data, text->size};
    buf_add_str(out, str_slice(s, 0, MIN(str_find(s, '\n'), (size_t)300)));
}

static void add_trap(const struct guest *g, const wasm_trap_t *trap, struct buf *out)
{
    uint8_t code = UINT8_MAX;
    struct wasm_bytes message;
    if (g->wt->wasmtime_trap_code(trap, &code) && code == TRAP_OUT_OF_FUEL) {
        buf_add_printf(out,
                       "the call used all its fuel (%" PRIu64
                       "): the guest loops, or fuelPerCall is too small",
                       g->settings->fuel);
    } else if (trap_text(code)) {
        buf_add_cstr(out, trap_text(code));
    } else {
        g->wt->wasm_trap_message(trap, &message);
        add_line(out, &message);
        g->wt->wasm_byte_vec_delete(&message);
    }
}

/* Why a call ended. The library reports it as an error, a trap or both. */
static void add_reason(const struct guest *g, const wasmtime_error_t *error,
                       const wasm_trap_t *trap, struct buf *out)
{
    struct wasm_bytes message;
    if (g->fault) {
        buf_add_cstr(out, g->fault);
    } else if (g->exited) {
        buf_add_printf(out, "module closed with exit_code(%d)", g->exit_code);
    } else if (trap) {
        add_trap(g, trap, out);
    } else {
        g->wt->wasmtime_error_message(error, &message);
        add_line(out, &message);
        g->wt->wasm_byte_vec_delete(&message);
    }
}

/* "wasm: filter error: what the guest printed\nwhy", upstream's decorateError. Frees both. */
static int fail(struct guest *g, const char *fn, wasmtime_error_t *error, wasm_trap_t *trap,
                struct buf *out)
{
    buf_add_printf(out, "wasm: %s error: ", fn);
    if (g->printed.n) {
        buf_add_str(out, buf_str(&g->printed));
        buf_add_char(out, '\n');
    }
    add_reason(g, error, trap, out);
    if (trap)
        g->wt->wasm_trap_delete(trap);
    if (error)
        g->wt->wasmtime_error_delete(error);
    g->broken = true;
    return -EINVAL;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void clear_output(struct guest_output *out)
{
    buf_clear(&out->reason);
    buf_clear(&out->node_names);
    buf_clear(&out->nominated);
    buf_clear(&out->events);
    buf_clear(&out->scores);
}

static int call(struct guest *g, const struct wasmtime_item *fn, const char *name,
                int64_t *ret_value, struct buf *error)
{
    wasmtime_val_raw_t value = {.i64 = 0};
    wasm_trap_t *trap = NULL;
    buf_clear(&g->printed);
    clear_output(&g->out);
    g->fault = NULL;
    refuel(g);
    wasmtime_error_t *failed =
        g->wt->wasmtime_func_call_unchecked(g->context, fn->of, &value, 1, &trap);
    if (failed || trap)
        return fail(g, name, failed, trap, error);
    *ret_value = value.i64;
    return 0;
}

int guest_run(struct guest *g, enum guest_export fn, const struct guest_input *in,
              int64_t *ret_value, struct buf *error)
{
    assert(wasm_module_exports(g->settings->module, fn) && !g->broken);
    g->in = in;
    int r = call(g, &g->functions[fn], guest_export_name(fn), ret_value, error);
    g->in = NULL;
    return r;
}

/* --- instances -------------------------------------------------------------------------------- */

static bool find_export(struct guest *g, const struct wasmtime_instance_room *instance,
                        const char *name, uint8_t kind, struct wasmtime_item *ret_item)
{
    return g->wt->wasmtime_instance_export_get(g->context, instance, name, strlen(name),
                                               ret_item) &&
           ret_item->kind == kind;
}

/* A program that ends with exit code 0 has only finished its main. */
static int start(struct guest *g, const struct wasmtime_instance_room *instance, struct buf *error)
{
    static const char *const names[] = {"_start", "_initialize"};
    static const struct guest_input nothing = {0};
    struct wasmtime_item item;
    int64_t value;
    int r = 0;
    size_t before = error->n;
    g->in = &nothing;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(names); i++)
        if (find_export(g, instance, names[i], WASM_EXTERN_FUNC, &item))
            r = call(g, &item, "instantiate", &value, error);
    g->in = NULL;
    if (r < 0 && g->exited && g->exit_code == 0 && !g->fault) {
        error->n = before;
        g->broken = false;
        r = 0;
    }
    g->exited = false;
    return r;
}

static int instantiate(struct guest *g, struct buf *error)
{
    static const struct guest_input nothing = {0};
    struct wasmtime_instance_room instance;
    wasm_trap_t *trap = NULL;
    refuel(g);
    g->in = &nothing;
    wasmtime_error_t *failed = g->wt->wasmtime_instance_pre_instantiate(
        g->settings->module->pre, g->context, &instance, &trap);
    g->in = NULL;
    if (failed || trap)
        return fail(g, "instantiate", failed, trap, error);
    if (!find_export(g, &instance, "memory", WASM_EXTERN_MEMORY, &g->memory))
        return -EINVAL;
    for (int i = 0; i < GUEST_EXPORT_COUNT; i++)
        if (wasm_module_exports(g->settings->module, (enum guest_export)i) &&
            !find_export(g, &instance, guest_export_name((enum guest_export)i), WASM_EXTERN_FUNC,
                         &g->functions[i]))
            return -EINVAL;
    return start(g, &instance, error);
}

struct guest *guest_new(const struct guest_settings *settings, struct buf *error)
{
    struct guest *g = xnew(struct guest);
    const struct wasmtime *wt = settings->module->wt;
    *g = (struct guest){.settings = settings, .wt = wt, .wall_clock = WALL_CLOCK_START};
    rand_seed(&g->random, RANDOM_SEED);
    buf_init(&g->printed, GUEST_MAX_OUTPUT);
    buf_init(&g->out.reason, GUEST_MAX_RESULT);
    buf_init(&g->out.node_names, GUEST_MAX_RESULT);
    buf_init(&g->out.nominated, GUEST_MAX_RESULT);
    buf_init(&g->out.events, GUEST_MAX_RESULT);
    buf_init(&g->out.scores, GUEST_MAX_RESULT);
    g->store = wt->wasmtime_store_new(wt->engine, g, NULL);
    g->context = wt->wasmtime_store_context(g->store);
    wt->wasmtime_store_limiter(g->store, settings->memory, MAX_TABLE_ELEMENTS, 1, MAX_TABLES, 1);
    return instantiate(g, error) < 0 ? guest_free(g) : g;
}

struct guest *guest_free(struct guest *g)
{
    if (!g)
        return NULL;
    g->wt->wasmtime_store_delete(g->store);
    object_unref(g->encoded);
    buf_release(&g->encoding);
    buf_release(&g->printed);
    buf_release(&g->out.reason);
    buf_release(&g->out.node_names);
    buf_release(&g->out.nominated);
    buf_release(&g->out.events);
    buf_release(&g->out.scores);
    free(g);
    return NULL;
}
