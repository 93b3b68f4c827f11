/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr.h - IP addresses and networks as Go's net/netip reads and writes them.
 *
 * Purpose:   the libraries ip, cidr and url; errors are Go's.
 * Ownership: plain values; a zone borrows from the text.
 * Threading: any thread.
 */
#ifndef BERTH_CEL_ADDR_H
#define BERTH_CEL_ADDR_H

#include "base/buf.h"

struct addr {
    uint8_t bytes[16]; /* IPv4: the first four */
    bool is4;
    struct str zone;
};

/* netip.ParseAddr; false: *error has its message, `ParseAddr("x"): unable to parse IP`. */
bool addr_parse(struct str text, struct addr *ret_addr, struct buf *error);
/* Whether it is ::ffff:a.b.c.d. */
bool addr_is_4_in_6(const struct addr *addr);
bool addr_equal(const struct addr *a, const struct addr *b);
void addr_write(const struct addr *addr, struct buf *out);

/* netip.ParsePrefix: an address and the length of the prefix. */
bool addr_parse_prefix(struct str text, struct addr *ret_addr, int *ret_bits, struct buf *error);
/* Whether the first n bits are the same, for addresses of the same family. */
bool addr_same_prefix(const struct addr *a, const struct addr *b, int bits);
/* Clears all but the first n bits. */
void addr_mask(struct addr *addr, int bits);

#endif
