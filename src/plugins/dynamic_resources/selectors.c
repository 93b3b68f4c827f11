/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selectors: compiled once, evaluated once per device. The results are a byte per device; two
 * threads that meet an unknown one both evaluate it and store the same.
 */
#include "plugins/dynamic_resources/devices_internal.h"

/* Unused expressions are kept up to this number; upstream keeps 10. */
#define SELECTORS_KEPT 256

static void free_selector(struct devices *d, struct compiled_selector *s)
{
    if (s->program)
        d->engine.free(d->engine.ctx, s->program);
    free(s->error);
    free(s->results);
    free(s);
}

void selectors_release(struct devices *d)
{
    map_each (e, &d->selectors)
        free_selector(d, e->value);
    map_release(&d->selectors);
    vec_release(&d->free_numbers);
}

/* Drops the half that was not used for longest. */
static void make_room(struct devices *d)
{
    uint64_t low = UINT64_MAX, high = d->uses;
    map_each (e, &d->selectors)
        low = MIN(low, ((struct compiled_selector *)e->value)->used);
    VEC(struct compiled_selector *) old = {0};
    map_each (e, &d->selectors) {
        struct compiled_selector *s = e->value;
        if (atomic_load(&s->refs) == 0 && s->used <= low + (high - low) / 2)
            vec_push(&old, s);
    }
    for (size_t i = 0; i < old.n; i++) {
        map_del(&d->selectors, old.v[i]->expression);
        free_selector(d, old.v[i]);
    }
    vec_release(&old);
}

/* Results for every device that exists; numbers that are given out later are added here. */
static void grow_results(struct compiled_selector *s, size_t n)
{
    if (n <= s->n_results)
        return;
    n = MAX(n, s->n_results * 2);
    s->results = xreallocarray(s->results, n, sizeof(*s->results));
    for (size_t i = s->n_results; i < n; i++)
        atomic_init(&s->results[i], SELECTOR_UNKNOWN);
    s->n_results = n;
}

struct compiled_selector *selector_get(struct devices *d, struct str expression)
{
    struct compiled_selector *s = map_get(&d->selectors, expression);
    if (!s) {
        if (d->selectors.n >= SELECTORS_KEPT)
            make_room(d);
        s = xcalloc(1, sizeof(*s) + expression.n);
        memcpy(s->text, expression.p, expression.n);
        s->expression = (struct str){s->text, expression.n};
        struct buf error = BUF_INIT;
        s->program = d->engine.compile(d->engine.ctx, s->expression, &error);
        if (!s->program)
            s->error = buf_take(&error);
        buf_release(&error);
        map_put(&d->selectors, s->expression, s);
        grow_results(s, d->n_numbers);
    }
    s->used = ++d->uses;
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void selector_put(struct compiled_selector *s)
{
    if (s)
        atomic_fetch_sub(&s->refs, 1);
}

enum selector_result selector_matches_device(const struct devices *d,
                                             const struct compiled_selector *s,
                                             const struct slice_device *device, struct buf *error)
{
    _Atomic uint8_t *known = &s->results[device->number];
    enum selector_result r =
        (enum selector_result)atomic_load_explicit(known, memory_order_relaxed);
    if (LIKELY(r == SELECTOR_NO || r == SELECTOR_YES))
        return r;
    if (!s->program) {
        buf_add_cstr(error, s->error);
        return SELECTOR_FAILS;
    }
    const struct selector_input input = {
        .driver = device->id->driver,
        .device = device->device,
        /* The stable allocator does not know the field. */
        .allow_multiple_allocations = !d->stable && device->device->allow_multiple_allocations,
    };
    bool matches = false;
    if (d->engine.matches(d->engine.ctx, s->program, &input, &matches, error) < 0)
        r = SELECTOR_FAILS;
    else
        r = matches ? SELECTOR_YES : SELECTOR_NO;
    atomic_store_explicit(known, (uint8_t)r, memory_order_relaxed);
    return r;
}

/* --- numbers of devices ----------------------------------------------------------------------- */

uint32_t selector_number_get(struct devices *d)
{
    uint32_t number = d->free_numbers.n > 0 ? vec_pop(&d->free_numbers) : d->n_numbers++;
    map_each (e, &d->selectors) {
        struct compiled_selector *s = e->value;
        grow_results(s, d->n_numbers);
        atomic_store_explicit(&s->results[number], SELECTOR_UNKNOWN, memory_order_relaxed);
    }
    return number;
}

void selector_number_put(struct devices *d, uint32_t number)
{
    vec_push(&d->free_numbers, number);
}
