/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"

#include <sys/random.h>

#include "base/time.h"

/*
 * splitmix64: spreads one word over the whole state, so that similar seeds give unrelated
 * sequences.
 */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rand_seed(struct rand *r, uint64_t seed)
{
    for (size_t i = 0; i < ARRAY_LEN(r->s); i++)
        r->s[i] = mix(&seed);
}

static uint64_t rotl(uint64_t x, unsigned k)
{
    return (x << k) | (x >> (64 - k));
}

/* xoshiro256**, by Blackman and Vigna. */
uint64_t rand_u64(struct rand *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t rand_below(struct rand *r, uint64_t n)
{
    assert(n > 0);
    /*
     * The high half of the 128-bit product is uniform over [0, n) once the 2^64 mod n products with
     * the smallest low halves, which are too frequent, are rejected.
     */
    unsigned __int128 product = (unsigned __int128)rand_u64(r) * n;
    if ((uint64_t)product < n) {
        uint64_t surplus = (0 - n) % n;
        while ((uint64_t)product < surplus)
            product = (unsigned __int128)rand_u64(r) * n;
    }
    return (uint64_t)(product >> 64);
}

double rand_double(struct rand *r)
{
    return (double)(rand_u64(r) >> 11) * 0x1p-53;
}

uint64_t rand_entropy(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        seed = (uint64_t)time_wall() ^ (uint64_t)(uintptr_t)&seed;
    return seed;
}
