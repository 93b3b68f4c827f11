/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/pod_fingerprint.h"

#include <stdio.h>
#include <string.h>

/* --- XXH64 (the specification of xxHash) ------------------------------------------------------ */

#define P1 0x9E3779B185EBCA87u
#define P2 0xC2B2AE3D27D4EB4Fu
#define P3 0x165667B19E3779F9u
#define P4 0x85EBCA77C2B2AE63u
#define P5 0x27D4EB2F165667C5u

static uint64_t rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

/* n bytes, the least significant first. */
static uint64_t read_le(const unsigned char *p, size_t n)
{
    uint64_t x = 0;
    while (n-- > 0)
        x = x << 8 | p[n];
    return x;
}

static uint64_t mix(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * P2, 31) * P1;
}

static uint64_t merge(uint64_t hash, uint64_t lane)
{
    return (hash ^ mix(0, lane)) * P1 + P4;
}

static uint64_t stripes(const unsigned char **at, const unsigned char *end, uint64_t seed)
{
    uint64_t lanes[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
    for (; end - *at >= 32; *at += 32)
        for (size_t i = 0; i < 4; i++)
            lanes[i] = mix(lanes[i], read_le(*at + 8 * i, 8));
    uint64_t hash =
        rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (size_t i = 0; i < 4; i++)
        hash = merge(hash, lanes[i]);
    return hash;
}

static uint64_t xxh64(const void *bytes, size_t n, uint64_t seed)
{
    const unsigned char *at = bytes, *end = at + n;
    uint64_t hash = n >= 32 ? stripes(&at, end, seed) : seed + P5;
    hash += n;
    for (; end - at >= 8; at += 8)
        hash = rotate(hash ^ mix(0, read_le(at, 8)), 27) * P1 + P4;
    if (end - at >= 4) {
        hash = rotate(hash ^ read_le(at, 4) * P1, 23) * P2 + P3;
        at += 4;
    }
    for (; at < end; at++)
        hash = rotate(hash ^ *at * P5, 11) * P1;
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    return hash ^ hash >> 32;
}

/* --- fingerprints ----------------------------------------------------------------------------- */

void pod_fingerprint_release(struct pod_fingerprint *f)
{
    vec_release(&f->pods);
}

static uint64_t hash_of(struct str s, uint64_t seed)
{
    return xxh64(s.n ? s.p : "", s.n, seed);
}

void pod_fingerprint_add(struct pod_fingerprint *f, struct str namespace, struct str name)
{
    vec_push(&f->pods, hash_of(name, hash_of(namespace, 0)));
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool pod_fingerprint_is(struct pod_fingerprint *f, struct str text)
{
    char wanted[32];
    if (f->pods.n > 1)
        qsort(f->pods.v, f->pods.n, sizeof(*f->pods.v), by_value);
    unsigned char *bytes = xcalloc(f->pods.n + 1, 8);
    for (size_t i = 0; i < f->pods.n; i++)
        for (size_t k = 0; k < 8; k++)
            bytes[8 * i + k] = (unsigned char)(f->pods.v[i] >> (8 * k));
    snprintf(wanted, sizeof(wanted), "pfp0v001%016llx",
             (unsigned long long)xxh64(bytes, 8 * f->pods.n, 0));
    free(bytes);
    return str_is(text, wanted);
}
