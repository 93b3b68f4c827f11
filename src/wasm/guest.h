/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h - an instance of a guest: its memory, its functions, and the call that runs.
 *
 * Purpose:   runs one exported function with a limit of fuel and of memory. WebAssembly functions
 *            take and return numbers only, so a call's parameters wait in the guest until the guest
 *            asks for them, and its results are collected there (imports.h).
 * Ownership: guest_free frees it. Inputs are borrowed for the call; results are valid until the
 *            next call.
 * Threading: one thread at a time.
 */
#ifndef BERTH_WASM_GUEST_H
#define BERTH_WASM_GUEST_H

#include "base/buf.h"
#include "base/rand.h"
#include "engine/cache/node_info.h"
#include "wasm/module.h"

struct guest_services;

/* What all guests of a plugin's instance share; must outlive them. */
struct guest_settings {
    const struct wasm_module *module;
    struct guest_services *services;
    struct str config;         /* guestConfig */
    int64_t log_severity;      /* logSeverity */
    const struct berth_str *v; /* args: the program's arguments */
    size_t n;
    uint64_t fuel;  /* of a call */
    int64_t memory; /* bytes */
};

/* The parameters of a call; what a function does not use is zero. */
struct guest_input {
    const struct berth_pod *pod;
    const struct berth_pod *target; /* addpod, removepod */
    struct str node_name;
    const struct berth_cycle *cycle; /* postfilter: of nodeToStatusMap */
    const struct berth_columns *columns;
    const uint32_t *slots; /* prescore, normalizescore: of columns */
    const int64_t *scores; /* normalizescore: in the order of slots */
    size_t n;
};

/* What a guest has said in a call; empty if it has not. */
struct guest_output {
    struct buf reason, node_names, nominated, events, scores;
};

/* The most that a guest may say in one result, and of what it prints that is kept. */
#define GUEST_MAX_RESULT ((size_t)16 << 20)
#define GUEST_MAX_OUTPUT ((size_t)8 << 10)

struct guest {
    const struct guest_settings *settings;
    const struct wasmtime *wt;
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    struct wasmtime_item memory;
    struct wasmtime_item functions[GUEST_EXPORT_COUNT];
    const struct guest_input *in; /* of the call that runs; NULL: none */
    struct guest_output out;
    struct buf printed; /* to standard output and error */
    const char *fault;  /* why a function of the host ended the call; NULL: it did not */
    bool exited;        /* by proc_exit */
    int32_t exit_code;
    bool broken; /* a call has failed: the state of its memory is unknown */
    /* wazero's clocks and random numbers: they depend on the calls only. */
    int64_t wall_clock, monotonic_clock;
    struct rand random;
    /* The last object that was encoded for it, with its bytes. */
    struct object *encoded;
    struct buf encoding;
};

/* Makes an instance and runs its _start or _initialize. Appends the reason to *error on failure. */
struct guest *guest_new(const struct guest_settings *settings, struct buf *error);
/* NULL is allowed. Returns NULL. */
struct guest *guest_free(struct guest *guest);

/*
 * Calls a function that the module exports. *ret_value: its result; 0 if it has none. On failure
 * it appends "wasm: filter error: …" to *error, and the guest is broken.
 */
int guest_run(struct guest *guest, enum guest_export fn, const struct guest_input *in,
              int64_t *ret_value, struct buf *error) MUST_CHECK;

/* --- for functions of the host ---------------------------------------------------------------- */

/* The guest's memory; NULL if a part of it is outside. */
void *guest_memory(struct guest *guest, uint32_t at, uint32_t n);
/* Takes from the call's fuel. False: there is not so much. */
bool guest_spend(struct guest *guest, uint64_t fuel);

#endif
